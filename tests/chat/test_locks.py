from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from skippy_chat.chat.locks import SessionLock
from skippy_chat.errors import SessionLocked

_ROOT = Path(__file__).parents[2]
_HOLD = """
import pathlib, sys
from skippy_chat.chat.locks import SessionLock
lock = SessionLock(pathlib.Path(sys.argv[1]), "S")
print("held", flush=True)
sys.stdin.read()
"""


def test_one_writer_per_session(tmp_path: Path) -> None:
    with SessionLock(tmp_path / "locks", "A"):
        with pytest.raises(SessionLocked) as told:
            SessionLock(tmp_path / "locks", "A")
        assert "A" in told.value.message
        assert "--new" in told.value.hint
        assert "skippy-chat sessions fork A" in told.value.hint
        assert (told.value.session, told.value.writer) == ("A", os.getpid())
        assert f"process {os.getpid()}" in told.value.message
        SessionLock(tmp_path / "locks", "B").close()
    SessionLock(tmp_path / "locks", "A").close()


def test_may_be_closed_twice_and_from_another_thread(tmp_path: Path) -> None:
    lock = SessionLock(tmp_path, "A")
    thread = threading.Thread(target=lock.close)
    thread.start()
    thread.join(10)
    SessionLock(tmp_path, "A").close()
    lock.close()


def test_ends_with_the_process_that_holds_it(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(tmp_path)], cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"held"
        with pytest.raises(SessionLocked) as told:
            SessionLock(tmp_path, "S")
        assert told.value.writer == holder.pid
        holder.kill()
        holder.wait(10)
    with SessionLock(tmp_path, "S"), pytest.raises(SessionLocked) as told:
        SessionLock(tmp_path, "S")
    assert told.value.writer == os.getpid()


def test_a_writer_that_could_not_leave_its_number_is_nobody_in_particular(tmp_path: Path) -> None:
    (tmp_path / "A.pid").mkdir()
    with (
        SessionLock(tmp_path, "A"),
        pytest.raises(SessionLocked, match="Another skippy-chat writes") as told,
    ):
        SessionLock(tmp_path, "A")
    assert told.value.writer is None
