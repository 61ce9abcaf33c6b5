"""Examples run as they stand, in a home of their own; only the model is the one that is there already."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
_COUNTS = re.compile(r"(?:(.*): )?(\d+) cached \+ (\d+) new = (\d+)")


@dataclass(frozen=True)
class Counts:
    """One line of counts that an example printed, in tokens."""

    what: str
    cached: int
    new: int
    prompt: int


@dataclass(frozen=True)
class Printed:
    """What an example printed."""

    text: str

    @property
    def counts(self) -> list[Counts]:
        found = [_COUNTS.search(line) for line in self.text.splitlines()]
        return [Counts(each[1] or "", *map(int, each.groups()[1:])) for each in found if each]


Script = Callable[[Path], str]
Run = Callable[[str], Printed]


@pytest.fixture
def run_script(tmp_path: Path, default_model: Path) -> Script:
    """Run a script and return what it printed; complaints and warnings fail."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    env = {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OMP_WAIT_POLICY": "PASSIVE",
        "SKIPPY_MODEL": str(default_model),
        "SKIPPY_THREADS": "1",
        "SKIPPY_TEMPERATURE": "0",
        "PYTHONWARNINGS": "error",
    }

    def run(path: Path) -> str:
        command = ["sh", str(path)] if path.suffix == ".sh" else [sys.executable, str(path)]
        done = subprocess.run(
            command, env=env, cwd=home, capture_output=True, text=True, check=False, timeout=230
        )
        said = [line for line in done.stderr.splitlines() if "stopped at the token limit" not in line]
        assert (done.returncode, said) == (0, [])
        return done.stdout

    return run


@pytest.fixture
def run_example(run_script: Script) -> Run:
    """Run an example by its name; its counts add up."""

    def run(name: str) -> Printed:
        printed = Printed(run_script(FOLDER / name))
        assert printed.counts, printed.text
        for each in printed.counts:
            assert each.cached + each.new == each.prompt, each
        return printed

    return run
