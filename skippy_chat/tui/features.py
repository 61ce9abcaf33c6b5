"""The app's features, in the order in which help lists them. A new one is added here, and nowhere else."""

from __future__ import annotations

from skippy_chat.tui.basics import BASICS
from skippy_chat.tui.branches import BRANCHES
from skippy_chat.tui.branching import BRANCHING
from skippy_chat.tui.cache_feature import CACHE
from skippy_chat.tui.command import Feature
from skippy_chat.tui.copying import COPYING
from skippy_chat.tui.finding import FINDING
from skippy_chat.tui.jumping import JUMPING
from skippy_chat.tui.models import MODELS
from skippy_chat.tui.palette import PALETTE
from skippy_chat.tui.room import ROOM
from skippy_chat.tui.session_commands import SESSIONS
from skippy_chat.tui.setting_feature import SETTINGS
from skippy_chat.tui.text_editing import TEXT_EDITING
from skippy_chat.tui.theme_choice import THEME
from skippy_chat.tui.typing_feature import TYPING

FEATURES: tuple[Feature, ...] = (
    BASICS,
    SESSIONS,
    BRANCHING,
    BRANCHES,
    TEXT_EDITING,
    COPYING,
    FINDING,
    JUMPING,
    TYPING,
    CACHE,
    ROOM,
    MODELS,
    SETTINGS,
    THEME,
    PALETTE,
)
