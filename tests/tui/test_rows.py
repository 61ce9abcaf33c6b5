"""Lists to choose from on screens that leave them no room, and how they are left."""

from __future__ import annotations

from pathlib import Path

import pytest

from skippy_chat.tui.sessions import Choice
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.aids import aids_in
from tests.tui.screen import app_on, overview

pytestmark = pytest.mark.timeout(180)

TWO = Turn(("```python\nprint(1)\n```\nor\n```sh\necho 1\n```",))


@pytest.mark.parametrize(
    "command",
    ["/settings", "/theme", "/palette", "/history", "/sessions", "/copy-code", "/help", "/cache"],
)
async def test_a_screen_without_room_takes_keys_and_ctrl_c_closes_it(command: str, tmp_path: Path) -> None:
    aids = aids_in(tmp_path)
    aids.typed.add("typed before")
    sessions = [overview(number, "hello") for number in range(3)]
    async with app_on(FakeConversation([TWO]), aids=aids, sessions=sessions, start=Choice()) as desk:
        await desk.say("Print one.")
        await desk.ready()
        await desk.say(command)
        await desk.wait_until(lambda: len(desk.app.screen_stack) == 2 and desk.app.focused)
        for size in ((40, 10), (20, 5), (10, 3), (40, 10)):
            await desk.pilot.resize_terminal(*size)
            await desk.wait_until(lambda size=size: tuple(desk.app.size) == size)  # type: ignore[misc]
            await desk.pilot.press("down", "pagedown", "pageup", "up")
        await desk.pilot.press("ctrl+c")
        await desk.wait_until(lambda: len(desk.app.screen_stack) == 1)
        assert desk.app.is_running
    aids.typed.close()
