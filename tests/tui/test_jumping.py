"""From message to message by keys and numbers, in a bounded window."""

from __future__ import annotations

import pytest

from skippy_chat.tui.composer import Composer
from skippy_chat.tui.message import MessageView
from skippy_chat.tui.transcript import LIMIT
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.screen import Desk, app_on
from tests.tui.test_history import long_talk, numbers, screen_text

pytestmark = pytest.mark.timeout(180)


def at(desk: Desk) -> int:
    """Return the number of the message that has the focus; -1 while none has it."""
    focused = desk.app.focused
    return int(focused.plain.split()[1]) if isinstance(focused, MessageView) else -1


def shows(desk: Desk, number: int) -> bool:
    return f"message {number} " in screen_text(desk) + " "


async def test_above_and_below_go_from_question_to_question() -> None:
    async with app_on(long_talk(1000)) as desk:
        await desk.pilot.press("alt+up")
        await desk.wait_until(lambda: at(desk) == 998)
        assert "Your message 500 of 500." in desk.status
        await desk.pilot.press("alt+up", "[")
        await desk.wait_until(lambda: at(desk) == 994)
        await desk.pilot.press("down", "[")
        await desk.wait_until(lambda: at(desk) == 994)
        await desk.pilot.press("]", "]", "alt+down")
        await desk.wait_until(lambda: isinstance(desk.app.focused, Composer))
        await desk.wait_until(lambda: desk.transcript.following)
        assert "below your 500 messages" in desk.status


async def test_numbers_and_both_ends_are_reached_from_anywhere() -> None:
    async with app_on(long_talk(1000)) as desk:
        for argument, number in (("3", 4), ("250", 498), ("first", 0), ("last", 999), ("500", 998)):
            desk.composer.focus()
            await desk.say(f"/goto {argument}")
            await desk.wait_until(lambda number=number: at(desk) == number and shows(desk, number))  # type: ignore[misc]
            shown = numbers(desk)
            assert shown == list(range(shown[0], shown[-1] + 1))
            assert len(shown) <= LIMIT
        await desk.pilot.press("home")
        await desk.wait_until(lambda: at(desk) == 0 and shows(desk, 0))
        await desk.pilot.press("end")
        await desk.wait_until(lambda: shows(desk, 999))
        desk.composer.focus()
        await desk.say("/goto 501")
        assert "Give a number up to 500, first or last" in desk.status
        assert desk.composer.text == "/goto 501"


async def test_following_stays_paused_where_one_has_gone() -> None:
    pieces = tuple(f"line {number}\n\n" for number in range(60))
    async with app_on(long_talk(300, [Turn(pieces, endless=True)])) as desk:
        await desk.say("go")
        await desk.wait_until(lambda: "line 59" in desk.texts[-1])
        await desk.say("/goto 100")
        await desk.wait_until(lambda: at(desk) == 198 and shows(desk, 198))
        assert not desk.transcript.following
        where = desk.transcript.scroll_y
        await desk.pilot.pause(0.3)
        assert desk.transcript.scroll_y == where
        await desk.pilot.press("escape", "escape")
        await desk.ready()
        assert shows(desk, 198)
        await desk.pilot.press("end")
        await desk.wait_until(lambda: "line 59" in screen_text(desk))
        assert "Stopped" in desk.texts[-1]


async def test_in_an_empty_session_there_is_nowhere_to_go() -> None:
    async with app_on(FakeConversation()) as desk:
        await desk.pilot.press("alt+up")
        assert "You have written no message yet." in desk.status
        await desk.say("/goto 1")
        assert "You have written no message yet." in desk.status
