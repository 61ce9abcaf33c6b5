"""Scenes of what the person wishes: settings, models, themes, the palette, the names of keys."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from textual.command import CommandList, CommandPalette
from textual.widgets import Input, OptionList, Static

from skippy_chat.agent.room import Room
from skippy_chat.config import KEYS, Settings
from skippy_chat.tui.models import ModelScreen
from skippy_chat.tui.preferences import ModelRow, Preferences
from skippy_chat.tui.settings import SettingsScreen
from skippy_chat.tui.theme_choice import ThemeScreen
from tests.fakes.conversation import FakeConversation
from tests.snapshots.scene import LARGE, NARROW, Scene, Size, scene
from tests.tui.screen import Desk, app_on

FILE = Path("/home/me/.config/skippy-chat/config.toml")
SAID = Settings(
    temperature=0.2,
    top_k=20,
    theme="nord",
    sources={
        "temperature": f"{FILE}, line 3, key temperature",
        "top_k": "session setting top_k",
        "theme": "SKIPPY_THEME",
    },
)
MODELS = (
    ModelRow("default", FILE, "falcon-h1", "Q4_1", 115 << 20, 8192, "hybrid"),
    ModelRow("smollm2"),
    ModelRow("small", FILE, "llama", "Q8_0", 50 << 20, 2048, "dense"),
    ModelRow("torn", FILE, fault="torn.gguf is cut off: 12 bytes are missing"),
)


@scene
async def settings(size: Size) -> AsyncIterator[Desk]:
    talk = FakeConversation()
    talk.settings = SAID
    async with app_on(talk, size=size, preferences=Preferences(file=FILE)) as desk:
        await desk.say("/settings")
        listed = (await desk.over(SettingsScreen)).query_one(OptionList)
        await desk.wait_until(lambda: listed.option_count)
        listed.highlighted = KEYS.index("temperature")
        await desk.pilot.pause()
        yield desk


@scene
async def changing(size: Size) -> AsyncIterator[Desk]:
    async with settings(size) as desk:
        desk.app.screen.query_one(OptionList).highlighted = KEYS.index("approve")
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: desk.app.screen.query_one(Input).has_focus)
        await desk.pilot.press("down")
        yield desk


@scene
async def models(size: Size) -> AsyncIterator[Desk]:
    talk = FakeConversation()
    talk.space = Room(3000, talk.model.context_size, 0, 0, 0, 0)
    async with app_on(talk, size=size, preferences=Preferences(models=lambda: MODELS)) as desk:
        await desk.say("/model")
        await desk.over(ModelScreen)
        await desk.pilot.press("down", "down", "enter")
        await desk.wait_until(lambda: str(desk.app.screen.query_one("#model-note", Static).render()))
        yield desk


@scene
async def themes(size: Size) -> AsyncIterator[Desk]:
    async with app_on(FakeConversation(), size=size) as desk:
        await desk.say("/theme")
        await desk.over(ThemeScreen)
        yield desk


def gathering(desk: Desk) -> bool:
    """Tell whether the palette still looks for commands: those of the first letters are others."""
    group = CommandPalette._GATHER_COMMANDS_GROUP
    return any(each.group == group and not each.is_finished for each in desk.app.workers)


@scene
async def palette(size: Size) -> AsyncIterator[Desk]:
    async with app_on(FakeConversation(), size=size) as desk:
        await desk.pilot.press("ctrl+p")
        # What is typed before it has read what there is would find nothing.
        await desk.wait_until(
            lambda: (
                isinstance(desk.app.screen, CommandPalette)
                and isinstance(desk.app.focused, Input)
                and not gathering(desk)
                and desk.app.screen.query_one(CommandList).options
            )
        )
        await desk.type("model")
        await desk.wait_until(
            lambda: (
                desk.app.screen.query_one(Input).value == "model"
                and not gathering(desk)
                and any(
                    str(each.prompt).startswith("/model")
                    for each in desk.app.screen.query_one(CommandList).options[:1]
                )
            )
        )
        yield desk


SCENES = (
    Scene("settings", settings),
    Scene("settings-wide", settings, size=LARGE),
    Scene("settings-narrow", settings, size=NARROW),
    Scene("settings-no-colour", settings, colours=False),
    Scene("changing", changing),
    Scene("models", models),
    Scene("models-light", models, theme="light"),
    Scene("themes", themes),
    Scene("palette", palette),
)
