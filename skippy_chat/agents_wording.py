"""The words that every face uses for AGENTS.md as part of a session's system prompt.

Invariant: what is told is the text that the session keeps and the model reads, not the file as it is by now.
"""

from __future__ import annotations

from skippy_chat.agent.agents_file import NAME, agents_text
from skippy_chat.chat.messages import Session
from skippy_chat.text.sizes import format_size

TITLE = f"{NAME}, as this session began with it"
_NONE = (
    f"No {NAME} is part of this session's system prompt. A new session takes the workspace's when its tools work "
    "there, or with -c agents_file=on."
)


def agents_line(session: Session) -> str:
    """Return the line to show when a session is opened; empty where nothing of AGENTS.md is in it."""
    text = agents_text(session.settings)
    size = format_size(len(text.encode("utf-8", "replace")))
    return f"{NAME} ({size}) is part of the system prompt; /agents shows it." if text else ""


def agents_told(session: Session) -> str:
    """Return the text for /agents; it is somebody's, and faces clean it."""
    return agents_text(session.settings) or _NONE
