"""Turns and results of tools left out: a new branch, the old one whole, and the prefix before the cut reused."""

from __future__ import annotations

import pytest

from skippy_chat.agent.protocol import TurnOptions
from skippy_chat.agent.rearranging import LEAST_CHARACTERS
from skippy_chat.agent.tools.function import tool
from skippy_chat.chat.messages import Message
from skippy_chat.engine.questions import MeasureQuestion
from skippy_chat.errors import ContextFull, UsageError
from skippy_chat.events import PrefillStarted
from tests.agent.conftest import Talks, play
from tests.agent.loops import Place, branch
from tests.fakes.engine import Said, call


@tool
def report(topic: str) -> str:
    """Give a long report."""
    return f"All about {topic}. " + "Much is known. " * 40


@tool
def short(topic: str) -> str:
    """Give a short one."""
    return topic


def plain(message: Message) -> tuple[object, ...]:
    """All of a message but where it stands."""
    return (
        message.role,
        message.content,
        message.reasoning,
        message.tool_calls,
        message.tool_call_id,
        message.state,
        message.finish_reason,
        message.status,
        message.detail,
        message.turn,
        message.created,
    )


def test_a_turn_with_its_calls_is_left_out_and_the_old_branch_stays(place: Place) -> None:
    script = [
        Said("One."),
        Said("See.", (call("c1", "report", topic="tea"),)),
        Said("Two."),
        Said("Three.", reasoning="Hm."),
        Said("Four."),
    ]
    talk, engine = place.open(script, place.box(tools=[report]))
    for text in ("1", "2", "3"):
        play(talk.send(text))
    before = list(talk.messages())
    talk.remove(before[2].id)
    after = list(talk.messages())
    assert [each.content for each in after] == ["1", "One.", "3", "Three."]
    assert after[:2] == before[:2]
    assert [plain(each) for each in after[2:]] == [plain(each) for each in before[6:]]
    assert talk.branch(before[-1].id) == before
    assert [each.id for each in talk.leaves()] == [after[-1].id, before[-1].id]
    play(talk.send("4"))
    asked = engine.requests[-1]
    assert [each["content"] for each in asked.messages] == ["1", "One.", "3", "Three.", "4"]
    assert list(asked.answers) == [1]  # what was fed for the copy stood behind other tokens
    talk.switch(before[-1].id)
    assert list(talk.messages()) == before


def test_the_last_turn_is_left_out_without_a_copy(place: Place) -> None:
    talk, engine = place.open([Said("One."), Said("Two."), Said("Three.")])
    play(talk.send("1"))
    play(talk.send("2"))
    before = list(talk.messages())
    talk.remove(before[2].id)
    assert list(talk.messages()) == before[:2]
    talk.remove(before[0].id)
    assert list(talk.messages()) == []
    play(talk.send("3"))
    assert [each["content"] for each in engine.requests[-1].messages] == ["3"]
    assert talk.branch(before[-1].id) == before


def test_only_a_message_of_the_users_in_this_branch_begins_a_turn(place: Place) -> None:
    talk, _ = place.open([Said("One."), Said("Two.")])
    play(talk.send("1"))
    question, answer = talk.messages()
    play(talk.edit(question.id, "2"))
    stood = branch(talk)
    for message in (question.id, answer.id, "nothing"):
        with pytest.raises(UsageError):
            talk.remove(message)
    assert branch(talk) == stood


def test_a_message_that_did_not_fit_stays_refused_behind_a_turn_left_out(place: Place) -> None:
    talk, _ = place.open([Said("One."), Said(raises=ContextFull("Too long.")), Said("Three.")])
    play(talk.send("1"))
    with pytest.raises(ContextFull):
        play(talk.send("2"))
    talk.remove(talk.messages()[0].id)
    (refused,) = talk.messages()
    assert (refused.content, refused.state, refused.finish_reason) == ("2", "failed", "context_full")
    talk.remove(refused.id)
    assert list(talk.messages()) == []


