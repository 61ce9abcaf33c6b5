"""The app's features, in the order in which help lists them. A new one is added here, and nowhere else."""

from __future__ import annotations

from skippy_chat.tui.basics import BASICS
from skippy_chat.tui.cache_feature import CACHE
from skippy_chat.tui.command import Feature
from skippy_chat.tui.palette import PALETTE
from skippy_chat.tui.theme_choice import THEME

FEATURES: tuple[Feature, ...] = (BASICS, CACHE, THEME, PALETTE)
