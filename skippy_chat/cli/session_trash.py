"""``skippy-chat sessions``: deleting, restoring, and removing for good.

Invariant: a session that a program writes is neither deleted nor removed; removing for good asks first.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from skippy_chat.chat.history import History
from skippy_chat.chat.locks import SessionLock
from skippy_chat.chat.messages import Session
from skippy_chat.chat.trash import KEPT_DAYS
from skippy_chat.cli import completing
from skippy_chat.cli.amounts import age
from skippy_chat.cli.opening import history_of, paths_of, stored_session
from skippy_chat.cli.options import Invocation, place_options
from skippy_chat.cli.output import confirm, put, put_json
from skippy_chat.errors import SessionNotFound
from skippy_chat.text.sizes import format_size
from skippy_chat.wording import plural

SCHEMA = 1
_DAY = 24 * 3600


def session_json(session: Session) -> dict[str, Any]:
    """Return a session as ``--json`` prints it."""
    return {**dataclasses.asdict(session), "name": session.name, "label": session.label}


@click.command("delete")
@click.argument("name", shell_complete=completing.sessions)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def delete(invocation: Invocation, *, name: str, as_json: bool) -> None:
    """Delete a session; `sessions restore` brings it back for 30 days."""
    with (
        stored_session(invocation, name) as (history, session),
        SessionLock(paths_of(invocation).locks_dir, session.id),
    ):
        deleted = history.put_away(session.id)
    if as_json:
        put_json(invocation.host, {"schema": SCHEMA, "session": session_json(deleted)})
    else:
        put(invocation.host, f"Deleted {session.name}. For {KEPT_DAYS} days this brings it back:")
        put(invocation.host, f"skippy-chat sessions restore {session.id}")


@click.command("restore")
@click.argument("name", shell_complete=completing.deleted_sessions)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def restore(invocation: Invocation, *, name: str, as_json: bool) -> None:
    """Restore a deleted session, by name, id or the start of an id; of several of one name the last deleted."""
    with history_of(invocation) as history:
        if history is None:
            raise SessionNotFound("No session is stored yet.", "There is nothing to restore.")
        deleted = history.deleted_session(name)
        restored = history.bring_back(deleted.id)
    if as_json:
        put_json(invocation.host, {"schema": SCHEMA, "session": session_json(restored)})
    elif restored.title == deleted.title:
        put(invocation.host, f"Restored {restored.name}.")
    else:
        put(invocation.host, f"Restored {deleted.name}, as {restored.name}: its name is taken.")


@click.command("rm")
@click.argument("name", shell_complete=completing.sessions)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def remove(invocation: Invocation, *, name: str, yes: bool, as_json: bool) -> int:
    """Remove a session with all its branches and checkpoints, for good."""
    with (
        stored_session(invocation, name) as (history, session),
        SessionLock(paths_of(invocation).locks_dir, session.id),
    ):
        count = history.overview(session.id).messages
        question = f"Remove {session.name} and its {plural(count, 'message')} for good?"
        if not confirm(invocation.host, question, yes=yes):
            invocation.host.talk.note("Nothing was removed.")
            return 1
        freed = _forget(invocation, history, [session])
    if as_json:
        told = {"removed": session.id, "messages": count, "freed_bytes": freed}
        put_json(invocation.host, {"schema": SCHEMA, **told})
    else:
        put(invocation.host, f"Removed {session.name}{_freed(freed)}.")
    return 0


@click.command("prune")
@click.option(
    "--older-than",
    callback=age,
    metavar="AGE",
    help="Those that were deleted so long ago: 12h, 30d, 8w. [default: 30d]",
)
@click.option("--all", "every", is_flag=True, help="All that were deleted.")
@click.option("--dry-run", is_flag=True, help="Say which, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def prune(
    invocation: Invocation, *, older_than: int | None, every: bool, dry_run: bool, yes: bool, as_json: bool
) -> int:
    """Remove deleted sessions for good, with their checkpoints."""
    now = invocation.host.now_ms()
    seconds = KEPT_DAYS * _DAY if older_than is None else older_than
    freed = 0
    with history_of(invocation) as history:
        doomed = [] if history is None else history.expired(now + 1 if every else now - 1000 * seconds)
        if history is not None and doomed and not dry_run:
            question = f"Remove {plural(len(doomed), 'deleted session')} for good?"
            if not confirm(invocation.host, question, yes=yes):
                invocation.host.talk.note("Nothing was removed.")
                return 1
            freed = _forget(invocation, history, doomed)
    if as_json:
        told = {"dry_run": dry_run, "removed": [each.id for each in doomed], "freed_bytes": freed}
        put_json(invocation.host, {"schema": SCHEMA, **told})
    elif dry_run:
        for each in doomed:
            put(invocation.host, each.name)
        put(invocation.host, f"Would remove {plural(len(doomed), 'session')}.")
    else:
        put(invocation.host, f"Removed {plural(len(doomed), 'session')}{_freed(freed)}.")
    return 0


def _forget(invocation: Invocation, history: History, sessions: list[Session]) -> int:
    from skippy_chat.agent.forgetting import forget_sessions  # noqa: PLC0415 - the checkpoints, only to remove some

    return forget_sessions(history, paths_of(invocation), [each.id for each in sessions])


def _freed(freed: int) -> str:
    return f", and freed {format_size(freed)} of checkpoints" if freed else ""
