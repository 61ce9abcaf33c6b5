"""Summaries in place of the beginning of a branch: what is asked, what is kept, and that nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from skippy_chat.agent.compacting import MOST_TOKENS, QUESTION, plan
from skippy_chat.agent.conversation import EngineConversation
from skippy_chat.agent.measuring import Measuring, Prompted
from skippy_chat.agent.protocol import ReplayReport
from skippy_chat.agent.rearranging import turn_starts
from skippy_chat.agent.tools.function import tool
from skippy_chat.agent.tools.registry import Registry
from skippy_chat.chat.messages import Message, ToolCall
from skippy_chat.chat.pairing import completed
from skippy_chat.engine.questions import Measured
from skippy_chat.errors import ContextFull, EngineDied, NativeError, SkippyError, UsageError
from skippy_chat.events import (
    Notice,
    PrefillStarted,
    StepFinished,
    TextDelta,
    TurnFinished,
    TurnStarted,
    WorkerDied,
)
from tests.agent.conftest import Talks, play
from tests.agent.loops import Place, branch
from tests.fakes.engine import LOADED, Said, call

SIZE = LOADED.context_size


def talked(talk: EngineConversation, *lengths: int) -> list[Message]:
    """Ask as many questions, each that long."""
    for number, length in enumerate(lengths, 1):
        play(talk.send(f"{number}" * length))
    return list(talk.messages())


def said(count: int) -> list[Said]:
    return [Said(f"Answer {number}.") for number in range(1, count + 1)]


def contents(messages: Sequence[Message]) -> list[str]:
    return [each.content for each in messages]


def test_the_beginning_is_summed_up_and_the_newest_turns_stay(place: Place) -> None:
    talk, engine = place.open([*said(4), Said(" It was about numbers. "), Said("Five.")])
    before = talked(talk, 400, 400, 400, 400)
    turn = play(talk.compact())
    after = list(talk.messages())
    assert contents(after[:2]) == [
        "[6 messages were left out here to make room.] Sum up what was said in them.",
        "Summary of 6 messages:\n\nIt was about numbers.",
    ]
    assert contents(after[2:]) == contents(before[6:])
    assert [each.role for each in after] == ["user", "assistant"] * 2
    assert completed(after) == after  # roles alternate: nothing has to be put between
    assert talk.branch(before[-1].id) == before
    asked = engine.requests[-1]
    assert [each["content"] for each in asked.messages] == [*contents(before[:6]), QUESTION]
    assert (asked.record, asked.replay, asked.thinking, asked.tool_choice) == (False, False, False, "none")
    assert asked.max_tokens == MOST_TOKENS
    assert sorted(asked.answers) == [1, 3, 5]  # the very ids, so that what was read is found
    assert turn.text == " It was about numbers. "
    first, *_, last = turn.events
    assert isinstance(first, TurnStarted)
    assert isinstance(last, TurnFinished)
    assert (last.message, last.finish_reason) == (after[-1].id, "stop")
    assert [each.seq for each in turn.events] == sorted({each.seq for each in turn.events})
    assert {each.turn for each in turn.events if each.turn} == {first.turn}
    (told,) = [each for each in turn.events if isinstance(each, Notice)]
    used = talk.room().used
    assert told.text.startswith(f"6 messages were left out, and summed up: {used:,} tokens instead of ")
    play(talk.send("5"))
    assert [each["content"] for each in engine.requests[-1].messages] == [*contents(after), "5"]
    assert not engine.requests[-1].answers  # what was fed for the copies stood behind other tokens
    talk.switch(before[-1].id)
    assert list(talk.messages()) == before


def test_no_more_than_half_the_context_is_kept_word_for_word(place: Place) -> None:
    talk, _ = place.open([*said(8), Said("Summary.")])
    talked(talk, *[400] * 8)
    whole = talk.room().used
    assert 1.1 * whole > SIZE
    play(talk.compact())
    kept = turn_starts(talk.messages())
    assert 1 < len(kept) < 8
    assert talk.room().used < SIZE // 2 + MOST_TOKENS


def test_one_turn_alone_is_summed_up_whole(place: Place) -> None:
    talk, _ = place.open([*said(1), Said("Short.")])
    talked(talk, 900)
    play(talk.compact())
    assert [each.role for each in talk.messages()] == ["user", "assistant"]
    assert talk.messages()[-1].content == "Summary of 2 messages:\n\nShort."


def test_a_summary_is_summed_up_with_the_rest(place: Place) -> None:
    talk, engine = place.open([*said(2), Said("First."), *said(2), Said("Second.")])
    talked(talk, 300, 300)
    play(talk.compact())
    talked(talk, 300, 300)
    play(talk.compact())
    asked = [each["content"] for each in engine.requests[-1].messages]
    assert "Summary of 2 messages:\n\nFirst." in asked
    assert "First." not in "".join(contents(talk.messages()))


def test_a_message_that_did_not_fit_has_room_afterwards(place: Place) -> None:
    """What is kept leaves room for it, as far as there is any."""
    script = [*said(6), Said(raises=ContextFull("Too long.")), Said("Summary."), Said("Now.")]
    talk, _ = place.open(script)
    talked(talk, *[400] * 6)
    long = "x" * 2200
    with pytest.raises(ContextFull):
        play(talk.send(long))
    assert talk.room().over > 0
    play(talk.compact())
    assert long not in contents(talk.messages())
    assert talk.room().used + len(long) < SIZE
    play(talk.send(long))
    assert talk.messages()[-1].content == "Now."


def test_a_newest_turn_that_cannot_be_summed_up_is_kept(place: Place) -> None:
    talk, _ = place.open([*said(3), Said("Summary.")])
    before = talked(talk, 300, 300, 2600)
    assert talk.room().used + len(QUESTION) > SIZE - MOST_TOKENS
    play(talk.compact())
    assert contents(talk.messages())[2:] == contents(before[4:])
    assert talk.room().over == 0


def test_where_not_all_fits_the_first_messages_are_summed_up_and_it_says_so(place: Place) -> None:
    # As in a session of a model with a larger context: more than this one holds.
    talk, engine = place.open([*said(9), Said("The first ones.")])
    talked(talk, *[700] * 9)
    assert talk.room().over > SIZE // 2
    turn = play(talk.compact())
    asked = engine.requests[-1]
    summed = len(asked.messages) - 1
    note, summary, *kept = talk.messages()
    left_out = 18 - len(kept)
    assert 0 < summed < left_out
    assert note.content == (
        f"[{left_out} messages were left out here to make room.] Sum up what was said in the first {summed};"
        f" the other {left_out - summed} did not fit, and are not in the summary."
    )
    assert summary.content.startswith(f"Summary of {summed} messages:")
    (told,) = [each for each in turn.events if isinstance(each, Notice)]
    assert told.level == "warning"
    assert f"the first {summed} of them summed up" in told.text
    assert talk.room().over == 0


class Letters(Measuring):
    """Takes a letter for a token."""

    def __init__(self) -> None:
        pass

    def prompted(self, branch: Sequence[Message], *, offered: bool = True) -> Prompted:
        lengths = tuple(len(each.content) for each in branch)
        return Prompted(tuple(branch), Measured(lengths, sum(lengths)))


@pytest.mark.parametrize("length", range(1, 400, 7))
def test_calls_are_not_parted_from_their_results(length: int) -> None:
    called = (ToolCall("c1", "report", "{}"), ToolCall("c2", "report", "{}"))
    turn = [
        Message("", "", None, "user", "?" * length),
        Message("", "", None, "assistant", "I see.", tool_calls=called),
        Message("", "", None, "tool", "a" * length, tool_call_id="c1"),
        Message("", "", None, "tool", "b" * length, tool_call_id="c2"),
        Message("", "", None, "assistant", "Told."),
    ]
    context = 1000
    branch = [Message("", "", None, "system", "Be kind."), *turn, *turn, *turn]
    try:
        planned = plan(branch, Letters(), context, 0)
    except ContextFull:
        assert length + 8 + len(QUESTION) + context // 8 > context - 100
        return
    assert planned.lead == 1
    assert planned.lead < planned.summed <= planned.kept <= len(branch)
    assert planned.summed == len(branch) or branch[planned.summed].role != "tool"
    assert planned.kept == len(branch) or branch[planned.kept].role == "user"
    kept = sum(len(each.content) for each in branch[planned.kept :])
    assert kept <= context // 2 or planned.kept == 11
    assert kept + planned.most_tokens < context


@tool
def report(topic: str) -> str:
    """Give a long report."""
    return f"All about {topic}. " + "Much is known. " * 10


def test_a_turn_that_ended_in_its_middle_goes_on_in_the_new_branch(place: Place) -> None:
    full = Said(raises=ContextFull("Too long."))
    calls = Said("", (call("c1", "report", topic="tea"),))
    box = replace(place.box(), registry=Registry([report]))
    talk, engine = place.open([*said(2), calls, full, Said("Summary."), Said("Told.")], box)
    talked(talk, 900, 900, 20)
    before = list(talk.messages())
    assert before[-1].role == "tool"
    play(talk.compact())
    assert contents(talk.messages())[-3:] == contents(before[-3:])
    assert talk.messages()[1].content.endswith("Summary.")
    play(talk.go_on())
    assert talk.messages()[-1].content == "Told."
    assert {each.turn for each in talk.messages()[-3:]} == {before[-1].turn}
    assert engine.requests[-1].messages[-1]["content"] == before[-1].content


def test_there_must_be_something_to_sum_up(place: Place) -> None:
    talk, engine = place.open([Said(raises=NativeError("Broken."))])
    for _ in range(2):
        with pytest.raises(UsageError):
            play(talk.compact())
        if not talk.messages():
            with pytest.raises(NativeError):
                play(talk.send("1"))
    assert len(engine.requests) == 1


def test_a_first_message_that_is_too_long_is_said(place: Place) -> None:
    talk, _ = place.open([Said("One.")])
    talked(talk, SIZE)
    stood = branch(talk)
    with pytest.raises(ContextFull, match="first message"):
        play(talk.compact())
    assert branch(talk) == stood


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Said("Half of", waits=True), None),
        (Said("  \n"), SkippyError),
        (Said("Half of", raises=NativeError("Broken.")), NativeError),
        (Said("Half of", raises=EngineDied("Gone.")), EngineDied),
    ],
)
def test_what_breaks_off_leaves_the_branch_as_it_was(
    place: Place, answer: Said, error: type[SkippyError] | None
) -> None:
    talk, engine = place.open([*said(3), answer, Said("Four.")])
    before = talked(talk, 300, 300, 300)
    seen = []
    compaction = talk.compact()

    def read() -> None:
        for event in compaction:
            seen.append(event)
            if answer.waits and isinstance(event, TextDelta):
                talk.cancel()

    if error is None:
        read()
        assert isinstance(seen[-1], TurnFinished)
        assert seen[-1].finish_reason == "cancelled"
    else:
        with pytest.raises(error):
            read()
        assert isinstance(seen[-1], WorkerDied) == (error is EngineDied)
    assert list(talk.messages()) == before
    assert [each.id for each in talk.leaves()] == [before[-1].id]
    play(talk.send("4"))
    assert [each["content"] for each in engine.requests[-1].messages] == [*contents(before), "4"]


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(240)
@pytest.mark.parametrize("stopped", [True, False])
def test_what_follows_a_summary_is_computed_as_a_replay_computes_it(talks: Talks, *, stopped: bool) -> None:
    """In the old branch after one that was stopped, and in both after one that was not: the asking left no trace."""
    talk = talks.open(max_tokens=12)
    for text in ("Hello there.", "Tell me about the sea, its tides and its storms. " * 6, "And then?"):
        play(talk.send(text))
    before = list(talk.messages())
    expected = talk.foresee("Go on.")
    for event in talk.compact():
        if stopped and isinstance(event, TextDelta):
            talk.cancel()
    assert (list(talk.messages()) == before) == stopped
    if not stopped:
        play(talk.send("Well?"))
        assert getattr(list(talk.replay())[-1], "same_ids", False)
        talk.switch(before[-1].id)
    started = next(each for each in play(talk.send("Go on.")).events if isinstance(each, PrefillStarted))
    assert (started.prompt, started.cached) == (expected.prompt_tokens, expected.cached_tokens)
    report_ = list(talk.replay())[-1]
    assert isinstance(report_, ReplayReport)
    assert report_.same_ids
    assert report_.compared_tokens > 0


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(240)
def test_a_worker_killed_in_a_summary_leaves_the_branch_as_it_was(talks: Talks) -> None:
    talk = talks.open("kill", 20, max_tokens=8)
    for text in ("Hello there.", "And then?"):
        assert play(talk.send(text)).death is None
    before = list(talk.messages())
    turn = play(talk.compact())
    assert turn.death is not None
    assert len(turn.told) == 1
    assert list(talk.messages()) == before
    assert [each.id for each in talk.leaves()] == [before[-1].id]
    assert isinstance(play(talk.compact()).events[-1], TurnFinished)
    assert talk.messages()[2].content.startswith("Summary of ")
    assert talk.branch(before[-1].id) == before


def test_who_goes_away_in_the_middle_leaves_the_branch_as_it_was(place: Place) -> None:
    talk, _ = place.open([*said(3), Said("Half of it."), Said("Four.")])
    before = talked(talk, 300, 300, 300)
    for event in talk.compact():
        if isinstance(event, TextDelta):
            break
    play(talk.send("4"))
    assert list(talk.messages())[:-2] == before
    assert talk.messages()[-1].content == "Four."


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(300)
def test_a_full_conversation_is_summed_up_and_goes_on(talks: Talks) -> None:
    """On the default model: what is asked about is found in the cache, and there is room for the next message."""
    talk = talks.open(context=768, max_tokens=24)
    texts = [
        f"Tell me about {what} in a few words, please." for what in ("the sea", "rain", "bread", "trees")
    ]
    for text in texts:
        play(talk.send(text))
    refused = "And this? " * 300
    with pytest.raises(ContextFull):
        play(talk.send(refused))
    before = list(talk.messages())
    turn = play(talk.compact())
    started = next(each for each in turn.events if isinstance(each, PrefillStarted))
    (step,) = [each for each in turn.events if isinstance(each, StepFinished)]
    assert 0 < step.usage.generated_tokens <= 768 // 8
    question = step.usage.prefilled_tokens
    assert started.cached == started.prompt - question
    assert question < 100 < started.cached
    note, summary = talk.messages()[1:3]
    assert turn.text.strip()
    assert summary.content.endswith(turn.text.strip())
    assert (note.role, summary.role) == ("user", "assistant")
    assert talk.branch(before[-1].id) == before
    answered = play(talk.send("And now, in a word?"))
    assert isinstance(answered.events[-1], TurnFinished)
    # Nothing of the asking is kept: the old branch resumes where it would have.
    talk.switch(before[-2].id)
    at = talk.foresee("Go on.")
    assert at.cached_tokens >= started.cached