def test_results_before_the_newest_turn_become_notes(place: Place) -> None:
    script = [
        Said("", (call("c1", "report", topic="tea"), call("c2", "short", topic="rice"))),
        Said("One."),
        Said("", (call("c3", "report", topic="milk"),)),
        Said("Two."),
        Said("Three."),
    ]
    talk, engine = place.open(script, place.box(tools=[report, short], parallel=True))
    play(talk.send("1"))
    play(talk.send("2"))
    before = list(talk.messages())
    dropped = talk.drop_results()
    after = list(talk.messages())
    length = len(before[2].content)
    assert length > LEAST_CHARACTERS
    assert after[2].content == (
        f"[{length:,} characters were left out to make room. Call the tool again to see them.]"
    )
    assert after[:2] == before[:2]
    assert [plain(each) for each in after[3:]] == [plain(each) for each in before[3:]]
    assert (after[2].tool_call_id, after[2].status, after[2].turn) == (
        before[2].tool_call_id,
        before[2].status,
        before[2].turn,
    )
    assert talk.branch(before[-1].id) == before
    assert dropped.results == 1
    assert dropped.tokens == length - len(after[2].content)  # a character is a token here
    with pytest.raises(UsageError):
        talk.drop_results()
    assert list(talk.messages()) == after
    play(talk.send("3"))
    contents = [each["content"] for each in engine.requests[-1].messages]
    assert contents == [*(each.content for each in after), "3"]


def test_a_message_that_did_not_fit_is_not_in_the_branch_without_results(place: Place) -> None:
    script = [
        Said("", (call("c1", "report", topic="tea"),)),
        Said("One."),
        Said("Two."),
        Said(raises=ContextFull("Too long.")),
        Said("Three."),
    ]
    talk, _ = place.open(script, place.box(tools=[report]))
    play(talk.send("1"))
    play(talk.send("2"))
    with pytest.raises(ContextFull):
        play(talk.send("3"))
    talk.drop_results()
    assert [each.content for each in talk.messages() if each.role == "user"] == ["1", "2"]
    play(talk.send("3"))
    assert talk.messages()[-1].content == "Three."


def test_nothing_is_left_out_while_a_turn_runs(place: Place) -> None:
    refused: list[str] = []

    def try_them() -> None:
        for act in (lambda: talk.remove(talk.messages()[0].id), talk.drop_results, talk.compact):
            with pytest.raises(UsageError):
                act()
            refused.append("")

    talk, engine = place.open([Said("One."), Said("Two words.", during=try_them)])
    play(talk.send("1"))
    play(talk.send("2"))
    assert len(refused) == 3
    assert [each.content for each in talk.messages()] == ["1", "One.", "2", "Two words."]
    assert not [each for each in engine.questions if isinstance(each, MeasureQuestion)]


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(240)
def test_everything_before_the_cut_is_reused(talks: Talks) -> None:
    """Both with the lane as it is and from disk in a new process; nothing behind the cut is taken for cached."""
    tides = "Tell me about the sea, its tides, its colours and its storms. " * 4
    talk = talks.open(max_tokens=12)
    for text in ("Hello there.", tides, "And the wind?", "And the rain?"):
        play(talk.send(text))
    question = next(each for each in talk.messages() if each.content == "And the wind?")
    cut = talk.foresee("x", question.id).cached_tokens
    assert cut > 100
    talk.remove(question.id)
    assert [each.content for each in talk.messages() if each.role == "user"][-1] == "And the rain?"
    expected = talk.foresee("Well?")
    assert expected.cached_tokens >= cut
    talk.close()
    talk = talks.open(max_tokens=12)
    started = next(each for each in play(talk.send("Well?")).events if isinstance(each, PrefillStarted))
    assert started.cached == expected.cached_tokens
    assert started.prompt == expected.prompt_tokens
    # Behind the cut it is another prompt: one more turn finds all that this one read.
    again = next(each for each in play(talk.send("So?")).events if isinstance(each, PrefillStarted))
    assert again.cached >= started.prompt


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(240)
def test_what_a_model_read_before_a_dropped_result_is_reused(talks: Talks) -> None:
    talk = talks.open(max_tokens=64, functions=(report,), context=2048)
    play(talk.send("Call report with the topic tea.", TurnOptions(tool_choice="required")))
    for text in ("Thank you.", "Well?"):
        play(talk.send(text, TurnOptions(tool_choice="none")))
    results = [each for each in talk.messages() if each.role == "tool" and len(each.content) > 500]
    assert results
    size = talk.room()
    dropped = talk.drop_results()
    assert dropped.results == len(results)
    assert dropped.tokens == size.droppable > 50
    assert talk.room().used == size.used - dropped.tokens
    told = talk.foresee("And now?")
    assert 0 < told.cached_tokens < told.prompt_tokens
    started = next(each for each in play(talk.send("And now?")).events if isinstance(each, PrefillStarted))
    assert started.cached == told.cached_tokens
