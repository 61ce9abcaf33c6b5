"""Titles that the program makes: beside the names that people give, never instead of them, never in the way."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from skippy_chat.agent.conversation import EngineConversation
from skippy_chat.agent.naming import name_behind
from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Session
from skippy_chat.chat.session_rows import usable_title
from skippy_chat.errors import EngineDied, HistoryError
from skippy_chat.events import StepFinished
from tests.agent.conftest import Talks, play
from tests.agent.loops import Place
from tests.fakes.engine import FakeEngine, Said

pytestmark = pytest.mark.timeout(60)


def answered(place: Place, *titles: Said) -> tuple[EngineConversation, FakeEngine]:
    conversation, engine = place.open([Said("Teal."), *titles])
    play(conversation.send("What colour is the harbour?"))
    return conversation, engine


def title(conversation: EngineConversation) -> Session:
    ask = conversation.entitle()
    assert ask is not None
    return ask()


def stored(place: Place) -> History:
    return History.open(place.root / "history.db", now=lambda: 1_800_000_000_000)


def test_a_made_title_is_shown_and_finds_nothing(place: Place) -> None:
    conversation, engine = answered(place, Said("“The harbour”"))
    named = title(conversation)
    assert (named.title, named.made_title, named.label, named.name) == (
        "",
        "The harbour",
        "The harbour",
        named.id,
    )
    assert conversation.session == named
    asked = engine.requests[-1]
    assert asked.record is False
    assert [each["role"] for each in asked.messages] == ["user", "assistant", "user"]
    assert [each.role for each in conversation.messages()] == ["user", "assistant"]
    with stored(place) as history:
        assert history.session(named.id) == named
        assert history.find("The harbour") is None
        # A person's session of that name is another one.
        assert history.open_session("The harbour", folder=Path("/")).id != named.id


def test_it_is_asked_for_once(place: Place) -> None:
    conversation, _ = answered(place, Said("The harbour"))
    ask = conversation.entitle()
    assert ask is not None
    assert conversation.entitle() is None
    ask()
    assert conversation.entitle() is None
    conversation.close()
    again, _ = place.open()
    assert again.session.label == "The harbour"
    assert again.entitle() is None


def test_nothing_is_asked_before_a_whole_answer(place: Place) -> None:
    conversation, engine = place.open([Said("Te", raises=EngineDied("It died.")), Said("Teal.")])
    assert conversation.entitle() is None
    play(conversation.send("What colour?"))
    assert conversation.entitle() is None
    assert len(engine.requests) == 1
    play(conversation.regenerate())
    assert conversation.entitle() is not None


def test_what_a_person_called_it_stays(place: Place) -> None:
    conversation, _ = answered(place, Said("The harbour"))
    ask = conversation.entitle()
    assert ask is not None
    assert conversation.rename("Mine").name == "Mine"
    assert ask().label == "Mine"
    assert conversation.session.label == "Mine"
    assert conversation.rename("").label == "The harbour"
    with stored(place) as history:
        history.create_session(folder=Path("/"), title="Taken")
    with pytest.raises(HistoryError, match="exists already"):
        conversation.rename("Taken")
    assert conversation.session.title == ""


def test_a_named_session_is_not_named_again(place: Place) -> None:
    conversation, _ = answered(place)
    conversation.rename("Mine")
    assert conversation.entitle() is None


def test_without_an_answer_to_the_question_it_is_the_first_words(place: Place) -> None:
    conversation, _ = answered(place, Said(raises=EngineDied("It died.")))
    assert title(conversation).label == "What colour is the harbour?"


def test_a_title_that_is_stopped_is_not_kept(place: Place) -> None:
    reached = threading.Event()
    go_on = threading.Event()

    def wait() -> None:
        reached.set()
        assert go_on.wait(20)

    conversation, _ = answered(place, Said("The harbour", during=wait))
    told: list[Session | None] = []
    ended = threading.Event()

    def take(session: Session | None) -> None:
        told.append(session)
        ended.set()

    assert name_behind(conversation, take)
    assert reached.wait(20)
    conversation.close()
    go_on.set()
    assert ended.wait(20)
    assert told[0] is None or told[0].label == told[0].id
    with stored(place) as history:
        newest = history.newest()
        assert newest is not None
        assert newest.made_title == ""


def test_what_goes_wrong_is_nobodys_business(place: Place) -> None:
    conversation, _ = answered(place)  # the script has come to its end: a fault
    told: list[Session | None] = []
    ended = threading.Event()

    def take(session: Session | None) -> None:
        told.append(session)
        ended.set()

    assert name_behind(conversation, take)
    assert ended.wait(20)
    assert told == [None]
    assert not name_behind(conversation, take)


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(300)
def test_on_the_default_model_the_next_turn_reads_only_what_is_new(talks: Talks) -> None:
    conversation = talks.open(session=None, max_tokens=24)
    first = play(conversation.send("What colour is the sea?"))
    named = title(conversation)
    assert named.title == ""
    assert usable_title(named.made_title) == named.made_title != ""
    assert conversation.session == named
    (before,) = [each for each in first.events if isinstance(each, StepFinished)]
    (after,) = [
        each for each in play(conversation.send("And the sky?")).events if isinstance(each, StepFinished)
    ]
    assert after.usage.cached_tokens == before.usage.context_tokens
    assert after.usage.prefilled_tokens == after.usage.prompt_tokens - before.usage.context_tokens
    # The few tokens with which the question aside began are no loss to tell of.
    assert (after.cache.source, after.cache.miss_reason) == ("disk", None)


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(300)
def test_on_the_default_model_a_turn_goes_first_and_leaving_waits_for_none(talks: Talks) -> None:
    conversation = talks.open(session=None, max_tokens=24)
    (before,) = [
        each
        for each in play(conversation.send("What colour is the sea?")).events
        if isinstance(each, StepFinished)
    ]
    ended = threading.Event()
    assert name_behind(conversation, lambda _session: ended.set())
    turn = play(conversation.send("And the sky?"))
    (after,) = [each for each in turn.events if isinstance(each, StepFinished)]
    assert after.usage.cached_tokens == before.usage.context_tokens
    conversation.close()
    assert ended.wait(30)
