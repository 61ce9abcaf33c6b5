from __future__ import annotations

import signal
from pathlib import Path

import pytest

from skippy_chat.engine.deaths import describe_death

LOG = Path("/logs/worker.log")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (7, "The worker process ended with code 7."),
        (-signal.SIGSEGV, "The worker process ended by signal 11 (SIGSEGV)."),
        (-200, "The worker process ended by signal 200."),
        (None, "The worker process closed its pipe."),
    ],
)
def test_how_it_ended(code: int | None, said: str) -> None:
    error = describe_death(code, ["one", "two"], LOG)
    assert error.message == said
    assert error.hint == "Its log: /logs/worker.log"
    assert error.log_tail == ("one", "two")


def test_the_assertion_is_the_reason() -> None:
    lines = ["loading", "/src/llama-context.cpp:17: GGML_ASSERT(a <= b) failed", "done"]
    message = describe_death(-signal.SIGABRT, lines, LOG).message
    assert message == "The worker process ended by signal 6 (SIGABRT): GGML_ASSERT(a <= b) failed."


def test_a_kill_may_be_a_lack_of_memory() -> None:
    assert "memory" in describe_death(-signal.SIGKILL, [], LOG).hint
    ended = describe_death(-signal.SIGKILL, [], LOG, cause="was ended, because it hung")
    assert "memory" not in ended.hint
    assert ended.message == "The worker process was ended, because it hung."
