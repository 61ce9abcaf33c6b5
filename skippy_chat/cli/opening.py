"""From what was typed to open things: paths, settings, the session meant, the conversation.

Invariant: the history database is only read here, and not created: a command that fails leaves nothing behind.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from skippy_chat.cli.options import Invocation
from skippy_chat.config import Settings, load_settings
from skippy_chat.errors import ConfigError, SessionLocked, SessionNotFound, UsageError
from skippy_chat.paths import Paths, workspace_root
from skippy_chat.personas import find_persona
from skippy_chat.setting_table import checked
from skippy_chat.trust import PROJECT_FILE, ignored_things, personas_of

if TYPE_CHECKING:
    from skippy_chat.agent.protocol import Conversation, Fork, Held, Stored
    from skippy_chat.chat.history import History
    from skippy_chat.chat.messages import Session
    from skippy_chat.engine.seat import EngineSeat
    from skippy_chat.events import Event
    from skippy_chat.talk import Talk


def paths_of(invocation: Invocation) -> Paths:
    """Return where things live, as options and environment say."""
    return Paths.resolve(
        data_dir=invocation.folder("data_dir"),
        cache_dir=invocation.folder("cache_dir"),
        env=invocation.host.env,
    )


def settings_of(
    invocation: Invocation,
    session: Mapping[str, object],
    *,
    can_ask: bool = True,
    changes: Mapping[str, object] | None = None,
) -> Settings:
    """Return the settings in force over a session's own; ``changes`` go before all others, options included.

    Where nobody can be asked, and nobody said otherwise, tools may read the workspace and no more.
    """
    file = project_file(invocation)
    workspace = workspace_of(invocation)
    ignored = ignored_things(paths_of(invocation), workspace)
    return load_settings(
        flags={**invocation.flags(), **(changes or {})},
        assignments=invocation.assignments,
        env=invocation.host.env,
        session=session,
        user_file=paths_of(invocation).user_config,
        project_file=file if ignored is None else None,
        ignored_file=ignored,
        personas=personas_of(paths_of(invocation), workspace),
        defaults={} if can_ask else {"approve": "auto-read"},
    )


def file_value(invocation: Invocation, key: str, value: object) -> object:
    """Return what the person's file should say for ``key`` where ``value`` was typed here.

    Raises:
        ConfigError: there is no persona of that name, or keys that the app would refuse.
    """
    if key == "keys":
        from skippy_chat.tui.commands import keyboard  # noqa: PLC0415 - textual, only for its keys

        wanted = checked(key, value, "key keys")
        assert isinstance(wanted, Mapping)
        keyboard(wanted, "key keys")
    if key == "persona" and value not in ("", "none"):
        find_persona(str(value), personas_of(paths_of(invocation), workspace_of(invocation)), "key persona")
    if key == "tool_files" and isinstance(value, str) and value != "none":
        # As --tool-file: from here. In the file it would mean: from where the file lies.
        return [str(invocation.host.folder / Path(each.strip()).expanduser()) for each in value.split(",")]
    return value


def project_file(invocation: Invocation) -> Path | None:
    """Return the workspace's own settings file, when it has one; whether it counts is another question."""
    file = workspace_of(invocation) / PROJECT_FILE
    return file if file.is_file() else None


def workspace_of(invocation: Invocation) -> Path:
    """Return the folder sessions belong to: ``--workspace``, else the git root, else the working folder.

    Raises:
        UsageError: ``--workspace`` is not a folder.
    """
    given = invocation.folder("workspace")
    if given is not None:
        if not given.is_dir():
            raise UsageError(
                f"The workspace {given} is not a folder.", "Give --workspace an existing folder."
            )
        return given.resolve()
    return workspace_root(invocation.host.folder)


@contextlib.contextmanager
def history_of(invocation: Invocation) -> Iterator[History | None]:
    """Open the history database when there is one."""
    if not paths_of(invocation).history_db.exists():
        yield None
        return
    history = _history(invocation)
    try:
        yield history
    finally:
        history.close()


def _history(invocation: Invocation) -> History:
    from skippy_chat.chat.history import History  # noqa: PLC0415 - the database, only when there is one

    return History.open(paths_of(invocation).history_db, now=invocation.host.now_ms)


def session_meant(invocation: Invocation, folder: Path, *, must_exist: bool = False) -> Session | None:
    """Return the existing session that ``--session`` or ``--continue`` means, if there is one.

    Raises:
        UsageError: the options contradict each other.
        HistoryError: the name cannot be one.
        SessionNotFound: ``--continue`` where this folder has no session; no such session where one must exist.
    """
    name: str | None = invocation.typed.get("session")
    newest = bool(invocation.typed.get("continue_newest"))
    if newest and (name is not None or invocation.typed.get("new")):
        raise UsageError("--continue does not go with --session or --new.", "Give one of them.")
    if name is not None and not name.strip():
        raise UsageError("--session needs a name.", "Give a session's name or id.")
    if name is not None and not must_exist:
        from skippy_chat.chat.session_rows import usable_title  # noqa: PLC0415

        # It may become the name of a new session: said before anything is opened.
        usable_title(name)
    with history_of(invocation) as history:
        found = None
        if history is not None and name is not None:
            try:
                found = history.session(name)
            except SessionNotFound:
                if must_exist:
                    raise
        elif history is not None and newest:
            found = history.newest(folder)
    if newest and found is None:
        raise SessionNotFound(f"No session belongs to {folder}.", "Start one: leave --continue out.")
    if found is not None and name is not None and invocation.typed.get("new"):
        raise UsageError(f"A session named {name} exists.", "Leave --new out to append to it.")
    return found


