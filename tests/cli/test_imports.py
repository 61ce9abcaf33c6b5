"""What a command loads: nobody waits for a face or an engine that is not used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

WATCHED = (
    "llama_cpp",
    "numpy",
    "prompt_toolkit",
    "textual",
    "skippy_chat.agent.opening",
    "skippy_chat.native.library",
)


@pytest.mark.parametrize(
    "arguments", [["--help"], ["config", "show"], ["sessions", "list"], ["cache", "stats"], ["run", "--help"]]
)
def test_a_command_without_a_model_loads_no_engine_and_no_face(tmp_path: Path, arguments: list[str]) -> None:
    code = (
        "import sys; from skippy_chat.cli import main; code = main(sys.argv[1:]);"
        f"print([name for name in {WATCHED} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    folders = {f"SKIPPY_{name}_DIR": str(tmp_path / name.lower()) for name in ("DATA", "CACHE", "CONFIG")}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={"PATH": os.environ["PATH"], **folders},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "[]")
