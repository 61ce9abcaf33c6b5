"""The agent loop on the default model, its first call forced: each step reads only what is new, whatever happens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from skippy_chat.agent.conversation import EngineConversation
from skippy_chat.agent.protocol import ReplayReport, TurnOptions
from skippy_chat.chat.pairing import CUT_OFF, NOT_RUN, unanswered
from skippy_chat.events import StepFinished, ToolCallDelta, ToolFinished, TurnFinished
from tests.agent.conftest import Talks, Turn, play
from tests.agent.killed_session import harbour
from tests.agent.test_loop_stops import check_prompt

pytestmark = [pytest.mark.native, pytest.mark.model, pytest.mark.timeout(300)]

ASK = "What colour is the harbour?"
FORCED = TurnOptions(tool_choice="required")


def steps(turn: Turn) -> list[StepFinished]:
    found = [event for event in turn.events if isinstance(event, StepFinished)]
    for step in found:
        assert step.usage.cached_tokens + step.usage.prefilled_tokens == step.usage.prompt_tokens
    return found


def replays(conversation: EngineConversation) -> list[bool]:
    reports = []
    for message in conversation.messages():
        if message.role == "assistant":
            report = list(conversation.replay(message.id))[-1]
            assert isinstance(report, ReplayReport)
            reports.append(report.same_ids)
    return reports


def ended(turn: Turn) -> str:
    last = turn.events[-1]
    assert isinstance(last, TurnFinished)
    return last.finish_reason


def test_a_step_reads_only_the_result_before_it(talks: Talks) -> None:
    conversation = talks.open(functions=(harbour,), max_tokens=40)
    turn = play(conversation.send(ASK, FORCED))
    first, second, *_ = steps(turn)
    assert first.finish_reason == "tool_calls"
    assert second.cache.source == "live"
    assert second.usage.cached_tokens == first.usage.context_tokens
    stored = conversation.messages()
    assert [each.role for each in stored[:5]] == ["system", "user", "assistant", "tool", "assistant"]
    assert stored[2].tool_calls[0].name == "harbour"
    assert stored[3].content == "The harbour is teal."
    # What was forced, token by token, is computed again just so: the ledger knows what the grammar refused.
    assert all(replays(conversation))


def test_a_loop_goes_on_after_a_restart_in_its_middle(talks: Talks) -> None:
    conversation = talks.open(functions=(harbour,), max_tokens=40, max_steps=1)
    (first,) = steps(turn := play(conversation.send(ASK, FORCED)))
    assert ended(turn) == "tool_calls"
    assert conversation.messages()[-1].role == "tool"
    conversation.close()

    again = talks.open(functions=(harbour,), max_tokens=40)
    turn = play(again.go_on())
    second = steps(turn)[0]
    assert second.cache.source == "disk"
    assert second.usage.cached_tokens == first.usage.context_tokens
    assert turn.events[0].turn == again.messages()[2].turn
    assert again.messages()[4].role == "assistant"
    assert all(replays(again))


@pytest.mark.parametrize(
    ("when", "result"),
    [("in_tool", CUT_OFF), ("tool_finished", "The harbour is teal."), ("tool_call_delta", None)],
)
def test_a_program_killed_in_the_loop_goes_on(
    talks: Talks, tmp_path: Path, default_model: Path, when: str, result: str | None
) -> None:
    killed = subprocess.run(
        [sys.executable, "-m", "tests.agent.killed_session", str(tmp_path), str(default_model), when],
        capture_output=True,
        timeout=240,
        check=False,
    )
    assert killed.returncode == -9, killed.stderr.decode()
    conversation = talks.open(functions=(harbour,), max_tokens=40)
    stored = conversation.messages()
    assert unanswered(stored) == ()
    assert [each.content for each in stored if each.role == "tool"] == ([] if result is None else [result])
    turn = play(conversation.go_on())
    step = steps(turn)[0]
    assert step.cache.source == "disk"
    assert step.usage.cached_tokens > 0
    assert ended(turn) in {"stop", "length", "tool_calls"}
    check_prompt([each.to_openai() for each in conversation.messages()])
    assert all(replays(conversation))


def test_stopped_in_the_middle_of_a_call(talks: Talks) -> None:
    conversation = talks.open(functions=(harbour,), max_tokens=40)
    turn = Turn()
    for event in conversation.send(ASK, FORCED):
        turn.events.append(event)
        if isinstance(event, ToolCallDelta):
            conversation.cancel()
    assert ended(turn) == "cancelled"
    assert unanswered(conversation.messages()) == ()
    assert all(each.content == NOT_RUN for each in conversation.messages() if each.role == "tool")
    again = play(conversation.send("And now?"))
    steps(again)
    assert ended(again) in {"stop", "length", "tool_calls"}
    finished = [event for event in again.events if isinstance(event, ToolFinished)]
    assert all(event.status in {"ok", "error"} for event in finished)


def test_a_stop_before_the_first_word_costs_the_next_turn_nothing(talks: Talks) -> None:
    """What was read for the answer that never began is a prefix of the next prompt."""
    conversation = talks.open(max_tokens=8)
    play(conversation.send("Hello."))
    # Long enough that the wish, which is looked at between the parts of a prompt, comes long before the last of them.
    for event in conversation.send("Tell me about Paris. " * 100):
        if event.type == "prefill_progress":
            conversation.cancel()
    assert conversation.messages()[-1].role == "user"
    before = conversation.messages()
    turn = play(conversation.send("Or Rome."))
    (step,) = steps(turn)
    assert step.usage.cached_tokens > 0
    assert ended(turn) in {"stop", "length"}
    assert [each.role for each in conversation.messages()[len(before) - 1 :]] == ["user", "user", "assistant"]
    assert replays(conversation)[-1]


def test_any_branch_can_be_regenerated_and_edited(talks: Talks) -> None:
    conversation = talks.open(functions=(harbour,), max_tokens=24)
    play(conversation.send(ASK, FORCED))
    first = conversation.messages()
    turn = play(conversation.regenerate(FORCED))
    step = steps(turn)[0]
    assert step.usage.cached_tokens == step.usage.prompt_tokens
    assert len(conversation.siblings(first[2].id)) == 2
    conversation.switch(first[-1].id)
    assert conversation.messages() == first
    edited = play(conversation.edit(first[1].id, "What colour is the sea?"))
    assert steps(edited)[0].usage.cached_tokens > 0
    assert conversation.messages()[1].content == "What colour is the sea?"


def test_a_call_that_is_cut_off_is_no_call(talks: Talks) -> None:
    conversation = talks.open(functions=(harbour,), max_tokens=6)
    turn = play(conversation.send(ASK, FORCED))
    (step,) = steps(turn)
    assert (step.finish_reason, ended(turn)) == ("length", "length")
    assert [each.role for each in conversation.messages()] == ["system", "user", "assistant"]
    cut = conversation.messages()[-1]
    assert cut.tool_calls == ()
    again = play(conversation.send("And now?"))
    assert steps(again)[0].usage.cached_tokens == step.usage.context_tokens  # it stands as it was written
    assert all(replays(conversation))
    goes_on = play(conversation.go_on()) if ended(again) == "length" else again
    assert steps(goes_on)
