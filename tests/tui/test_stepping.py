"""Up and Down go from message to message, also where the transcript is longer than the screen."""

from __future__ import annotations

import pytest

from tests.fakes.conversation import FakeConversation
from tests.tui.screen import Desk, app_on

pytestmark = pytest.mark.timeout(180)


def long_conversation() -> FakeConversation:
    conversation = FakeConversation()
    parent = None
    for number in range(40):
        role = "assistant" if number % 2 else "user"
        parent = conversation.add(role, f"message {number}\n\nof two paragraphs", parent).id  # type: ignore[arg-type]
    return conversation


async def stepped(desk: Desk, key: str, to: int) -> None:
    await desk.pilot.press(key)
    await desk.wait_until(lambda: desk.app.focused is desk.transcript.views[to])


async def test_up_and_down_step_by_messages_and_end_leaves_them_at_the_end() -> None:
    async with app_on(long_conversation()) as desk:
        await desk.wait_until(lambda: desk.transcript.max_scroll_y > 0)
        await stepped(desk, "shift+tab", -1)
        for back in range(2, 20):
            await stepped(desk, "up", -back)
        await stepped(desk, "down", -18)
        await desk.pilot.press("end")
        await desk.wait_until(lambda: desk.transcript.following)


async def test_another_version_stays_in_sight() -> None:
    conversation = long_conversation()
    first = conversation.messages()[2].id
    conversation.add("user", "another second question", conversation.messages()[1].id)
    async with app_on(conversation) as desk:
        await stepped(desk, "shift+tab", -1)
        await desk.pilot.press("left")
        await desk.wait_until(lambda: getattr(desk.app.focused, "message_id", "") == first)
        await desk.ready()
        view = desk.transcript.find(first)
        assert view is not None
        await desk.wait_until(lambda: view.virtual_region.height)
        await desk.wait_until(lambda: desk.transcript.max_scroll_y > desk.transcript.size.height)
        await desk.wait_until(
            lambda: (
                desk.transcript.scroll_y
                <= view.virtual_region.y
                < desk.transcript.scroll_y + desk.transcript.size.height
            )
        )
