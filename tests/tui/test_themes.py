"""Themes: which there are, that they can be read, that one that is chosen is kept, and that NO_COLOR has none."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import Theme
from textual.widgets import OptionList

from skippy_chat.config import load_settings
from skippy_chat.tui import themes
from skippy_chat.tui.preferences import Preferences
from skippy_chat.tui.theme_choice import ThemeScreen
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.screen import app_on

pytestmark = pytest.mark.timeout(180)

TEXTS = ("primary", "secondary", "accent", "success", "warning", "error")


def contrast(one: str, other: str) -> float:
    """Return the ratio of two colours' luminances, from 1 to 21."""
    first, second = sorted((luminance(Color.parse(each)) for each in (one, other)), reverse=True)
    return (first + 0.05) / (second + 0.05)


def luminance(colour: Color) -> float:
    parts = [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in colour.normalized[:3]
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("theme", themes.OWN, ids=lambda each: str(each.name))
def test_our_own_can_be_read(theme: Theme) -> None:
    made = theme.to_color_system().generate()
    for ground in ("background", "surface"):
        assert contrast(made["foreground"], made[ground]) >= 7, ground
        for name in TEXTS:
            told = made[f"text-{name}"]
            assert contrast(told, made[ground]) >= 4.5, (name, ground, told)
    assert contrast(made["block-cursor-foreground"], made["block-cursor-background"]) >= 7, "what is chosen"
    assert contrast(made["primary"], made["background"]) >= 3, "the mark beside what has the focus"


async def test_every_theme_that_can_be_named_can_be_worn() -> None:
    async with app_on(FakeConversation([Turn(("One.",))])) as desk:
        await desk.say("hello")
        await desk.ready()
        for name in themes.NAMES:
            desk.app.wear(name)
            await desk.pilot.pause()
            assert desk.app.theme == name
        assert set(themes.NAMES) <= set(desk.app.available_themes)


async def test_the_app_begins_in_the_theme_of_the_settings() -> None:
    async with app_on(FakeConversation(), preferences=Preferences(theme="light")) as desk:
        assert desk.app.theme == "light"


def wishes(file: Path, **env: str) -> Preferences:
    return Preferences(
        file=file, settings=lambda session: load_settings(flags={}, session=session, user_file=file, env=env)
    )


async def test_a_theme_that_something_else_goes_before_says_so(tmp_path: Path) -> None:
    file = tmp_path / "config" / "config.toml"
    async with app_on(FakeConversation(), preferences=wishes(file, SKIPPY_THEME="light")) as desk:
        await desk.say("/theme nord")
        await desk.wait_until(lambda: "until you leave: SKIPPY_THEME goes before" in desk.status)
        assert desk.app.theme == "nord"


async def test_a_theme_that_is_chosen_is_kept_and_one_that_is_looked_at_is_not(tmp_path: Path) -> None:
    file = tmp_path / "config" / "config.toml"
    async with app_on(FakeConversation(), preferences=wishes(file)) as desk:
        await desk.say("/theme")
        await desk.over(ThemeScreen)
        await desk.pilot.press("down")
        await desk.wait_until(lambda: desk.app.theme == "light")
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: desk.app.theme == "dark")
        await desk.app.workers.wait_for_complete()
        assert not file.exists()
        await desk.say("/theme")
        await desk.over(ThemeScreen)
        await desk.pilot.press("down", "down", "enter")
        await desk.wait_until(lambda: desk.app.theme == "ansi-dark" and file.exists())
        await desk.app.workers.wait_for_complete()
        assert load_settings(flags={}, user_file=file).theme == "ansi-dark"
        assert "Theme: ansi-dark" in desk.status
        await desk.say("/theme nrod")
        assert "Did you mean nord?" in desk.status
        await desk.say("/theme nord")
        await desk.app.workers.wait_for_complete()
        assert load_settings(flags={}, user_file=file).theme == "nord"


async def test_a_theme_that_cannot_be_kept_says_so() -> None:
    async with app_on(FakeConversation()) as desk:
        await desk.say("/theme nord")
        await desk.wait_until(lambda: "holds until you leave" in desk.status)
        assert desk.app.theme == "nord"


@pytest.mark.parametrize("name", ["dark", "light", "ansi-dark", "ansi-light", "solarized-light"])
async def test_without_colours_no_theme_has_any(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    conversation = FakeConversation([Turn(("One `code`.\n\n```python\nx = 1\n```",))])
    async with app_on(conversation, preferences=Preferences(theme=name)) as desk:
        await desk.say("hello")
        await desk.ready()
        await desk.say("/theme")
        await desk.over(ThemeScreen)
        await desk.pilot.press("down", "escape")
        await desk.wait_until(lambda: not isinstance(desk.app.screen, ThemeScreen))
        for strip in desk.app.screen._compositor.render_strips():
            for segment in strip.apply_filter(desk.app._filters[-1], Color(0, 0, 0)):
                colours = [segment.style.color, segment.style.bgcolor] if segment.style else []
                assert all(each is None or each.is_default for each in colours)


async def test_what_is_chosen_is_underlined_where_there_are_no_colours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with app_on(FakeConversation()) as desk:
        await desk.say("/theme")
        listed = (await desk.over(ThemeScreen)).query_one(OptionList)
        await desk.wait_until(lambda: listed.size.height >= 3)
        lined = [
            all(segment.style is not None and segment.style.underline for segment in listed.render_line(row))
            for row in range(3)
        ]
        assert lined == [True, False, False]
