"""Room: what the context holds, by kind, adds up to the prompt that is read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from skippy_chat.agent.protocol import TurnOptions
from skippy_chat.agent.room import Room
from skippy_chat.errors import ContextFull, EngineDied
from skippy_chat.events import PrefillStarted
from skippy_chat.sampling import Sampling
from tests.agent.conftest import Talks, play
from tests.agent.loops import Place
from tests.agent.test_leaving_out import report
from tests.fakes.engine import LOADED, Said, call


def test_a_prompt_and_one_token_must_fit() -> None:
    room = Room(99, 100, 0, 0, 99, 0)
    assert room.over == 0
    assert replace(room, used=100).over == 1
    assert replace(room, used=120).over == 21


def test_a_session_without_a_word_fills_nothing(place: Place) -> None:
    talk, engine = place.open()
    assert talk.room() == Room(0, LOADED.context_size, 0, 0, 0, 0)
    assert engine.questions == []


def test_kinds_add_up(place: Place) -> None:
    script = [
        Said("", (call("c1", "report", topic="tea"),)),
        Said("One."),
        Said("", (call("c2", "report", topic="milk"),)),
        Said("Two."),
    ]
    talk, engine = place.open(script, place.box(tools=[report]))
    play(talk.send("1"))
    play(talk.send("2"))
    room = talk.room()
    sizes = {each.id: len(json.dumps(each.to_openai()).encode()) for each in talk.messages()}
    assert room.results == sum(sizes[each.id] for each in talk.messages() if each.role == "tool")
    assert room.tools == len(json.dumps(engine.requests[-1].tools).encode())
    assert room.system == 0
    assert room.used == room.system + room.tools + room.messages + room.results
    assert room.used == sum(sizes.values()) + room.tools + 2
    used = room.used
    assert talk.drop_results().tokens == room.droppable > 0
    assert talk.room().used == used - room.droppable
    assert talk.room().droppable == 0


def test_a_message_that_did_not_fit_is_counted(place: Place) -> None:
    talk, _ = place.open([Said("One."), Said(raises=ContextFull("Too long."))])
    play(talk.send("1"))
    before = talk.room().used
    with pytest.raises(ContextFull):
        play(talk.send("2" * LOADED.context_size))
    room = talk.room()
    assert room.used > before + LOADED.context_size
    assert room.over == room.used + 1 - LOADED.context_size


def test_sampling_is_for_one_turn_and_all_its_steps(place: Place) -> None:
    script = [
        Said("One."),
        Said("", (call("c1", "report", topic="tea"),)),
        Said("Two."),
        Said("Three."),
    ]
    talk, engine = place.open(script, place.box(tools=[report]))
    usual = talk.sampling()
    wished = replace(usual, temperature=1.5, seed=7)
    play(talk.send("1"))
    play(talk.regenerate(TurnOptions(sampling=wished)))
    play(talk.send("3"))
    assert [each.sampling for each in engine.requests] == [usual, wished, wished, usual]


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(240)
def test_what_is_told_is_what_is_read(talks: Talks) -> None:
    talk = talks.open(max_tokens=64, functions=(report,), context=2048)
    assert talk.model.trained_context >= talk.model.context_size == 2048
    play(talk.send("Call report with the topic tea.", TurnOptions(tool_choice="required")))
    room = talk.room()
    assert min(room.system, room.tools, room.messages, room.results) > 0
    assert room.used == room.system + room.tools + room.messages + room.results
    started = next(each for each in play(talk.regenerate()).events if isinstance(each, PrefillStarted))
    asked = talk.room()
    assert started.prompt < room.used
    assert asked.tools == room.tools
    assert asked.system == room.system


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(240)
def test_it_says_by_how_much_a_message_does_not_fit(talks: Talks) -> None:
    talk = talks.open(context=512)
    play(talk.send("Hello."))
    with pytest.raises(ContextFull, match="too many") as full:
        play(talk.send("word " * 600))
    room = talk.room()
    assert f"{room.used:,} tokens" in full.value.message
    assert f"{room.over:,} too many" in full.value.message


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(240)
def test_another_sampling_gives_another_answer_and_replays(talks: Talks) -> None:
    talk = talks.open(max_tokens=16)
    first = play(talk.send("Tell me a story.")).text
    wished = Sampling(temperature=2.0, top_k=0, top_p=1.0, min_p=0.0, seed=5)
    second = play(talk.regenerate(TurnOptions(sampling=wished))).text
    assert second != first
    assert play(talk.regenerate(TurnOptions(sampling=wished))).text == second
    report_ = list(talk.replay())[-1]
    assert getattr(report_, "same_ids", False)
    assert play(talk.regenerate()).text == first


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(240)
def test_no_worker_nothing_told(talks: Talks) -> None:
    talk = talks.open("kill", 2)
    assert play(talk.send("Hello")).death is not None
    with pytest.raises(EngineDied):
        talk.room()
