"""Looking ahead, and at what is kept: through the conversation that a face holds."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator

import pytest
from typing_extensions import Self

from skippy_chat.agent.conversation import EngineConversation
from skippy_chat.agent.looking import KEPT_MISSES, Misses
from skippy_chat.agent.tools.function import tool
from skippy_chat.chat.messages import Message
from skippy_chat.engine.questions import Foreseen, ForeseeQuestion, TreeQuestion
from skippy_chat.errors import EngineDied, SkippyError, UsageError
from skippy_chat.events import Event, MissReason, PrefillStarted, TextDelta, TurnStarted
from tests.agent.conftest import Talks, play
from tests.agent.loops import Place
from tests.fakes.engine import Said

LONG = "Tell me about the sea, its tides, its colours and its storms. " * 8


def reading(events: Iterator[Event]) -> PrefillStarted:
    """Follow a turn to its end; return what its first step was to read."""
    return next(each for each in play(events).events if isinstance(each, PrefillStarted))


def same(told: Foreseen, started: PrefillStarted) -> bool:
    return (told.prompt_tokens, told.cached_tokens, told.source, told.miss_reason) == (
        started.prompt,
        started.cached,
        started.source,
        started.miss_reason,
    )


def questions(conversation: EngineConversation) -> list[Message]:
    return [each for each in conversation.messages() if each.role == "user"]


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(240)
def test_a_text_costs_what_was_foretold(talks: Talks) -> None:
    """The first message, the next, an edit, the same again on the other branch, and all that in a new process."""
    talk = talks.open()
    assert same(talk.foresee(LONG), reading(talk.send(LONG)))
    assert same(talk.foresee("And the shore?"), reading(talk.send("And the shore?")))
    first, second = questions(talk)
    told = talk.foresee("And the sky?", second.id)
    assert same(told, reading(talk.edit(second.id, "And the sky?")))
    assert 0 < told.cached_tokens < told.prompt_tokens
    assert told.seconds is not None
    assert told.seconds > 0
    talk.switch(second.id)
    assert same(talk.foresee("Go on."), reading(talk.send("Go on.")))
    talk.close()

    again = talks.open()
    assert again.foresee("Go on.").seconds is None  # this worker has read nothing
    costs = {each.message: each for each in again.checkpoints().tree.edits}
    at = [each.id for each in again.messages()].index(first.id)
    told = again.foresee("Now something else.", first.id)
    assert told.cached_tokens == costs[at].resumes
    assert same(told, reading(again.edit(first.id, "Now something else.")))
    missed = again.checkpoints().misses
    assert [(each.step, each.message) for each in missed] == [(1, questions(again)[0].id)]
    assert missed[0].reason == told.miss_reason


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(240)
def test_what_is_kept_is_told_with_its_messages_while_an_answer_is_written(talks: Talks) -> None:
    talk = talks.open(max_tokens=200)
    play(talk.send(LONG))
    other = questions(talk)[0]
    play(talk.edit(other.id, "Something short."))
    turn = talk.send("And then?")
    for event in turn:
        if isinstance(event, TextDelta):
            break
    kept = talk.checkpoints()  # while the turn waits to be read, and its answer is being written
    assert len(kept.branches) == 2
    assert [each.id for each in kept.branches[0]] == [each.id for each in talk.messages() if each.id][
        : len(kept.branches[0])
    ]
    own = {kept.message(node).content for node in kept.tree.nodes if node.branch == 1 and kept.message(node)}  # type: ignore[union-attr]
    assert LONG in own
    assert "Something short." not in own
    assert kept.tree.bytes > 0
    talk.cancel()
    play(turn)


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"{city} has sun."


class Watcher:
    """Looks at a conversation as often as it can, on a thread of its own."""

    def __init__(self, talk: EngineConversation) -> None:
        self._talk = talk
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.looks = 0
        self.failed: list[SkippyError] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join(60)

    def _run(self) -> None:
        try:
            while not self._done.is_set():
                self._talk.foresee("And then?")
                self._talk.checkpoints()
                self.looks += 1
        except SkippyError as error:
            self.failed.append(error)


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(240)
def test_looking_all_the_time_changes_no_answer(talks: Talks) -> None:
    """Templates are rendered and answers parsed on two threads of the worker; the words stay the same."""
    asked = ["What is the weather in Paris?", LONG, "And in Rome? " * 20]

    def answers(talk: EngineConversation) -> list[str]:
        return [play(talk.send(text)).text for text in asked]

    quiet = talks.open(session="quiet", max_tokens=24, functions=(weather,))
    said = answers(quiet)
    quiet.close()
    shutil.rmtree(talks.root / "cache" / "checkpoints")
    talk = talks.open(session="watched", max_tokens=24, functions=(weather,))
    with Watcher(talk) as watcher:
        assert answers(talk) == said
    assert not watcher.failed
    assert watcher.looks > len(asked)


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(240)
def test_no_worker_nothing_told(talks: Talks) -> None:
    talk = talks.open("kill", 2)
    assert play(talk.send("Hello")).death is not None
    with pytest.raises(EngineDied):
        talk.foresee("Hello?")


def test_only_a_message_of_the_users_is_foreseen_as_edited(place: Place) -> None:
    talk, _ = place.open([Said("Yes.")])
    play(talk.send("Hello"))
    with pytest.raises(UsageError):
        talk.foresee("No.", talk.messages()[-1].id)


def test_what_is_asked_about_is_what_would_be_sent(place: Place) -> None:
    talk, engine = place.open([Said("Yes."), Said("No."), Said("Well.")])
    play(talk.send("Hello"))
    for text, message in (("Next", None), ("Hi", questions(talk)[0].id)):
        talk.foresee(text, message)
        play(talk.send(text) if message is None else talk.edit(message, text))
        question, sent = engine.questions[-1], engine.requests[-1]
        assert isinstance(question, ForeseeQuestion)
        for name in ("messages", "answers", "tools", "now", "thinking", "json_schema", "cache", "replay"):
            assert getattr(question.step, name) == getattr(sent, name)
    talk.checkpoints()
    question = engine.questions[-1]
    assert isinstance(question, TreeQuestion)
    assert [each.messages[-2]["content"] for each in question.branches] == ["Hi", "Next"]


def test_nothing_is_asked_of_branches_in_which_nothing_was_said(place: Place) -> None:
    talk, engine = place.open()
    talk.checkpoints()
    assert engine.questions == [TreeQuestion([])]


def test_misses_are_kept_with_their_step_and_the_oldest_go() -> None:
    misses = Misses()
    reason = MissReason("evicted")
    misses.take(PrefillStarted(turn="other", miss_reason=reason))  # a replay: no turn of this session began
    assert misses.newest() == ()
    for turn in range(KEPT_MISSES):
        misses.take(TurnStarted(turn=f"t{turn}", message=f"m{turn}"))
        misses.take(PrefillStarted(turn=f"t{turn}", prompt=9, cached=9))
        misses.take(PrefillStarted(turn=f"t{turn}", prompt=9, cached=4, miss_reason=reason))
        misses.take(PrefillStarted(turn=f"t{turn}", prompt=9, cached=3, miss_reason=reason))
    kept = misses.newest()
    assert len(kept) == KEPT_MISSES
    assert (kept[-1].turn, kept[-1].message, kept[-1].step, kept[-1].cached_tokens) == ("t31", "m31", 3, 3)
    assert kept[0].turn == f"t{KEPT_MISSES // 2}"
