"""From a script's arguments to an open conversation, by the same rules as the command line.

Precedence: arguments > ``SKIPPY_*`` > the session's own > a trusted project's file > the user's file > defaults.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from skippy_chat.agent.opening import ConversationOptions, open_conversation
from skippy_chat.agent.protocol import Conversation
from skippy_chat.agent.tools.function import FunctionTool, tool
from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Session
from skippy_chat.chat.session_rows import usable_title
from skippy_chat.config import load_settings
from skippy_chat.errors import SessionNotFound, UsageError
from skippy_chat.paths import Paths, workspace_root
from skippy_chat.trust import PROJECT_FILE, TrustedProjects, personas_of

OnProgress: TypeAlias = Callable[[str, int, int], None]
ToolLike: TypeAlias = "str | Callable[..., Any]"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a script asked for: ``flags`` are settings by name, ``functions`` tools of its own, ``can_ask`` whether it
    answers approvals.
    """

    flags: Mapping[str, Any]
    env: Mapping[str, str]
    workspace: Path
    on_progress: OnProgress
    session: str | None = None
    functions: tuple[FunctionTool, ...] = ()
    can_ask: bool = False
    data_dir: str | Path | None = None
    cache_dir: str | Path | None = None
    config_dir: str | Path | None = None


def open_wanted(wanted: Wanted) -> Conversation:
    """Open the conversation; the caller closes it.

    Raises:
        ConfigError: a setting that does not fit.
        SkippyError: as ``open_conversation``.
    """
    paths = Paths.resolve(
        data_dir=wanted.data_dir, cache_dir=wanted.cache_dir, config_dir=wanted.config_dir, env=wanted.env
    )
    found = _session(paths, wanted.session)
    settings = load_settings(
        flags=wanted.flags,
        env=wanted.env,
        session=found.settings if found else {},
        user_file=paths.user_config,
        project_file=_project(paths, wanted.workspace),
        personas=personas_of(paths, wanted.workspace),
        # A script that says nothing lets tools read the workspace; where it asks, it is asked about that, too.
        defaults={} if wanted.can_ask else {"approve": "auto-read"},
    )
    options = ConversationOptions(
        paths=paths,
        settings=settings,
        folder=wanted.workspace,
        session=found.id if found else wanted.session,
        new=wanted.session is None,
        functions=wanted.functions,
        can_ask=wanted.can_ask,
        environment=dict(wanted.env),
    )
    return open_conversation(options, on_progress=wanted.on_progress)


def tools_of(given: Sequence[ToolLike]) -> tuple[tuple[str, ...], tuple[FunctionTool, ...]]:
    """Return the built-in tools' names and the functions apart; a plain function becomes a tool.

    Raises:
        UsageError: one is neither.
        ConfigError: a function that cannot be a tool.
    """
    names: list[str] = []
    functions: list[FunctionTool] = []
    for each in given:
        if isinstance(each, str):
            names.append(each)
        elif isinstance(each, FunctionTool):
            functions.append(each)
        elif callable(each):
            functions.append(tool(each))
        else:
            raise UsageError(f"{each!r} is no tool.", "Give functions, or names of built-in tools.")
    return tuple(names), tuple(functions)


def workspace_of(given: str | Path | None) -> Path:
    """Return the folder that sessions belong to and tools work in: the given one, else the git root, else this one.

    Raises:
        UsageError: it is not a folder.
    """
    if given is None:
        return workspace_root(Path.cwd())
    folder = Path(given).expanduser().resolve()
    if not folder.is_dir():
        raise UsageError(f"The workspace {folder} is not a folder.", "Give an existing folder.")
    return folder


def _project(paths: Paths, workspace: Path) -> Path | None:
    file = workspace / PROJECT_FILE
    trusted = file.is_file() and TrustedProjects(paths.trusted_projects).has(workspace)
    return file if trusted else None


def _session(paths: Paths, name: str | None) -> Session | None:
    """Return the session of that name or id, if there is one: its own settings count."""
    if name is None:
        return None
    usable_title(name)
    if not paths.history_db.exists():
        return None
    history = History.open(paths.history_db, now=lambda: time.time_ns() // 1_000_000)
    try:
        return history.session(name)
    except SessionNotFound:
        return None
    finally:
        history.close()
