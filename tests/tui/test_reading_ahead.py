"""A stored session is on the screen while its model is loaded, and what is pressed meanwhile does no harm."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from skippy_chat.errors import ModelFileError, SessionNotFound
from skippy_chat.tui.bridge import OnProgress
from skippy_chat.tui.sessions import Choice
from tests.fakes.conversation import FakeConversation, FakeHeld, Turn
from tests.tui.screen import Desk, app_on

pytestmark = pytest.mark.timeout(180)


def talked() -> FakeConversation:
    talk = FakeConversation([Turn(("Later.",))])
    talk.add("assistant", "A lake.", talk.add("user", "Name one.", None).id)
    return talk


@asynccontextmanager
async def loading(
    talk: FakeConversation, may_open: threading.Event, stored: FakeHeld | None
) -> AsyncIterator[Desk]:
    def open_it(on_progress: OnProgress) -> FakeConversation:
        on_progress("loading the model", 1, 4)
        assert may_open.wait(30)
        return talk

    def read(session: str) -> FakeHeld:
        assert session == "01FAKE"
        if stored is None:
            raise SessionNotFound("It is gone.")
        return stored

    async with app_on(open_it, start=Choice("01FAKE"), stored=read, wait=False) as desk:
        try:
            await desk.wait_until(lambda: "loading" in desk.status and "25 %" in desk.status)
            yield desk
        finally:
            may_open.set()


async def test_the_branch_shows_before_the_model_is_there() -> None:
    talk, may_open = talked(), threading.Event()
    stored = FakeHeld(talk)
    async with loading(talk, may_open, stored) as desk:
        await desk.wait_until(lambda: desk.texts == ["Name one.", "A lake."])
        assert stored.closed == 1
        views = desk.transcript.views
        await desk.say("And a hill?")
        assert desk.queue
        may_open.set()
        await desk.wait_until(lambda: desk.texts[-2:] == ["And a hill?", "Later."])
        assert desk.transcript.views[:2] == views


@pytest.mark.parametrize(
    "keys",
    [
        ["shift+tab", "e"], ["shift+tab", "E"], ["ctrl+r"], ["up"], ["ctrl+t"], ["pageup", "end"], ["shift+tab", "y"],
        ["shift+tab", "left", "right"], ["escape"], ["ctrl+f"], ["ctrl+o"], ["alt+up"],
    ],
)  # fmt: skip
async def test_what_is_pressed_meanwhile_does_no_harm(keys: list[str]) -> None:
    talk, may_open = talked(), threading.Event()
    async with loading(talk, may_open, FakeHeld(talk)) as desk:
        await desk.wait_until(lambda: desk.texts == ["Name one.", "A lake."])
        await desk.pilot.press(*keys)
        await desk.pilot.pause()
        await desk.pilot.press("escape", "escape")
        may_open.set()
        await desk.ready()
        assert desk.texts[:2] == ["Name one.", "A lake."]
        desk.composer.put("")
        await desk.say("And a hill?")
        await desk.wait_until(lambda: desk.texts[-1] == "Later.")


@pytest.mark.parametrize(
    "command", ["/regenerate", "/goto 1", "/copy", "/branch", "/cache", "/remove", "/amend x", "/undo"]
)
async def test_a_command_meanwhile_does_no_harm(command: str) -> None:
    talk, may_open = talked(), threading.Event()
    async with loading(talk, may_open, FakeHeld(talk)) as desk:
        await desk.wait_until(lambda: desk.texts == ["Name one.", "A lake."])
        await desk.say(command)
        await desk.pilot.press("escape", "escape")
        may_open.set()
        await desk.ready()
        assert desk.texts[:2] == ["Name one.", "A lake."]


async def test_what_cannot_be_read_ahead_is_shown_when_it_is_open() -> None:
    talk, may_open = talked(), threading.Event()
    async with loading(talk, may_open, None) as desk:
        assert desk.texts == []
        may_open.set()
        await desk.wait_until(lambda: desk.texts == ["Name one.", "A lake."])


async def test_a_model_that_fails_ends_it_as_before() -> None:
    talk = talked()

    def open_it(_on_progress: OnProgress) -> FakeConversation:
        raise ModelFileError("No such model.", "Give another.")

    async with app_on(
        open_it, start=Choice("01FAKE"), stored=lambda _session: FakeHeld(talk), wait=False
    ) as desk:
        await desk.wait_until(lambda: desk.app.failure is not None)
