"""Running tools in threads: output as it comes, a bounded number at once, and a stop that is never waited for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from skippy_chat.agent.running import LEFT_BEHIND, MOST_AT_ONCE, Emit, Job, run_jobs
from skippy_chat.agent.tools.protocol import ToolResult

DONE = ToolResult("ok", "done")


def test_output_and_results_come_with_their_number() -> None:
    def job(number: int) -> Job:
        def run(emit: Emit) -> ToolResult:
            emit(f"out {number}")
            return ToolResult("ok", str(number))

        return run

    items = list(run_jobs([job(n) for n in range(7)], threading.Event(), time.monotonic))
    for number in range(7):
        own = [item for index, item in items if index == number]
        assert own == [f"out {number}", ToolResult("ok", str(number))]


def test_no_more_than_some_run_at_once() -> None:
    release = threading.Event()
    others = set(threading.enumerate())

    def run(emit: Emit) -> ToolResult:
        emit("begun")
        assert release.wait(30)
        return DONE

    items = run_jobs([run] * (2 * MOST_AT_ONCE), threading.Event(), time.monotonic)
    begun = [next(items) for _ in range(MOST_AT_ONCE)]
    assert {item for _, item in begun} == {"begun"}
    assert len(set(threading.enumerate()) - others) == MOST_AT_ONCE
    release.set()
    assert sum(item == DONE for _, item in items) == 2 * MOST_AT_ONCE


def test_output_is_given_out_while_the_job_runs() -> None:
    seen = threading.Event()

    def run(emit: Emit) -> ToolResult:
        emit("first")
        assert seen.wait(30)
        return DONE

    items = run_jobs([run], threading.Event(), time.monotonic)
    assert next(items) == (0, "first")
    seen.set()
    assert list(items) == [(0, DONE)]


@pytest.mark.parametrize("fault", [RuntimeError("no"), SystemExit(3), KeyboardInterrupt()])
def test_a_job_that_raises_has_a_result(fault: BaseException) -> None:
    def run(_emit: Emit) -> ToolResult:
        raise fault

    ((_, result),) = run_jobs([run], threading.Event(), time.monotonic)
    assert isinstance(result, ToolResult)
    assert (result.status, type(fault).__name__ in result.text) == ("error", True)


def test_a_job_that_does_not_stop_is_left_behind() -> None:
    release, stop = threading.Event(), threading.Event()

    def deaf(emit: Emit) -> ToolResult:
        emit("begun")
        release.wait(30)
        emit("late")
        return DONE

    items = run_jobs([deaf, lambda _: DONE], stop, time.monotonic, patience=0.2)
    while next(items) != (0, "begun"):
        pass
    stop.set()
    assert (0, LEFT_BEHIND) in list(items)
    release.set()


def test_closing_stops_what_runs() -> None:
    stop = threading.Event()
    ended: list[str] = []

    def run(emit: Emit) -> ToolResult:
        emit("begun")
        assert stop.wait(30)
        ended.append("stopped")
        return DONE

    items = run_jobs([run], stop, time.monotonic)
    assert next(items) == (0, "begun")
    items.close()
    assert ended == ["stopped"]


def test_a_clock_that_stands_still_waits_for_the_job() -> None:
    stop = threading.Event()
    stop.set()
    slow: Callable[[Emit], ToolResult] = lambda _emit: DONE  # noqa: E731
    assert list(run_jobs([slow], stop, lambda: 0.0, patience=0.0)) == [(0, DONE)]
