"""The native log: last words are never lost, the file never grows past its limit, and nothing in it is live."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from skippy_chat.engine.native_log import LogDrain, RotatingLog

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from pathlib import Path
from skippy_chat.engine.native_log import RotatingLog
log = RotatingLog(Path(sys.argv[1]), limit=2000, kept=3)
for number in range(300):
    log.write(f"{sys.argv[2]} {number:04d}\\n".encode())
"""


def drained(tmp_path: Path, data: bytes) -> tuple[LogDrain, str]:
    """Send ``data`` through a pipe; return the drain and what the file holds."""
    read, write = os.pipe()
    path = tmp_path / "worker.log"
    with os.fdopen(read, "rb") as pipe:
        drain = LogDrain(pipe, RotatingLog(path))
        with os.fdopen(write, "wb") as end:
            end.write(data)
        assert drain.finish(30)
    return drain, path.read_text("utf-8")


def test_lines_reach_the_file_and_the_last_are_remembered(tmp_path: Path) -> None:
    drain, text = drained(tmp_path, b"".join(b"line %d\n" % n for n in range(500)))
    assert text.splitlines() == [f"line {n}" for n in range(500)]
    assert drain.last_lines(2) == ("line 498", "line 499")


def test_nothing_live_gets_through(tmp_path: Path) -> None:
    drain, text = drained(tmp_path, b"a\x1b]52;c;aGk=\x07b\xc2\x9b2J\rc\n\xff\xfe\x1b[31mlast without end")
    assert text == "abc\n��last without end\n"
    assert drain.last_lines(9) == ("abc", "��last without end")


def test_the_trace_that_python_adds_is_not_the_last_words(tmp_path: Path) -> None:
    drain, text = drained(
        tmp_path, b"x.cpp:1: GGML_ASSERT(y) failed\n\nFatal Python error: Aborted\n\nThread 1\n"
    )
    assert drain.last_lines(5) == ("x.cpp:1: GGML_ASSERT(y) failed",)
    assert "Thread 1" in text


def test_a_full_file_moves_on_and_the_oldest_goes(tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    log = RotatingLog(path, limit=100, kept=3)
    for number in range(50):
        log.write(b"%09d\n" % number)
    log.close()
    kept = [tmp_path / name for name in ("worker.log.2", "worker.log.1", "worker.log")]
    assert [each.stat().st_size for each in kept] == [100, 100, 100]
    assert "".join(each.read_text() for each in kept).splitlines() == [f"{n:09d}" for n in range(20, 50)]
    assert {each.name for each in tmp_path.iterdir()} - {"worker.log.lock"} == {each.name for each in kept}


def test_two_programs_share_the_file(tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], cwd=ROOT) for name in ("a", "b")
    ]
    assert [each.wait(60) for each in writers] == [0, 0]
    names = ("worker.log.2", "worker.log.1", "worker.log")
    files = [tmp_path / name for name in names if (tmp_path / name).exists()]
    lines = [line for each in files for line in each.read_text().splitlines()]
    assert all(len(line) == 6 for line in lines)
    assert len(lines) > 200
    # While one writer moves a full file, the other goes on with it: if moving takes long, with all of its 300 lines.
    # If nobody moved it, it would hold the lines of both.
    assert all(each.stat().st_size <= 2000 + 300 * 7 for each in files)
    assert len(files) > 1


def test_a_log_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    log = RotatingLog(tmp_path / "no" / "folder" / "worker.log")
    log.write(b"lost\n")
    log.close()
