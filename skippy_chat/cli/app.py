"""Bare ``skippy-chat``: the full-screen app on the session that was asked for, or on one that is chosen in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skippy_chat.cli.opening import (
    debug_listener,
    held_session,
    history_of,
    paths_of,
    session_meant,
    session_of,
    settings_of,
    workspace_of,
)
from skippy_chat.cli.options import Invocation
from skippy_chat.errors import SessionNotFound, UsageError
from skippy_chat.paths import make_private

if TYPE_CHECKING:
    from skippy_chat.agent.protocol import Conversation
    from skippy_chat.chat.session_rows import Overview
    from skippy_chat.tui.bridge import OnProgress
    from skippy_chat.tui.sessions import Choice

_RECENT = 50


def start(invocation: Invocation) -> int:
    """Run the app.

    Raises:
        UsageError: no terminal, or options that contradict each other.
    """
    host = invocation.host
    from skippy_chat.tui.launch import check_terminal, run_app  # noqa: PLC0415 - textual takes its time

    check_terminal(host.env, interactive=host.interactive)
    from skippy_chat.cli.preferences import preferences_of  # noqa: PLC0415
    from skippy_chat.tui.services import Services  # noqa: PLC0415

    folder = workspace_of(invocation)
    choice = _chosen(invocation)
    preferences = preferences_of(invocation)

    def sessions() -> Sequence[Overview]:
        with history_of(invocation) as history:
            return [] if history is None else history.overviews(folder, _RECENT)

    def open_session(chosen: Choice, on_progress: OnProgress) -> Conversation:
        known = chosen.fork.session if chosen.fork is not None else chosen.session
        found = None if known is None else session_of(invocation, known)
        settings = settings_of(invocation, found.settings if found else {})
        return host.open_conversation(
            paths=paths_of(invocation),
            settings=settings,
            session=found.id if found else chosen.name or None,
            continue_newest=False,
            new=found is None and (not chosen.name or bool(invocation.typed.get("new"))),
            folder=folder,
            on_progress=on_progress,
            fork=chosen.fork,
            can_ask=True,
            on_event=debug_listener(invocation, settings, quiet=True),
        )

    services = Services(
        folder=str(folder),
        sessions=sessions,
        open=open_session,
        look=lambda locked: held_session(invocation, locked),
        monotonic=host.monotonic,
        now_ms=host.now_ms,
        working_folder=host.folder,
        preferences=preferences,
    )
    if not invocation.typed.get("debug"):
        return run_app(services, choice)
    logs = make_private(
        paths_of(invocation).logs_dir
    )  # what is wrong with it is told while there is no screen
    try:
        return run_app(services, choice)
    finally:
        invocation.talk.note(f"Debug logs: {logs}")


def _chosen(invocation: Invocation) -> Choice | None:
    """Return the session that the options mean; None when they leave it open."""
    from skippy_chat.tui.sessions import Choice  # noqa: PLC0415

    typed = invocation.typed
    resume: str | None = typed.get("resume")
    if resume is not None:
        if any(typed.get(name) for name in ("session", "continue_newest", "new")):
            raise UsageError("--resume does not go with --session, --continue or --new.", "Give one of them.")
        typed["session"] = resume
    found = session_meant(invocation, workspace_of(invocation), must_exist=resume is not None)
    if resume is not None and found is None:
        raise SessionNotFound(f"No session is called {resume!r}.", "List them: skippy-chat sessions list")
    if found is not None:
        settings_of(invocation, found.settings)
        return Choice(found.id)
    if typed.get("session") is not None or typed.get("new"):
        return Choice(None, typed.get("session") or "")
    return None
