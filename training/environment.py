"""The environment with torch: beside the program's own, whose packages it sees, so that nothing is installed there.

``enter`` starts the same command again in it where torch is missing, with settings under which two cores are used well.
"""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_REQUIREMENTS = Path(__file__).with_name("requirements.txt")
_MARK = "SKIPPY_TRAINING_ENTERED"
# The tensors of a step are made and freed by the thousand. glibc's heap breaks into pieces under that until the search
# for a free one takes a quarter of the time. The large ones are taken from the system one by one, in large pages,
# instead. Elsewhere this is not read.
_HEAP = "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=2097152:glibc.malloc.mmap_max=1000000"
# The system clears each of those pages, a fifth of the time and more. tcmalloc, where it is installed, keeps what it
# has and puts its pieces together again: memory stays at 8 GB. (jemalloc that keeps all grows to three times that.)
_KEEPING = {"TCMALLOC_RELEASE_RATE": "0"}


def folder() -> Path:
    """Return where it lies."""
    return _ROOT / ".venv-training"


def make(say: Callable[[str], None]) -> Path:
    """Make it, or bring it up to date; returns its Python."""
    python = folder() / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        say(f"making {folder().name}")
        subprocess.run([sys.executable, "-m", "venv", str(folder())], check=True)
    say("installing torch; a CPU build is enough, and much smaller")
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "-r", str(_REQUIREMENTS)], check=True)
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(
        subprocess.run([str(python), "-c", asked], check=True, capture_output=True, text=True).stdout.strip()
    )
    # Its own packages come first; the program's own, with the patched llama.cpp, are found behind them.
    (packages / "zz_skippy_chat.pth").write_text(
        f"{sysconfig.get_path('purelib')}\n{_ROOT}\n", encoding="utf-8"
    )
    return python


def enter(background: Path | None = None) -> None:
    """Return when torch can be used; else start this command again where it can, and end with it.

    With ``background`` the command is started apart from the terminal, its output in that file, and this one ends.
    """
    entered = os.environ.get(_MARK) == "1"
    if entered or (background is None and importlib.util.find_spec("torch") is not None):
        return
    python = sys.executable if importlib.util.find_spec("torch") is not None else str(make(print))
    command = [python, "-m", "training", *sys.argv[1:]]
    # Waiting threads that spin take the other's core.
    waiting = {"OMP_WAIT_POLICY": "PASSIVE", "PYTHONUNBUFFERED": "1"}
    environment = {**_heap(ctypes.util.find_library("tcmalloc_minimal")), **os.environ, **waiting, _MARK: "1"}
    if background is None:
        raise SystemExit(subprocess.run(command, cwd=_ROOT, env=environment, check=False).returncode)
    background.parent.mkdir(parents=True, exist_ok=True)
    with background.open("ab") as output:
        process = subprocess.Popen(
            command, cwd=_ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
    print(f"started as process {process.pid}; see {background}, and `python -m training status`")
    raise SystemExit(0)


def _heap(tcmalloc: str | None) -> dict[str, str]:
    """Return the variables that keep a run's heap whole, by ``tcmalloc``, a library's name, if there is one."""
    if tcmalloc is not None and sys.platform == "linux":
        return {"LD_PRELOAD": tcmalloc, **_KEEPING}
    return {"GLIBC_TUNABLES": _HEAP}
