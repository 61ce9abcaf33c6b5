"""A picture tells the characters and the looks of a screen, and nothing that is not seen."""

from __future__ import annotations

import asyncio

import pytest
from textual.app import App, ComposeResult
from textual.content import Content
from textual.widgets import Static

from tests.snapshots.picture import picture

pytestmark = pytest.mark.timeout(60)


class Sheet(App[int]):
    CSS = "Screen { color: #101010; background: #f0f0f0; }"

    def __init__(self, content: Content) -> None:
        super().__init__()
        self._content = content

    def compose(self) -> ComposeResult:
        yield Static(self._content)


def taken(*parts: Content) -> str:
    async def take() -> str:
        app = Sheet(Content("").join(parts))
        async with app.run_test(size=(12, 2)) as pilot:
            await pilot.pause()
            return picture(app)

    return asyncio.run(take())


def test_it_has_each_row_and_how_it_looks_where_that_is_unlike_the_rest() -> None:
    assert taken(Content("漢字 plain "), Content.styled("x", "bold #ff0000")) == (
        "12x2, most of it #101010 on #f0f0f0\n|漢字 plain x|\n   11-12 bold #ff0000\n|            |\n"
    )


def test_what_blanks_would_look_like_is_not_told() -> None:
    assert taken(Content("a"), Content.styled("   ", "bold #ff0000")) == taken(Content("a   "))
    assert taken(Content("a"), Content.styled("   ", "on #ff0000")) != taken(Content("a   "))
