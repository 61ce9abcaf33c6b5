"""When the app tells through the terminal that something is there."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest
from textual import events

from skippy_chat.agent.protocol import TurnOptions
from skippy_chat.errors import ContextFull
from skippy_chat.events import Event, TextDelta
from skippy_chat.notifying import ANSWERED, ASKED, FAILED, Notifier
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.asking import asked_about, has_asked, has_focus, press, turn_of
from tests.tui.screen import Desk, app_on

pytestmark = pytest.mark.timeout(60)


class Written(list[str]):
    """What was written to the terminal."""

    @property
    def notifier(self) -> Notifier:
        return Notifier("osc9", 30.0, {}, self.append)

    @property
    def told(self) -> list[str]:
        return [each.removeprefix("\x1b]9;skippy-chat: ").removesuffix("\x07") for each in self]


class Slow(FakeConversation):
    """Answers when the gate is open."""

    def __init__(self, gate: threading.Event, turns: Sequence[Turn]) -> None:
        super().__init__(turns)
        self._gate = gate

    def send(self, text: str, options: TurnOptions | None = None) -> Iterator[Event]:
        for event in super().send(text, options):
            if isinstance(event, TextDelta):
                assert self._gate.wait(20)
            yield event


async def _look_away(desk: Desk) -> None:
    desk.app.post_message(events.AppBlur())
    await desk.wait_until(lambda: not desk.app.app_focus)


async def test_a_short_answer_is_told_only_to_who_looks_elsewhere() -> None:
    written = Written()
    conversation = FakeConversation([Turn(("One.",)), Turn(("Two.",))])
    async with app_on(conversation, notifier=written.notifier) as desk:
        await desk.say("a")
        await desk.ready()
        assert written.told == []
        desk.composer.put("b")
        await _look_away(desk)
        desk.composer.action_submit()
        await desk.wait_until(lambda: written)
        assert written.told == [ANSWERED]


async def test_a_long_answer_is_told_in_any_case() -> None:
    written = Written()
    gate = threading.Event()
    async with app_on(Slow(gate, [Turn(("One.",))]), notifier=written.notifier) as desk:
        await desk.say("a")
        await desk.wait_until(lambda: "ready" not in desk.status)
        desk.clock[0] += 30
        gate.set()
        await desk.ready()
        assert written.told == [ANSWERED]


async def test_one_alert_for_a_queue_of_messages() -> None:
    written = Written()
    gate = threading.Event()
    conversation = Slow(gate, [Turn(("One.",)), Turn(("Two.",))])
    async with app_on(conversation, notifier=written.notifier) as desk:
        await desk.say("a")
        await desk.say("b")
        await _look_away(desk)
        gate.set()
        await desk.wait_until(lambda: "Two." in desk.texts)
        await desk.ready()
        assert written.told == [ANSWERED]


async def test_a_question_is_told_and_the_persons_time_is_no_work() -> None:
    written = Written()
    async with app_on(FakeConversation([turn_of(asked_about())]), notifier=written.notifier) as desk:
        desk.composer.put("go")
        await _look_away(desk)
        desk.composer.action_submit()
        await has_asked(desk)
        await desk.wait_until(lambda: written)
        assert written.told == [ASKED]
        desk.app.post_message(events.AppFocus())
        await has_focus(desk)
        desk.clock[0] += 1000
        await press(desk, "y")
        await desk.ready()
        assert written.told == [ASKED]


async def test_a_turn_that_the_person_stops_is_not_told() -> None:
    written = Written()
    async with app_on(FakeConversation([Turn(endless=True)]), notifier=written.notifier) as desk:
        await desk.say("a")
        await desk.wait_until(lambda: "writing" in desk.status)
        desk.clock[0] += 1000
        await desk.pilot.press("escape")
        await desk.ready()
        assert written.told == []


async def test_a_turn_that_fails_is_told_as_what_it_is() -> None:
    written = Written()
    conversation = FakeConversation([Turn(fails=ContextFull("It does not fit.", "Shorten it."))])
    async with app_on(conversation, notifier=written.notifier) as desk:
        desk.composer.put("a")
        await _look_away(desk)
        desk.composer.action_submit()
        await desk.wait_until(lambda: written)
        assert written.told == [FAILED]


async def test_what_is_no_turn_is_not_told() -> None:
    written = Written()
    async with app_on(FakeConversation(), notifier=written.notifier) as desk:
        await _look_away(desk)
        desk.composer.put("/rename other")
        desk.composer.action_submit()
        await desk.wait_until(lambda: "other" in desk.status)
        await desk.ready()
        assert written.told == []
