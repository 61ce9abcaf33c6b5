"""Going to another session from within one: the picker, a new one, a copy, deleting; and drafts, which stay behind.

Invariant: a session is left only when no turn runs in it, and what was typed there waits for it.
"""

from __future__ import annotations

from skippy_chat.agent.protocol import Fork
from skippy_chat.chat.messages import Session
from skippy_chat.errors import SkippyError
from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.drafts import Drafts
from skippy_chat.tui.sessions import Choice


def _browse(parts: Parts, argument: str) -> bool:
    if parts.turns.busy:
        parts.bar.change(hint="Not now: stop the answer first (Esc).")
        return False
    if parts.opening.busy or parts.opening.browsing:
        parts.bar.change(hint="Not yet.")
        return False
    parts.opening.browse(argument)
    return True


def _new(parts: Parts, _argument: str) -> None:
    parts.opening.begin(Choice())


def _fork(parts: Parts, argument: str) -> bool:
    views = [view.message for view in parts.transcript.views if view.message is not None]
    if not views:
        parts.bar.change(hint="There is nothing to copy yet.")
        return False
    parts.opening.begin(Choice(fork=Fork(parts.turns.session_id, None, argument)))
    return True


def _delete(parts: Parts, _argument: str) -> None:
    parts.opening.delete()


def _restore(parts: Parts, argument: str) -> None:
    def work() -> None:
        try:
            session = parts.services.shelf.bring_back(argument)
        except SkippyError as error:
            parts.app.call_from_thread(parts.bar.change, hint=str(error))
        else:
            parts.app.call_from_thread(_go_to, parts, session)

    parts.app.run_worker(work, thread=True)


def _go_to(parts: Parts, session: Session) -> None:
    if parts.turns.free and not parts.opening.busy:
        parts.opening.begin(Choice(session.id))
    else:  # something was begun meanwhile
        parts.bar.change(hint=f"{session.name} is back, in the list of sessions.")


SESSIONS = Feature(
    (
        AppCommand("sessions", "go to another session, and search them", _browse, "[WORDS]", key="ctrl+l"),
        AppCommand("new", "begin a new session", _new, needs="free"),
        AppCommand(
            "fork",
            "go on in a copy of this branch; the session stays as it is",
            _fork,
            "[TITLE]",
            needs="free",
        ),
        AppCommand("delete", "delete this session; Ctrl-Z in the list restores it", _delete, needs="free"),
        AppCommand(
            "restore",
            "bring back a deleted session, the last one or that of a name, and open it",
            _restore,
            "[NAME]",
            needs="free",
        ),
    ),
    Drafts,
)
