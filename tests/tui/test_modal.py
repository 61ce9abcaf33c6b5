"""A screen over the app sets itself up once its parts stand, and not at all where the program ends before."""

from __future__ import annotations

import asyncio

import pytest
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList

from skippy_chat.tui.modal import Modal
from skippy_chat.tui.sessions import SessionPicker
from tests.fakes.conversation import FakeConversation
from tests.tui.screen import FakeShelf, app_on


class Listing(Modal[None]):
    def __init__(self) -> None:
        super().__init__()
        self.set_up_for: OptionList | None = None

    def compose(self) -> ComposeResult:
        with Vertical():
            yield OptionList("one")

    def set_up(self) -> None:
        self.set_up_for = self.query_one(OptionList)


async def test_a_screen_sets_itself_up_when_its_parts_stand() -> None:
    async with app_on(FakeConversation()) as desk:
        screen = Listing()
        await desk.app.push_screen(screen)
        assert screen.set_up_for is screen.query_one(OptionList)


@pytest.mark.parametrize("turns", range(4))
async def test_a_program_that_ends_while_a_screen_opens_ends_in_peace(turns: int) -> None:
    screen = Listing()
    async with app_on(FakeConversation()) as desk:
        desk.app.push_screen(screen)
        for _ in range(turns):
            await asyncio.sleep(0)
        desk.app.exit()
    assert desk.app._exception is None


@pytest.mark.parametrize("turns", range(4))
async def test_a_program_that_is_torn_down_while_a_screen_opens_ends_in_peace(turns: int) -> None:
    async with app_on(FakeConversation()) as desk:
        desk.app.push_screen(Listing())
        for _ in range(turns):
            await asyncio.sleep(0)
    assert desk.app._exception is None


@pytest.mark.parametrize("turns", range(4))
async def test_leaving_while_the_sessions_open_ends_in_peace(turns: int) -> None:
    async with app_on(FakeConversation()) as desk:
        desk.app.opening.browse()
        for _ in range(turns):
            await asyncio.sleep(0)
        assert isinstance(desk.app.screen, SessionPicker)
        desk.app.exit()
    assert desk.app._exception is None


async def test_what_is_typed_while_the_sessions_open_waits_for_them() -> None:
    async with app_on(FakeConversation()) as desk:
        picker = SessionPicker(FakeShelf(()), "/work", 0, desk.composer)
        stood = [picker.stands]
        picker.typed()
        await desk.app.push_screen(picker)
        stood.append(picker.stands)
        await desk.app.pop_screen()
        stood.append(picker.stands)
        picker.typed()
    assert stood == [False, True, False]
