"""How a part opens a conversation: history and checkpoints are the demo's own, models are shared."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

from skippy_chat.agent.opening import ConversationOptions, open_conversation
from skippy_chat.agent.protocol import Conversation
from skippy_chat.config import load_settings
from skippy_chat.paths import Paths

CONTEXT = 4096


def opened(folder: Path, session: str, workspace: Path, **flags: object) -> Conversation:
    """Open a session of the demo in ``folder``; tools, if any, work in ``workspace``."""
    own = Paths.resolve(env=dict(os.environ))
    paths = dataclasses.replace(own, data_dir=folder / "data")
    settings = load_settings(flags={"temperature": 0.0, "ctx": CONTEXT, **flags})
    options = ConversationOptions(paths, settings, workspace, session=session, checkpoints=folder / "tree")
    return open_conversation(options, on_progress=_progress)


def _progress(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(
            f"\r{what} {done * 100 // max(total, 1)} %\033[K",
            end="\r" if done < total else "\r\033[K",
            file=sys.stderr,
        )
