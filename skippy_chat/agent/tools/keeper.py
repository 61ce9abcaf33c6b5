"""A small process that starts one command, keeps it in bounds, and never leaves it behind. It runs as a script.

File descriptors: 0 control (one line of JSON, then open as long as the parent lives; more bytes mean stop), 1 the
command's output, 2 lines of JSON about it. It imports the standard library only and is started isolated.

Invariant: when this process ends, whatever the command started has ended too, also what left its process group (on
Linux, where orphans come back to this process) and also when the parent was killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

_LINUX = sys.platform.startswith("linux")
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_GRACE = 1.0  # seconds between asking and killing


def main() -> int:
    """Run the command that the control line describes."""
    spec = json.loads(_read_line())
    if _LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    failed, failing = os.pipe()
    child = os.fork()
    if child == 0:
        _become(spec, failing)
    os.close(failing)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)  # or the output would never end
    _tell({"pid": child})
    trouble = os.read(failed, 4096).decode("utf-8", "replace")
    if trouble:
        os.waitpid(child, 0)
        _tell({"ended": "failed", "detail": trouble})
        return 0
    _tell(_watch(child, wake, spec["seconds"]))
    return 0


def _read_line() -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(0, 1 if len(line) == 0 else 65536)
        if not piece:
            sys.exit(0)
        line += piece
    return bytes(line)


def _become(spec: dict[str, Any], failing: int) -> NoReturn:
    """In the child: limits, folder, descriptors, and then the command itself."""
    try:
        keeper = os.getppid()
        os.setsid()
        if _LINUX:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != keeper:
                os._exit(127)
        for number in (signal.SIGPIPE, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        # Data is what a program really asks for; address space alone is what others reserve by the terabyte.
        _limit(resource.RLIMIT_DATA if _LINUX else resource.RLIMIT_AS, spec["memory"])
        _limit(resource.RLIMIT_CORE, 0)
        os.fchdir(spec["folder_fd"])
        source = spec["stdin_fd"]
        os.dup2(os.open(os.devnull, os.O_RDONLY) if source is None else source, 0)
        os.dup2(1, 2)
        os.set_inheritable(failing, False)
        os.closerange(3, failing)
        os.closerange(failing + 1, 256)
        os.execvpe(spec["argv"][0], spec["argv"], os.environ)  # noqa: S606
    except BaseException as error:  # noqa: BLE001  there is nobody above in this process
        os.write(failing, str(getattr(error, "strerror", None) or error).encode())
    os._exit(127)


def _limit(which: int, most: int) -> None:
    _, hard = resource.getrlimit(which)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with contextlib.suppress(OSError, ValueError):  # macOS knows the number and takes none
        resource.setrlimit(which, (most, most))


def _watch(child: int, wake: int, seconds: float) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    why = "cancelled"
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            why = "timeout"
            break
        ready, _, _ = select.select([0, wake], [], [], left)
        if 0 in ready:
            break
        if wake in ready:
            os.read(wake, 4096)
            status = _reap(child)
            if status is not None:
                code = os.waitstatus_to_exitcode(status)
                left_over = _end_everything(child, wake, grace=0.0)
                ended = "exit" if code >= 0 else "signal"
                return {"ended": ended, "code": abs(code), "left_over": left_over}
    _end_everything(child, wake, grace=_GRACE)
    return {"ended": why}


def _reap(child: int) -> int | None:
    """Collect all that ended; return the command's own status when it is among them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                found = status
    return found


def _end_everything(group: int, wake: int, grace: float) -> bool:
    """End the group and every descendant, and wait for them; tells whether there were any."""
    found = False
    if grace > 0:
        _send(group, signal.SIGTERM)
        until = time.monotonic() + grace
        while _alive(group) and time.monotonic() < until:
            select.select([wake], [], [], max(0.0, min(0.1, until - time.monotonic())))
            _reap(0)
    while True:
        alive = _alive(group)
        if not alive:
            return found
        found = True
        _send(group, signal.SIGKILL)
        select.select([wake], [], [], 0.05)
        _reap(0)


def _send(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    for pid in _descendants():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _alive(group: int) -> bool:
    if _LINUX:
        return bool(_descendants())
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _descendants() -> list[int]:
    """Return all processes below this one, from the process table."""
    if not _LINUX:
        return []
    below: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                # The name in parentheses may hold anything, parentheses too.
                after = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
                below.setdefault(int(after[1]), []).append(int(entry.name))
    found: list[int] = []
    pending = [os.getpid()]
    while pending:
        children = below.get(pending.pop(), [])
        found += children
        pending += children
    return found


def _tell(about: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        os.write(2, json.dumps(about).encode() + b"\n")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.exit(main())
