"""A session that another program writes: read, brought up to date, forked, or opened once it is free."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from skippy_chat.agent.protocol import Fork
from skippy_chat.errors import ModelFileError, SessionLocked
from skippy_chat.tui.bridge import OnProgress
from skippy_chat.tui.sessions import Choice, SessionPicker
from tests.fakes.conversation import FakeConversation, FakeHeld, Turn
from tests.tui.screen import Desk, app_on, overview

pytestmark = pytest.mark.timeout(180)

LOCKED = SessionLocked("Another skippy-chat writes it.", "Wait.", "01S1", 4711)
WRITES = "Another skippy-chat (process 4711) writes this session."


@dataclass
class World:
    """A session that another program holds until it is ``free``; opening then, or a fork, gives ``conversation``."""

    other: FakeConversation = field(default_factory=FakeConversation)
    conversation: FakeConversation = field(default_factory=lambda: FakeConversation([Turn(("Mine.",))]))
    free: bool = False
    failure: Exception | None = None
    looks: list[FakeHeld] = field(default_factory=list)
    attempts: int = 0
    found_out: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.found_out.set()
        self.other.add("assistant", "Paris.", self.other.add("user", "France?", None).id)

    def open(self, _on_progress: OnProgress) -> FakeConversation:
        self.attempts += 1
        self.found_out.wait(30)
        if self.failure is not None:
            raise self.failure
        if not self.free:
            raise LOCKED
        return self.conversation

    def look(self) -> FakeHeld:
        self.looks.append(FakeHeld(self.other))
        return self.looks[-1]


def held_by_another(desk: Desk) -> Callable[[], bool]:
    return lambda: "read-only" in desk.status


async def test_it_shows_the_transcript_and_who_writes_it_and_takes_no_text() -> None:
    world = World()
    async with app_on(world.open, start=Choice("01S1"), wait=False, held=world.look) as desk:
        await desk.wait_until(held_by_another(desk))
        assert desk.texts == ["France?", "Paris."]
        assert WRITES in desk.status
        banner = desk.app.query_one("#banner")
        assert banner.display
        assert "f goes on in a copy" in str(banner.render())
        await desk.type("hello")
        await desk.pilot.press("enter")
        assert desk.composer.text == ""
        assert desk.queue == ""
        assert [each.closed for each in world.looks] == [1]
        await desk.pilot.press("ctrl+d")
        await desk.wait_until(lambda: desk.app.return_code == 0)
    assert world.other.asked == world.conversation.asked == []


async def test_what_its_writer_says_meanwhile_shows_when_asked_for() -> None:
    world = World()
    async with app_on(world.open, start=Choice("01S1"), wait=False, held=world.look) as desk:
        await desk.wait_until(held_by_another(desk))
        await desk.pilot.press("u")
        await desk.wait_until(lambda: "Nothing new." in desk.status)
        head = world.other.messages()[-1].id
        world.other.add("assistant", "Rome.", world.other.add("user", "Italy?", head).id)
        assert desk.texts == ["France?", "Paris."]
        await desk.pilot.press("u")
        await desk.wait_until(lambda: "2 new messages." in desk.status)
        assert desk.texts == ["France?", "Paris.", "Italy?", "Rome."]
        assert world.attempts == 1


async def test_an_answer_that_is_being_written_is_not_called_broken_off() -> None:
    world = World()
    last = world.other.messages()[-1]
    world.other._tree[last.id] = replace(last, state="interrupted")
    async with app_on(world.open, start=Choice("01S1"), wait=False, held=world.look) as desk:
        await desk.wait_until(held_by_another(desk))
        assert desk.texts == ["France?", "Paris."]
        assert "Still answering?" in desk.status


async def test_a_fork_goes_on_at_what_was_shown() -> None:
    world = World()
    async with app_on(world.open, start=Choice("01S1"), wait=False, held=world.look) as desk:
        await desk.wait_until(held_by_another(desk))
        world.other.add("user", "not seen yet", world.other.messages()[-1].id)
        world.free = True
        await desk.pilot.press("f")
        await desk.ready()
        assert desk.chosen == [Choice("01S1"), Choice(fork=Fork("01FAKE", "M2"))]
        assert "This is a copy" in desk.status
        assert not desk.app.query_one("#banner").display
        await desk.type("hello f t u")  # letters are letters again
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: world.conversation.ended == 1)
        assert world.conversation.asked == ["hello f t u"]
    assert world.other.asked == []


async def test_what_was_typed_and_queued_before_waits_for_a_choice() -> None:
    world = World()
    world.found_out.clear()
    async with app_on(world.open, start=Choice("01S1"), wait=False, held=world.look) as desk:
        await desk.say("queued")
        await desk.type("draft")
        world.found_out.set()
        await desk.wait_until(held_by_another(desk))
        assert "held: queued" in desk.queue
        world.free = True
        await desk.pilot.press("f")
        await desk.wait_until(lambda: " ready" in desk.status)
        assert world.conversation.asked == []
        assert "held: queued" in desk.queue
        assert desk.composer.text == "draft"
        await desk.pilot.press("ctrl+c", "enter")
        await desk.wait_until(lambda: world.conversation.asked == ["queued"])


async def test_trying_again_opens_it_once_its_writer_has_ended() -> None:
    world = World()
    async with app_on(world.open, start=Choice("01S1"), wait=False, held=world.look) as desk:
        await desk.wait_until(held_by_another(desk))
        await desk.pilot.press("t")
        await desk.wait_until(lambda: world.attempts == 2 and "read-only" in desk.status)
        assert WRITES in desk.status
        world.free = True
        await desk.pilot.press("t")
        await desk.ready()
        assert desk.chosen == [Choice("01S1")] * 3
        await desk.say("hello")
        await desk.wait_until(lambda: world.conversation.ended == 1)


async def test_editing_and_switching_are_refused_with_the_mend() -> None:
    world = World()
    question = world.other.messages()[0]
    world.other.edit(question.id, "Spain?")
    world.other.switch(question.id)
    async with app_on(world.open, start=Choice("01S1"), wait=False, held=world.look) as desk:
        await desk.wait_until(held_by_another(desk))
        await desk.pilot.press("shift+tab", "up", "e")
        await desk.wait_until(lambda: "Read-only: go on in a copy first (f), then edit." in desk.status)
        await desk.pilot.press("right")
        await desk.wait_until(lambda: "then switch." in desk.status)
        await desk.pilot.press("ctrl+r")
        assert world.other.asked == ["edit M1", "Spain?"]


async def test_a_fork_that_cannot_be_opened_is_told_and_reading_goes_on() -> None:
    world = World()
    async with app_on(world.open, start=Choice("01S1"), wait=False, held=world.look) as desk:
        await desk.wait_until(held_by_another(desk))
        world.failure = ModelFileError("No such model.", "Give --model.")
        await desk.pilot.press("f")
        await desk.wait_until(lambda: "No such model. Give --model." in desk.status)
        assert desk.texts == ["France?", "Paris."]
        world.failure, world.free = None, True
        await desk.pilot.press("t")
        await desk.ready()


async def test_a_session_that_is_gone_ends_the_app_with_the_reason() -> None:
    world = World()
    async with app_on(world.open, start=Choice("01S1"), wait=False) as desk:
        await desk.wait_until(lambda: desk.app.failure is not None)
        assert "No session is held." in str(desk.app.failure)


async def test_from_the_picker_too() -> None:
    world = World()
    async with app_on(world.open, sessions=[overview(1, "France?")], wait=False, held=world.look) as desk:
        await desk.over(SessionPicker)
        await desk.pilot.press("down", "enter")
        await desk.wait_until(held_by_another(desk))
        assert desk.texts == ["France?", "Paris."]
