"""Every way a worker can die in an answer: it is told, nothing acknowledged is lost, and the next turn resumes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from skippy_chat.agent.conversation import EngineConversation
from skippy_chat.agent.protocol import ReplayReport
from skippy_chat.chat.messages import Message
from skippy_chat.engine.supervisor import Supervisor
from skippy_chat.engine.watch import DEFAULT_LIMITS, Limits
from skippy_chat.events import (
    CheckpointRecorded,
    Event,
    Notice,
    PrefillProgress,
    StepFinished,
    TextDelta,
    TurnFinished,
)
from tests.agent.conftest import Talks, Turn, play

pytestmark = [pytest.mark.native, pytest.mark.model]

FIRST, SECOND = "Hello, who are you?", "Tell me about Paris."
QUICK = Limits(silence=10.0)
IMPATIENT = Limits(idle=10.0)


def finished(turn: Turn) -> StepFinished:
    return next(event for event in turn.events if isinstance(event, StepFinished))


def replayed(conversation: EngineConversation) -> ReplayReport:
    report = list(conversation.replay())[-1]
    assert isinstance(report, ReplayReport)
    return report


def said(messages: list[Message]) -> list[tuple[str, str, str]]:
    return [(each.role, each.state, each.content) for each in messages]


def limit(conversation: EngineConversation, limits: Limits) -> None:
    """Be no more patient than this with the worker there is; starting it, or the next, takes as long as it takes."""
    engine = conversation._engine
    assert isinstance(engine, Supervisor)
    assert engine._client is not None
    engine._client._limits = limits


@pytest.mark.parametrize(
    ("fault", "limits", "reason"),
    [
        (
            "abort",
            DEFAULT_LIMITS,
            r"signal 6 \(SIGABRT\): GGML_ASSERT\(n_tokens_all <= cparams\.n_batch\) failed",
        ),
        ("crash", DEFAULT_LIMITS, r"signal 11 \(SIGSEGV\)"),
        ("kill", DEFAULT_LIMITS, r"signal 9 \(SIGKILL\)"),
        ("leave", DEFAULT_LIMITS, "code 7"),
        ("babble", DEFAULT_LIMITS, "garbage"),
        ("stop", QUICK, "no sign of life"),
        ("hold", QUICK, "no sign of life"),
        ("wait", IMPATIENT, "neither answered nor worked"),
    ],
)
def test_a_death_in_an_answer(talks: Talks, fault: str, limits: Limits, reason: str) -> None:
    conversation = talks.open(fault, 12)
    play(conversation.send(FIRST))
    limit(conversation, limits)
    before = list(conversation.messages())
    died = play(conversation.send(SECOND))

    assert died.death is not None
    (told,) = died.told
    assert told.reason == died.death.message
    assert re.search(reason, told.reason)
    assert any("llama_" in line for line in told.log_tail)
    assert "resumes from disk" in died.death.hint
    assert died.text
    kept = list(conversation.messages())
    assert kept[: len(before)] == before
    assert said(kept[len(before) :]) == [
        ("user", "complete", SECOND),
        ("assistant", "interrupted", died.text),
    ]

    again = play(conversation.regenerate())
    assert again.death is None
    assert next(event.text for event in again.events if isinstance(event, Notice)).endswith("started again.")
    step = finished(again)
    assert step.cache.source == "disk"
    assert (
        step.usage.cached_tokens == step.usage.prompt_tokens
    )  # the prompt was recorded before the answer began
    assert again.text.startswith(died.text)
    assert replayed(conversation).same_ids
    versions = conversation.siblings(conversation.messages()[-1].id)
    assert [each.state for each in versions] == ["interrupted", "complete"]


def test_the_partial_answer_can_be_gone_on_from(talks: Talks) -> None:
    conversation = talks.open("kill", 4)
    died = play(conversation.send(FIRST))
    assert died.death is not None
    play(conversation.send("Go on."))
    shown = said(list(conversation.messages()))
    assert shown[2] == ("assistant", "interrupted", died.text)
    assert shown[3][2] == "Go on."
    assert shown[4][1] == "complete"
    assert replayed(conversation).same_ids


def test_the_first_token_after_a_kill_takes_the_load_and_no_reading(talks: Talks) -> None:
    conversation = talks.open("kill", 12)
    play(conversation.send(FIRST))
    assert play(conversation.send(SECOND)).death is not None
    again = play(conversation.regenerate())
    loaded = next(
        at
        for at, event in enumerate(again.events)
        if isinstance(event, Notice) and "loaded again" in event.text
    )
    first = next(at for at, event in enumerate(again.events) if isinstance(event, TextDelta))
    assert loaded < first
    # That it is soon follows: nothing of the prompt is read again.
    assert not any(isinstance(event, PrefillProgress) for event in again.events)
    step = finished(again)
    assert step.cache.source == "disk"
    assert step.usage.cached_tokens == step.usage.prompt_tokens
    assert step.usage.prefilled_tokens == 0


def test_a_slow_batch_is_no_hang(talks: Talks) -> None:
    conversation = talks.open("spin", 4)
    limit(conversation, Limits(silence=60.0, idle=10.0))
    turn = play(conversation.send(FIRST))
    assert turn.death is None
    assert (talks.root / "mark").exists()
    assert finished(turn).timings.decode_ms > 10_000


def test_a_death_between_two_turns_costs_none(talks: Talks) -> None:
    conversation = talks.open()
    play(conversation.send(FIRST))
    pid = conversation._engine.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    turn = play(conversation.send(SECOND))
    assert turn.death is None
    assert turn.told == []
    notices = [event for event in turn.events if isinstance(event, Notice)]
    # Loading tells how far it is whenever five seconds have gone by.
    levels = [each.level for each in notices]
    assert levels[0] == "warning"
    assert set(levels[1:]) == {"info"}
    assert len(levels) >= 3
    assert "signal 9" in notices[0].text
    assert finished(turn).cache.source == "disk"
    assert replayed(conversation).same_ids


def test_a_death_while_a_prompt_is_read_costs_only_what_was_not_recorded(talks: Talks) -> None:
    conversation = talks.open("abort-reading", 5)
    assert play(conversation.send(FIRST)).death is None
    died = play(conversation.send("word " * 300))
    assert died.death is not None
    assert died.text == ""
    assert said(list(conversation.messages()))[-1][0] == "user"
    again = play(conversation.regenerate())
    assert again.death is None
    assert finished(again).usage.cached_tokens > 0
    assert replayed(conversation).same_ids


def test_three_deaths_in_a_row_stop(talks: Talks) -> None:
    conversation = talks.open("abort", 1, always=True)
    turns = [play(conversation.send(FIRST)), play(conversation.regenerate()), play(conversation.regenerate())]
    hints = [turn.death.hint for turn in turns if turn.death is not None]
    assert ["third time" in hint for hint in hints] == [False, False, True]
    assert conversation._engine.pid is None
    last = play(conversation.send("One more."))
    assert last.death is not None
    assert "third time" in last.death.hint
    assert "GGML_ASSERT" in last.death.message
    assert conversation._engine.pid is None  # nothing was started for it
    assert said(list(conversation.messages()))[-1] == ("user", "complete", "One more.")


def test_deaths_with_an_answer_between_them_do_not_add_up(talks: Talks) -> None:
    conversation = talks.open("leave", 6, always=True, max_tokens=4)
    deaths = [play(conversation.send(f"Say {number}.")).death is not None for number in range(13)]
    assert deaths.count(True) >= 4
    assert not deaths[-1] or not deaths[-2]


def test_a_stop_while_the_model_is_loaded_again_ends_the_turn(talks: Talks) -> None:
    conversation = talks.open("leave", 1)
    assert play(conversation.send(FIRST)).death is not None
    events: list[Event] = []
    for event in conversation.regenerate():
        events.append(event)
        if isinstance(event, Notice):
            conversation.cancel()
    assert [event.finish_reason for event in events if isinstance(event, StepFinished)] == ["cancelled"]
    assert isinstance(events[-1], TurnFinished)
    assert conversation.messages()[-1].role == "user"
    assert play(conversation.regenerate()).text


def test_a_turn_that_was_given_up_leaves_nothing_behind_for_the_next(talks: Talks) -> None:
    conversation = talks.open(max_tokens=64)
    events = conversation.send(FIRST)
    next(event for event in events if isinstance(event, TextDelta))
    events.close()  # type: ignore[attr-defined]
    turn = play(conversation.send(SECOND))
    # What was recorded of the earlier turn may be told late, and says whose it is.
    own = [event for event in turn.events if not isinstance(event, CheckpointRecorded)]
    assert len({event.turn for event in own}) == 1
    assert said(list(conversation.messages()))[2][:2] == ("assistant", "interrupted")
    assert replayed(conversation).same_ids


@pytest.fixture
def memory_group(tmp_path: Path) -> Iterator[Path | None]:
    """A control group of the kernel with little memory, where this system lets us make one."""
    root = Path("/sys/fs/cgroup")
    old = (root / "memory" / "memory.limit_in_bytes").exists()
    group = root / ("memory" if old else "") / f"skippy-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        yield None
        return
    try:
        (group / ("memory.limit_in_bytes" if old else "memory.max")).write_text(str(256 << 20))
        with contextlib.suppress(OSError):
            (group / ("memory.memsw.limit_in_bytes" if old else "memory.swap.max")).write_text(
                str(256 << 20) if old else "0"
            )
        yield group
    except OSError:
        yield None
    finally:
        group.rmdir()


def test_an_out_of_memory_kill(talks: Talks, memory_group: Path | None) -> None:
    """The kernel's own kill where a control group can be made; elsewhere the same signal, sent by hand."""
    conversation = talks.open("memory" if memory_group else "kill", 12)
    play(conversation.send(FIRST))
    pid = conversation._engine.pid
    if memory_group is not None:
        (memory_group / "cgroup.procs").write_text(str(pid))
    died = play(conversation.send(SECOND))
    assert died.death is not None
    assert "signal 9" in died.death.message
    assert "memory ran out" in died.death.hint
    if memory_group is not None:
        counts = [memory_group / name for name in ("memory.oom_control", "memory.events")]
        told = next(each for each in counts if each.exists()).read_text().split()
        assert int(told[told.index("oom_kill") + 1]) > 0
    assert said(list(conversation.messages()))[-1] == ("assistant", "interrupted", died.text)
    again = play(conversation.regenerate())
    assert again.text.startswith(died.text)
    assert replayed(conversation).same_ids
