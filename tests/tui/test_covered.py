"""A question that comes while another screen is in front: it is told there, and nothing there answers it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets._toast import Toast

from skippy_chat.events import Event
from skippy_chat.notifying import ASKED, Notifier
from tests.fakes.conversation import Call, Decided, FakeConversation
from tests.tui.aids import aids_in
from tests.tui.asking import LONG, asked_about, cards, has_asked, has_focus, panel_of, press, turn_of
from tests.tui.screen import Desk, app_on

pytestmark = pytest.mark.timeout(180)


class Late(FakeConversation):
    """Comes to a call when it may."""

    def __init__(self, call: Call) -> None:
        super().__init__([turn_of(call)])
        self.may = threading.Event()

    def _call(self, call: Call) -> Iterator[Event]:
        assert self.may.wait(20)
        yield from super()._call(call)


async def opened(desk: Desk, command: str) -> None:
    """Begin a turn that calls a tool, and open a screen before the call is asked about."""
    desk.app._disable_notifications = False  # which Pilot does not want otherwise
    await desk.say("go")
    await desk.wait_until(lambda: cards(desk))
    await desk.say(command)
    await desk.wait_until(lambda: len(desk.app.screen_stack) == 2)


def signs(desk: Desk) -> list[str]:
    return [str(each.render()) for each in desk.app.screen.query(Toast)]


@pytest.mark.parametrize("command", ["/help", "/settings", "/theme", "/palette", "/history", "/cache"])
async def test_a_question_behind_a_screen_is_told_there_and_not_answered(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = Late(asked_about())
    aids = aids_in(tmp_path)
    async with app_on(conversation, aids=aids, size=(80, 24)) as desk:
        await opened(desk, command)
        conversation.may.set()
        await has_asked(desk)
        await desk.wait_until(lambda: signs(desk))
        assert "A call waits for your answer" in signs(desk)[0]
        for key in ("y", "s", "a", "n", "d", "space"):
            await press(desk, key)
            assert len(desk.app.screen_stack) == 2
        assert conversation.decisions == []
        assert not panel_of(desk).has_class("asking")
        with monkeypatch.context() as patch:
            # Else the moment after which it takes the focus may be over before anybody looks.
            patch.setattr("skippy_chat.tui.approval.QUIET_SECONDS", 600.0)
            while len(desk.app.screen_stack) > 1:
                await desk.pilot.press("escape")
            assert not panel_of(desk).has_class("asking")
        panel_of(desk).typed()
        await has_focus(desk)
        await desk.wait_until(lambda: not signs(desk))
        await press(desk, "y")
        await desk.ready()
        assert conversation.decisions == [Decided("c1", allowed=True)]
    aids.typed.close()


async def test_what_lies_behind_a_screen_was_not_seen() -> None:
    conversation = Late(asked_about())
    async with app_on(conversation) as desk:
        await opened(desk, "/help")
        conversation.may.set()
        await has_asked(desk)
        await desk.wait_until(lambda: signs(desk))
        assert not panel_of(desk)._seen
        await desk.pilot.press("escape")
        await has_focus(desk)
        await desk.wait_until(lambda: panel_of(desk)._seen)


async def test_a_long_question_behind_a_screen_is_read_before_it_is_allowed() -> None:
    conversation = Late(asked_about(LONG))
    async with app_on(conversation) as desk:
        await opened(desk, "/help")
        conversation.may.set()
        await has_asked(desk)
        await desk.wait_until(lambda: signs(desk))
        await desk.pilot.press("escape")
        await has_focus(desk)
        await press(desk, "y")
        assert conversation.decisions == []


async def test_the_sign_goes_when_the_turn_ends() -> None:
    conversation = Late(asked_about())
    async with app_on(conversation) as desk:
        await opened(desk, "/help")
        conversation.may.set()
        await has_asked(desk)
        await desk.wait_until(lambda: signs(desk))
        desk.app._turns.stop()
        await desk.ready()
        await desk.wait_until(lambda: not signs(desk))


async def test_whoever_looks_at_another_screen_is_told_as_one_who_looks_elsewhere() -> None:
    written: list[str] = []
    conversation = Late(asked_about())
    async with app_on(conversation, notifier=Notifier("osc9", 30.0, {}, written.append)) as desk:
        await opened(desk, "/help")
        conversation.may.set()
        await has_asked(desk)
        await desk.wait_until(lambda: written)
        assert ASKED in written[0]
