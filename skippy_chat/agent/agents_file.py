"""AGENTS.md: what a workspace tells agents that work in it, as part of a new session's system prompt.

Invariant: the text is taken once, when a session begins, and kept with the session; so the prompt's first bytes never
change, and no edit of the file costs a session its checkpoints. It is told, never taken silently; and never cut.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skippy_chat.agent.tools.gate import PathGate
from skippy_chat.errors import ToolError
from skippy_chat.events import Notice
from skippy_chat.text.sizes import format_size

NAME = "AGENTS.md"
TYPED = frozenset({"--system", "-c system"})  # the sources of a system prompt that a person types
MOST_BYTES = 32 << 10
_KEPT = "agents_text"  # among a session's settings
_HEAD = f"What the workspace's {NAME} says:"
_LEAVE_OUT = "Leave it out: -c agents_file=off"


@dataclass(frozen=True, slots=True)
class AgentsText:
    """What was found: ``text`` is None when it cannot be used, and ``notice`` says so."""

    text: str | None
    notice: Notice

    def kept(self) -> dict[str, Any]:
        """Return what a session keeps of it."""
        return {} if self.text is None else {_KEPT: self.text}


def read_agents_file(workspace: Path, context: int) -> AgentsText | None:
    """Read the workspace's file, if it has one.

    A text of as many bytes as the context has tokens fills a third of it or so; more is not taken. Neither is a file
    that leads out of the workspace: it may have come with the folder.
    """
    if not os.path.lexists(workspace / NAME):
        return None
    most = min(MOST_BYTES, context)
    try:
        with PathGate(workspace).open_file(NAME) as file:
            size = file.info.st_size
            data = b"" if size > most else os.pread(file.fd, most + 1, 0)
    except (ToolError, OSError) as error:
        told = error.message if isinstance(error, ToolError) else str(error)
        return _unused(f"{NAME} of this workspace cannot be read: {told}")
    if max(size, len(data)) > most:
        beside = f" beside a context of {context:,} tokens" if most < MOST_BYTES else ""
        return _unused(
            f"{NAME} of this workspace is not used: {format_size(size)}, of at most {format_size(most)}{beside}.",
            f"Shorten it, or give a larger --ctx. {_LEAVE_OUT}" if beside else f"Shorten it. {_LEAVE_OUT}",
        )
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n").strip()
    except UnicodeDecodeError:
        return _unused(f"{NAME} of this workspace is not used: it is not UTF-8 text.", "Save it as UTF-8.")
    if not text:
        return None
    notice = Notice(
        text=f"{NAME} of this workspace ({format_size(size)}) is part of this session's system prompt.",
        hint=_LEAVE_OUT,
    )
    return AgentsText(text, notice)


def system_prompt(system: str | None, kept: Mapping[str, Any]) -> str | None:
    """Return a session's whole system prompt: its own, and what it keeps of AGENTS.md."""
    agents = agents_text(kept)
    if not agents:
        return system
    return "\n\n".join([*([system] if system else []), f"{_HEAD}\n\n{agents}"])


def agents_text(kept: Mapping[str, Any]) -> str:
    """Return what a session (by its settings) keeps of AGENTS.md; empty where it has none of it."""
    text = kept.get(_KEPT)
    return text if isinstance(text, str) else ""


def system_unused(source: str) -> Notice:
    """Return what to tell of a system prompt from ``source`` that came too late for a session."""
    what = "--system" if source in TYPED else f"The system prompt of {source}"
    return Notice(
        level="warning",
        text=f"{what} was not used: this session goes on as it began.",
        hint="Begin another one with --new for it.",
    )


def _unused(text: str, hint: str = _LEAVE_OUT) -> AgentsText:
    return AgentsText(None, Notice(level="warning", text=text, hint=hint))
