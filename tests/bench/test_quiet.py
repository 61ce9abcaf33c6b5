from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from skippy_chat.bench import quiet
from skippy_chat.bench.figures import Disturbance
from skippy_chat.bench.quiet import Ticks, busiest, read_ticks, watched


def write_process(proc: Path, pid: int, parent: int, ticks: int, name: str = "a program)") -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    # Fields behind the name: state, parent, ..., then user, system, children's user and system time.
    fields = ["S", str(parent), *["0"] * 9, str(ticks), "1", "2", "3", *["0"] * 10]
    (folder / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "stat").write_text("cpu  100 10 20 5000 300 4 5 6 0 0\ncpu0 1 1 1 1\n")
    me = os.getpid()
    write_process(tmp_path, me, 1, 50)
    write_process(tmp_path, 900001, me, 7)
    write_process(tmp_path, 900002, 900001, 9, "name (with) spaces")
    write_process(tmp_path, 900003, 1, 1000)
    return tmp_path


def test_own_time_is_this_process_and_all_below_it(proc: Path) -> None:
    assert read_ticks(proc) == Ticks(everyone=100 + 10 + 20 + 4 + 5 + 6, own=50 + 7 + 9 + 3 * (1 + 2 + 3))


def test_without_such_a_file_system_nothing_is_said(tmp_path: Path) -> None:
    assert read_ticks(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("after", "seconds", "others", "is_quiet"),
    [
        (Ticks(1200, 1180), 1.0, 0.2, False),  # of 200 ticks 180 were our own
        (Ticks(1200, 1195), 1.0, 0.05, True),
        (Ticks(1200, 1210), 1.0, 0.0, True),  # own ticks are booked later than everyone's
        (Ticks(9999, 1000), 0.1, None, True),  # too short to be told
        (None, 1.0, None, True),
    ],
)
def test_what_others_took_during_a_block(
    monkeypatch: pytest.MonkeyPatch, after: Ticks | None, seconds: float, others: float | None, is_quiet: bool
) -> None:
    ticks = iter([Ticks(1000, 1000), after])
    moments = iter([5.0, 5.0 + seconds])
    monkeypatch.setattr(quiet, "read_ticks", lambda: next(ticks))
    monkeypatch.setattr(time, "monotonic", lambda: next(moments))
    monkeypatch.setattr(os, "sysconf", lambda _name: 100)
    found: list[Disturbance] = []
    with watched("a block", found.append):
        pass
    assert (found[0].others, found[0].quiet, found[0].during) == (others, is_quiet, "a block")


def test_a_block_that_fails_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Disturbance] = []
    with pytest.raises(ZeroDivisionError), watched("a block", found.append):
        raise ZeroDivisionError
    assert not found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no such file system")
def test_the_busiest_are_others_only(monkeypatch: pytest.MonkeyPatch) -> None:
    me = os.getpid()
    seen = iter(
        [
            [(me, (1, 0, "pytest")), (77, (1, 0, "compiler")), (78, (1, 0, "idle"))],
            [(me, (1, 90, "pytest")), (77, (1, 80, "compiler")), (78, (1, 1, "idle")), (79, (1, 50, "new"))],
        ]
    )
    monkeypatch.setattr(quiet, "_processes", lambda _proc: iter(next(seen)))
    monkeypatch.setattr(os, "sysconf", lambda _name: 100)
    assert busiest(1.0, sleep=lambda _seconds: None) == [("compiler", 0.8)]
