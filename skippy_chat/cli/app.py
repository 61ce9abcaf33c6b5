"""Bare ``skippy-chat``: the full-screen app on the session that was asked for, or on one that is chosen in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from skippy_chat.cli.opening import (
    debug_listener,
    held_session,
    history_of,
    paths_of,
    readable_session,
    session_meant,
    session_of,
    settings_of,
    workspace_of,
)
from skippy_chat.cli.options import Invocation
from skippy_chat.errors import SessionNotFound, UsageError
from skippy_chat.paths import as_told, make_private

if TYPE_CHECKING:
    from skippy_chat.agent.protocol import Conversation
    from skippy_chat.notifying import Notifier
    from skippy_chat.tui.bridge import OnProgress
    from skippy_chat.tui.sessions import Choice


def start(invocation: Invocation) -> int:
    """Run the app.

    Raises:
        UsageError: no terminal, or options that contradict each other.
    """
    host = invocation.host
    from skippy_chat.tui.launch import check_terminal, run_app  # noqa: PLC0415 - textual takes its time

    check_terminal(host.env, interactive=host.interactive)
    from skippy_chat.cli.aids import aids_of, notifier_of  # noqa: PLC0415
    from skippy_chat.cli.preferences import preferences_of  # noqa: PLC0415
    from skippy_chat.engine.seat import EngineSeat  # noqa: PLC0415
    from skippy_chat.tui.services import Services  # noqa: PLC0415
    from skippy_chat.tui.shelf import HistoryShelf  # noqa: PLC0415

    folder = workspace_of(invocation)
    choice = _chosen(invocation)
    preferences = preferences_of(invocation)

    seat = EngineSeat()  # so that going to another session loads no model again

    changed: dict[
        str, Mapping[str, object]
    ] = {}  # what was chosen for a session in this run goes before options

    def open_session(chosen: Choice, on_progress: OnProgress) -> Conversation:
        known = chosen.fork.session if chosen.fork is not None else chosen.session
        found = None if known is None else session_of(invocation, known)
        changes = {**changed.get(known or "", {}), **chosen.changes}
        settings = settings_of(invocation, found.settings if found else {}, changes=changes)
        conversation = host.open_conversation(
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
            changes=chosen.changes,
            seat=seat,
        )
        changed[conversation.session.id] = changes
        return conversation

    def notifier(write: Callable[[str], object]) -> Notifier:
        return notifier_of(invocation, write)

    services = Services(
        folder=as_told(folder, host.env),
        shelf=HistoryShelf(lambda: history_of(invocation), paths_of(invocation).locks_dir, folder),
        open=open_session,
        look=lambda locked: held_session(invocation, locked),
        read=lambda session: readable_session(invocation, session),
        monotonic=host.monotonic,
        now_ms=host.now_ms,
        working_folder=host.folder,
        preferences=preferences,
        environment=host.env,
        notifier=notifier,
        end=seat.close,
    )
    with ExitStack() as stack:
        if invocation.typed.get("debug"):
            logs = make_private(
                paths_of(invocation).logs_dir
            )  # what is wrong with it is told without a screen
            stack.callback(lambda: invocation.talk.note(f"Debug logs: {logs}"))
        return run_app(replace(services, aids=stack.enter_context(aids_of(invocation))), choice)


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
