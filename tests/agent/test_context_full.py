"""A message that does not fit: marked, kept out of the prompts after it, and answered once there is room."""

from __future__ import annotations

import pytest

from skippy_chat.errors import ContextFull
from skippy_chat.events import StepFinished
from tests.agent.conftest import Talks, play

pytestmark = [pytest.mark.native, pytest.mark.model, pytest.mark.timeout(120)]

LONG = "word " * 600


def test_the_next_message_takes_its_place(talks: Talks) -> None:
    talk = talks.open(context=512)
    play(talk.send("Hello."))
    greeted = [each.id for each in talk.messages()]
    with pytest.raises(ContextFull):
        play(talk.send(LONG))
    refused = talk.messages()[-1]
    assert (refused.content, refused.state, refused.finish_reason) == (LONG, "failed", "context_full")
    turn = play(talk.send("And now?"))
    (step,) = [each for each in turn.events if isinstance(each, StepFinished)]
    assert step.usage.prompt_tokens < 100
    assert [each.id for each in talk.messages()][: len(greeted)] == greeted
    assert [each.content for each in talk.messages() if each.role == "user"] == ["Hello.", "And now?"]
    assert [each.content for each in talk.siblings(refused.id)] == [LONG, "And now?"]


def test_it_can_be_answered_once_there_is_room(talks: Talks) -> None:
    talk = talks.open(context=512)
    with pytest.raises(ContextFull):
        play(talk.send(LONG))
    talk.close()
    talk = talks.open(context=2048)
    play(talk.regenerate())
    assert [(each.role, each.state) for each in talk.messages()] == [
        ("system", "complete"),
        ("user", "complete"),
        ("assistant", "complete"),
    ]


def test_an_answer_that_was_there_stays_when_there_is_no_room_for_another(talks: Talks) -> None:
    talk = talks.open(context=2048)
    play(talk.send(LONG))
    answered = list(talk.messages())
    talk.close()
    talk = talks.open(context=512)
    with pytest.raises(ContextFull):
        play(talk.regenerate())
    assert list(talk.messages()) == answered


def test_a_larger_context_reads_nothing_again(talks: Talks) -> None:
    talk = talks.open(context=512)
    for text in ("Hello.", "Tell me about the sea, its tides, its colours and its storms. " * 4):
        play(talk.send(text))
    told = talk.foresee("And then?")
    assert told.cached_tokens > 60
    with pytest.raises(ContextFull):
        play(talk.send(LONG))
    talk.close()
    talk = talks.open(context=2048)
    turn = play(talk.send(LONG))
    (step,) = [each for each in turn.events if isinstance(each, StepFinished)]
    assert step.usage.cached_tokens >= told.cached_tokens
    assert step.usage.prompt_tokens > 512