def session_of(invocation: Invocation, reference: str) -> Session:
    """Return the stored session of that name or id.

    Raises:
        SessionNotFound: there is none.
    """
    with history_of(invocation) as history:
        if history is None:
            raise SessionNotFound(f"There is no session {reference} any more.", "Start a new one.")
        return history.session(reference)


@contextlib.contextmanager
def stored_session(invocation: Invocation, name: str | None) -> Iterator[tuple[History, Session]]:
    """Open the history on a session: by name, id or the start of an id; without one this folder's newest.

    Raises:
        SessionNotFound: there is none.
    """
    with history_of(invocation) as history:
        if history is None:
            raise SessionNotFound("No session is stored yet.", "Start one: skippy-chat run --session NAME …")
        if name is not None:
            yield history, history.session(name)
            return
        folder = workspace_of(invocation)
        newest = history.newest(folder)
        if newest is None:
            raise SessionNotFound(
                f"No session belongs to {folder}.", "List them: skippy-chat sessions list --all"
            )
        yield history, newest


def readable_session(invocation: Invocation, session: str) -> Stored:
    """Open a stored session for reading, by its id; the caller closes it."""
    from skippy_chat.agent.held import StoredSession  # noqa: PLC0415 - only for a session that is there

    return StoredSession(_history(invocation), session)


def held_session(invocation: Invocation, locked: SessionLocked) -> Held:
    """Open a session that another process writes, for reading; the caller closes it."""
    from skippy_chat.agent.held import HeldSession  # noqa: PLC0415 - seldom needed

    return HeldSession(_history(invocation), locked)


def debug_listener(
    invocation: Invocation, settings: Settings, *, quiet: bool = False
) -> Callable[[Event], None] | None:
    """Begin the log of ``--debug`` and return what writes events into it; None without ``--debug``.

    Where it lies is told, or that it cannot be written, and no more comes of that; unless ``quiet``: the app has the
    screen.
    """
    if not invocation.typed.get("debug"):
        return None
    from skippy_chat.debug_log import DebugLog  # noqa: PLC0415 - seldom needed

    try:
        log = DebugLog.begin(paths_of(invocation).logs_dir, settings, now_ms=invocation.host.now_ms)
    except (OSError, ConfigError) as error:
        if not quiet:
            invocation.talk.note(f"There is no debug log: {error}")
        return None
    if not quiet:
        invocation.talk.note(f"Debug log: {log.path}")
    return log.event


@contextlib.contextmanager
def conversation_of(
    invocation: Invocation,
    talk: Talk,
    *,
    new: bool,
    must_exist: bool = False,
    fork: Fork | None = None,
    can_ask: bool = False,
    changes: Mapping[str, object] | None = None,
    seat: EngineSeat | None = None,
) -> Iterator[Conversation]:
    """Open the conversation that was asked for; the engine stops when the block ends.

    Args:
        new: start a new session when none was named.
        must_exist: refuse to create the named session.
        fork: begin a copy of the session it names instead of opening that one.
        can_ask: somebody is there to answer approvals.
        changes: settings that the session keeps from now on.
        seat: keeps the engine for the next conversation.
    """
    folder = workspace_of(invocation)
    if fork is not None:
        found: Session | None = session_of(invocation, fork.session)
    else:
        found = session_meant(invocation, folder, must_exist=must_exist)
    name: str | None = invocation.typed.get("session")
    if must_exist and found is None:
        raise SessionNotFound(
            f"There is no session named {name}." if name else "No session was named.",
            "List them: skippy-chat sessions list --all" if name else "Give --session NAME or --continue.",
        )
    settings = settings_of(invocation, found.settings if found else {}, can_ask=can_ask, changes=changes)
    from skippy_chat.agent.tools.printing import prints_apart  # noqa: PLC0415 - only with a conversation

    conversation = invocation.host.open_conversation(
        paths=paths_of(invocation),
        settings=settings,
        session=found.id if found else name,
        continue_newest=False,
        new=bool(invocation.typed.get("new")) or (new and name is None and found is None),
        folder=folder,
        on_progress=talk.progress,
        fork=fork,
        can_ask=can_ask,
        on_event=debug_listener(invocation, settings),
        changes=changes,
        seat=seat,
    )
    talk.clear()
    try:
        with prints_apart():
            yield conversation
    finally:
        conversation.close()
