"""Scenes around a session: choosing one, waiting for the model, one that another program writes."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from dataclasses import replace

from textual.widgets import OptionList

from skippy_chat.errors import SessionLocked
from skippy_chat.tui.bridge import OnProgress
from skippy_chat.tui.sessions import Choice, SessionPicker
from tests.fakes.conversation import FakeConversation, FakeHeld
from tests.snapshots.scene import Scene, Size, scene
from tests.tui.screen import PATIENCE, Desk, FakeShelf, app_on, overview


@scene
async def picker(size: Size) -> AsyncIterator[Desk]:
    known = [
        overview(1, "Where does the light come from?", title="lighthouse"),
        overview(2, "Write me a letter to the harbour master, please", made="A letter to the harbour"),
        overview(3, "What is the tide doing?"),
    ]
    async with app_on(FakeConversation(), size=size, sessions=known, wait=False) as desk:
        await desk.over(SessionPicker)
        await desk.pilot.press("down")
        yield desk


@scene
async def picker_within(size: Size) -> AsyncIterator[Desk]:
    far = overview(4, "What is the harbour for?", title="quay")
    known = [
        overview(1, "Where is the harbour?", title="lighthouse"),
        overview(2, "What is the tide doing in the harbour?"),
        replace(far, session=replace(far.session, folder="/home/me/boats")),
    ]
    shelf = FakeShelf(known)
    conversation = FakeConversation(session=known[0].session)
    async with app_on(conversation, size=size, start=Choice("01S1"), shelf=shelf) as desk:
        await desk.pilot.press("ctrl+l")
        picker = await desk.over(SessionPicker)
        await desk.type("harbour")
        await desk.wait_until(lambda: picker._shown_for == "harbour")
        await desk.pilot.press("ctrl+x")
        await desk.wait_until(lambda: shelf.deleted and len(picker.query_one(OptionList).options) == 4)
        yield desk


@scene
async def read_only(size: Size) -> AsyncIterator[Desk]:
    other = FakeConversation()
    other.add("assistant", "Paris.", other.add("user", "What is the capital of France?", None).id)
    may = threading.Event()

    def refuse(_on_progress: OnProgress) -> FakeConversation:
        assert may.wait(PATIENCE)
        raise SessionLocked("Another skippy-chat writes it.", "Wait.", "01S1", 4711)

    held = FakeHeld(other)
    async with app_on(refuse, size=size, start=Choice("01S1"), wait=False, held=lambda: held) as desk:
        # Only when the app stands: the focus that it gives at its start would go to the message otherwise.
        await desk.wait_until(lambda: desk.app.focused is desk.composer)
        may.set()
        await desk.wait_until(lambda: "read-only" in desk.status)
        yield desk


@scene
async def loading(size: Size) -> AsyncIterator[Desk]:
    go_on = threading.Event()

    def load(on_progress: OnProgress) -> FakeConversation:
        on_progress("the model", 42, 100)
        go_on.wait(30)
        return FakeConversation()

    async with app_on(load, size=size, start=Choice(), wait=False) as desk:
        await desk.wait_until(lambda: "42 %" in desk.status)
        await desk.type("typed ahead")
        yield desk
        go_on.set()


SCENES = (
    Scene("picker", picker),
    Scene("picker-within", picker_within),
    Scene("read-only", read_only),
    Scene("loading", loading),
)
