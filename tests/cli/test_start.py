"""How long the program takes before it does anything, against a Python that does nothing."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path


def cpu_seconds(*commands: tuple[str, ...], runs: int = 7) -> list[float]:
    """Return the least processor time of some runs of each command: other programs add to the clock, hardly to it.

    The commands take turns, so that what does add to it, a processor that is slower for a while, meets them all.
    """
    found: list[list[float]] = [[] for _ in commands]
    for _ in range(runs):
        for arguments, times in zip(commands, found, strict=True):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True, timeout=60)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return [min(times) for times in found]


def test_the_version_costs_little_more_than_python() -> None:
    version, python = cpu_seconds(("-m", "skippy_chat", "--version"), ("-c", "pass"))
    assert version <= 4 * python


def test_the_version_loads_nothing_of_ours_but_the_front_door() -> None:
    program = (
        "import sys; from skippy_chat.cli import main; main(['--version']);"
        "print(sorted(name for name in sys.modules if name.startswith(('skippy_chat', 'click'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[1:] == ["['skippy_chat', 'skippy_chat.cli']"]


def test_a_working_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$1" && rmdir "$1" && exec "$2" -m skippy_chat sessions list'
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        ["sh", "-c", script, "sh", str(gone), sys.executable],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert (
        done.stderr.splitlines()[-1] == "skippy-chat: The working folder is gone. Go to one that exists: cd"
    )
    assert "Traceback" not in done.stderr
