"""``skippy-chat sessions``: what was said, without a model."""

from __future__ import annotations

import dataclasses
import shlex
import shutil
from collections.abc import Mapping
from typing import Any

import click

from skippy_chat.chat.history import History
from skippy_chat.chat.locks import SessionLock
from skippy_chat.chat.messages import Message, Session
from skippy_chat.chat.searching import Hit
from skippy_chat.chat.session_rows import Overview
from skippy_chat.cli import completing
from skippy_chat.cli.exchange import branches, export_session, import_session
from skippy_chat.cli.groups import Subcommands
from skippy_chat.cli.opening import history_of, paths_of, stored_session, workspace_of
from skippy_chat.cli.options import Invocation, place_options, workspace_option
from skippy_chat.cli.output import confirm, put, put_json, put_table, when
from skippy_chat.wording import plural

_SCHEMA = 1


@click.group("sessions", cls=Subcommands)
@workspace_option
@place_options
def command() -> None:
    """List, show, search, rename, fork, export, import and remove stored conversations."""


@command.command("list")
@click.option("--all", "everywhere", is_flag=True, help="Of every folder, not only this one.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@workspace_option
@place_options
@click.pass_obj
def list_sessions(invocation: Invocation, *, everywhere: bool, limit: int, as_json: bool) -> None:
    """List this folder's sessions, the last used first."""
    folder = None if everywhere else workspace_of(invocation)
    with history_of(invocation) as history:
        found = history.overviews(folder, limit) if history is not None else []
    if as_json:
        put_json(invocation.host, {"schema": _SCHEMA, "sessions": [_overview_json(each) for each in found]})
    elif not found:
        where = (
            "No session is stored."
            if everywhere
            else f"No session belongs to {folder} (--all lists every one)."
        )
        invocation.host.talk.note(where)
    else:
        head = ("NAME", "MESSAGES", "LAST USED", "FOLDER" if everywhere else "ABOUT")
        put_table(invocation.host, head, [_row(each, everywhere=everywhere) for each in found])


@command.command("show")
@click.argument("name", required=False, shell_complete=completing.sessions)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@workspace_option
@place_options
@click.pass_obj
def show(invocation: Invocation, *, name: str | None, as_json: bool) -> None:
    """Print a session's current branch: by name, id or the start of an id; the newest of this folder by default."""
    with stored_session(invocation, name) as (history, session):
        messages = history.branch(history.head(session.id))
    if as_json:
        shown = {
            "schema": _SCHEMA,
            "session": _session_json(session),
            "messages": [dataclasses.asdict(message) for message in messages],
        }
        put_json(invocation.host, shown)
        return
    put(invocation.host, f"{session.name} · {session.folder} · {plural(len(messages), 'message')}")
    called = {call.id: call.name for message in messages for call in message.tool_calls}
    for message in messages:
        said = [message.content] if message.content or not message.tool_calls else []
        # Complete, unlike in a chat: whoever asks for a session wants to know what was called with what.
        said += [f"→ {call.name} {call.arguments}" for call in message.tool_calls]
        said += [message.detail] if message.detail else []
        put(invocation.host, "\n".join([f"\n{_role(message, called)}:", *said]))


@command.command("search")
@click.argument("text")
@click.option("--all", "everywhere", is_flag=True, help="In every folder's sessions, not only this one's.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@workspace_option
@place_options
@click.pass_obj
def search(invocation: Invocation, *, text: str, everywhere: bool, limit: int, as_json: bool) -> None:
    """Find messages that have all words of TEXT; the last word may be a beginning."""
    folder = None if everywhere else workspace_of(invocation)
    with history_of(invocation) as history:
        hits = history.search(text, folder, limit) if history is not None else []
    if as_json:
        put_json(invocation.host, {"schema": _SCHEMA, "hits": [_hit_json(hit) for hit in hits]})
    elif not hits:
        invocation.host.talk.note("No message has these words.")
    else:
        rows = [(hit.session.name, hit.role, when(hit.created), hit.snippet) for hit in hits]
        put_table(invocation.host, ("SESSION", "ROLE", "WHEN", "TEXT"), rows)


@command.command("rename")
@click.argument("name", shell_complete=completing.sessions)
@click.argument("title")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def rename(invocation: Invocation, *, name: str, title: str, as_json: bool) -> None:
    """Give a session another name."""
    with stored_session(invocation, name) as (history, session):
        renamed = history.rename(session.id, title)
    if as_json:
        put_json(invocation.host, {"schema": _SCHEMA, "session": _session_json(renamed)})
    else:
        put(invocation.host, f"{session.name} is now {renamed.name}.")


@command.command("fork")
@click.argument("name", metavar="SESSION", shell_complete=completing.sessions)
@click.argument("title", metavar="[NEW]", required=False, default="")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def fork(invocation: Invocation, *, name: str, title: str, as_json: bool) -> None:
    """Copy a session's current branch into a new session, called NEW if that is given.

    Also while another program writes SESSION. The copy finds the same checkpoints: nothing is read again.
    """
    with stored_session(invocation, name) as (history, session):
        forked = history.fork(session.id, title)
        count = len(history.branch(history.head(forked.id)))
    if as_json:
        put_json(invocation.host, {"schema": _SCHEMA, "session": _session_json(forked), "messages": count})
    else:
        put(invocation.host, f"Copied {plural(count, 'message')} of {session.name}.")
        put(invocation.host, f"Go on: skippy-chat --session {shlex.quote(forked.name)}")


@command.command("rm")
@click.argument("name", shell_complete=completing.sessions)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def remove(invocation: Invocation, *, name: str, yes: bool, as_json: bool) -> int:
    """Remove a session with all its branches, for good."""
    with (
        stored_session(invocation, name) as (history, session),
        SessionLock(paths_of(invocation).locks_dir, session.id),
    ):
        count = _count(history, session)
        question = f"Remove {session.name} and its {plural(count, 'message')} for good?"
        if not confirm(invocation.host, question, yes=yes):
            invocation.host.talk.note("Nothing was removed.")
            return 1
        history.delete(session.id)
        # What tools wrote for it alone; before-images stay, within their bound, since a copy may undo with them.
        shutil.rmtree(paths_of(invocation).tool_output_dir / session.id, ignore_errors=True)
    if as_json:
        put_json(invocation.host, {"schema": _SCHEMA, "removed": session.id, "messages": count})
    else:
        put(invocation.host, f"Removed {session.name}.")
    return 0


def _count(history: History, session: Session) -> int:
    return next(each.messages for each in history.overviews() if each.session.id == session.id)


def _row(overview: Overview, *, everywhere: bool) -> tuple[str, str, str, str]:
    session = overview.session
    about = "" if session.title else session.made_title
    last = session.folder if everywhere else about or overview.opening[:60]
    return session.name, f"{overview.messages:,}", when(session.updated), last


def _role(message: Message, called: Mapping[str, str]) -> str:
    role = {"user": "You", "assistant": "Assistant", "system": "System", "tool": "Tool"}[message.role]
    if message.role == "tool":
        from skippy_chat.tool_wording import status_mark  # noqa: PLC0415 - what tools are, only where some were called

        name = called.get(message.tool_call_id or "", "")
        role = " ".join(each for each in (role, name, status_mark(message.status)) if each)
    return role if message.state == "complete" else f"{role} [{message.state}]"


def _session_json(session: Session) -> dict[str, Any]:
    return {**dataclasses.asdict(session), "name": session.name, "label": session.label}


def _overview_json(overview: Overview) -> dict[str, Any]:
    return {**_session_json(overview.session), "messages": overview.messages, "begins": overview.opening}


def _hit_json(hit: Hit) -> dict[str, Any]:
    return {
        "session": hit.session.id,
        "name": hit.session.name,
        "message": hit.message,
        "role": hit.role,
        "text": hit.snippet,
        "created": hit.created,
    }


for _each in (branches, export_session, import_session):
    command.add_command(_each)
