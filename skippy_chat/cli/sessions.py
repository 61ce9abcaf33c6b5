"""``skippy-chat sessions``: what was said, without a model."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from skippy_chat.chat.messages import Message
from skippy_chat.chat.searching import Found, Hit
from skippy_chat.cli import completing
from skippy_chat.cli.exchange import branches, export_session, import_session
from skippy_chat.cli.groups import Subcommands
from skippy_chat.cli.opening import history_of, stored_session, workspace_of
from skippy_chat.cli.options import Invocation, place_options, workspace_option
from skippy_chat.cli.output import put, put_json, put_table, when
from skippy_chat.cli.session_trash import SCHEMA, delete, prune, remove, restore, session_json
from skippy_chat.errors import UsageError
from skippy_chat.wording import plural


@click.group("sessions", cls=Subcommands)
@workspace_option
@place_options
def command() -> None:
    """List, show, search, rename, fork, delete, restore, export, import and remove stored conversations."""


@command.command("list")
@click.option("--all", "everywhere", is_flag=True, help="Of every folder, not only this one.")
@click.option("--search", metavar="TEXT", help="Those with all these words in their title or in a message.")
@click.option("--deleted", is_flag=True, help="Those that `sessions restore` brings back, of every folder.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@workspace_option
@place_options
@click.pass_obj
def list_sessions(
    invocation: Invocation, *, everywhere: bool, search: str | None, deleted: bool, limit: int, as_json: bool
) -> None:
    """List this folder's sessions, the last used first."""
    if deleted and search is not None:
        raise UsageError("--deleted does not go with --search.", "Restore the session first.")
    folder = None if everywhere else workspace_of(invocation)
    with history_of(invocation) as history:
        if history is None:
            found = []
        elif deleted:
            found = [Found(each) for each in history.deleted(limit)]
        else:
            found = history.found(search or "", folder, limit=limit)
    if as_json:
        put_json(invocation.host, {"schema": SCHEMA, "sessions": [_found_json(each) for each in found]})
    elif not found:
        invocation.host.talk.note(_none(folder, search=search, deleted=deleted))
    else:
        head = (
            "NAME",
            "MESSAGES",
            "DELETED" if deleted else "LAST USED",
            "FOLDER" if everywhere else "ABOUT",
        )
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
            "schema": SCHEMA,
            "session": session_json(session),
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
        put_json(invocation.host, {"schema": SCHEMA, "hits": [_hit_json(hit) for hit in hits]})
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
        put_json(invocation.host, {"schema": SCHEMA, "session": session_json(renamed)})
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
        put_json(invocation.host, {"schema": SCHEMA, "session": session_json(forked), "messages": count})
    else:
        put(invocation.host, f"Copied {plural(count, 'message')} of {session.name}.")
        put(invocation.host, f"Go on: skippy-chat --session {shlex.quote(forked.name)}")


def _none(folder: Path | None, *, search: str | None, deleted: bool) -> str:
    """Return what to say where nothing was found."""
    if deleted:
        return "No session is deleted."
    if search:
        return "No session has these words." + ("" if folder is None else " (--all looks in every folder.)")
    return (
        "No session is stored."
        if folder is None
        else f"No session belongs to {folder} (--all lists every one)."
    )


def _row(found: Found, *, everywhere: bool) -> tuple[str, str, str, str]:
    overview, session = found.overview, found.overview.session
    about = "" if session.title else session.made_title
    last = session.folder if everywhere else found.snippet or about or overview.opening[:60]
    return session.name, f"{overview.messages:,}", when(session.deleted or session.updated), last


def _role(message: Message, called: Mapping[str, str]) -> str:
    role = {"user": "You", "assistant": "Assistant", "system": "System", "tool": "Tool"}[message.role]
    if message.role == "tool":
        from skippy_chat.tool_wording import status_mark  # noqa: PLC0415 - what tools are, only where some were called

        name = called.get(message.tool_call_id or "", "")
        role = " ".join(each for each in (role, name, status_mark(message.status)) if each)
    marks = ([] if message.state == "complete" else [message.state]) + ["edited"] * message.edited
    return f"{role} [{', '.join(marks)}]" if marks else role


def _found_json(found: Found) -> dict[str, Any]:
    overview = found.overview
    return {
        **session_json(overview.session),
        "messages": overview.messages,
        "begins": overview.opening,
        "draft": overview.draft,
        "found": found.snippet,
    }


def _hit_json(hit: Hit) -> dict[str, Any]:
    return {
        "session": hit.session.id,
        "name": hit.session.name,
        "message": hit.message,
        "role": hit.role,
        "text": hit.snippet,
        "created": hit.created,
    }


for _each in (delete, restore, prune, remove, branches, export_session, import_session):
    command.add_command(_each)
