"""``skippy-chat sessions export|import|branches``: conversations out, in, and which branches there are."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path

import click

from skippy_chat.chat.export import FORMATS, ExportFormat, export_text, file_name, format_of
from skippy_chat.chat.export_file import write_export
from skippy_chat.chat.history import History
from skippy_chat.chat.importing import MOST_BYTES, read_import
from skippy_chat.chat.messages import Session
from skippy_chat.chat.trees import SessionTree
from skippy_chat.cli import completing
from skippy_chat.cli.host import Host
from skippy_chat.cli.opening import paths_of, stored_session, workspace_of
from skippy_chat.cli.options import Invocation, place_options, workspace_option
from skippy_chat.cli.output import put, put_json, put_table, when
from skippy_chat.errors import ImportRefused, UsageError
from skippy_chat.talk import on_terminal
from skippy_chat.wording import plural

_SCHEMA = 1
_STDIO = "-"


@click.command("branches")
@click.argument("name", required=False, shell_complete=completing.sessions)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@workspace_option
@place_options
@click.pass_obj
def branches(invocation: Invocation, *, name: str | None, as_json: bool) -> None:
    """List a session's branches, the newest first, by their last message; a star marks the current one."""
    with stored_session(invocation, name) as (history, session):
        leaves = history.leaves(session.id)
        lengths = [len(history.branch(each.id)) for each in leaves]
        current = {each.id for each in history.branch(history.head(session.id))}
    if as_json:
        listed = [
            {
                "message": leaf.id,
                "messages": length,
                "created": leaf.created,
                "current": leaf.id in current,
                "ends": leaf.content,
            }
            for leaf, length in zip(leaves, lengths, strict=True)
        ]
        put_json(invocation.host, {"schema": _SCHEMA, "session": session.id, "branches": listed})
        return
    rows = [
        ("*" if leaf.id in current else " ", leaf.id, f"{length:,}", when(leaf.created), leaf.content[:60])
        for leaf, length in zip(leaves, lengths, strict=True)
    ]
    put_table(invocation.host, ("", "LAST MESSAGE", "MESSAGES", "WHEN", "ENDS"), rows)


@click.command("export")
@click.argument("name", required=False, shell_complete=completing.sessions)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="md (default), json or html; else by FILE's ending."
)
@click.option(
    "--branch", metavar="MESSAGE", help="The branch that ends at this message (id, its start), or: current."
)
@click.option("--all-branches", is_flag=True, help="Every branch; JSON has them unless --branch is given.")
@click.option("--ledgers", is_flag=True, help="JSON: also which token ids the model was fed.")
@click.option("-o", "--output", metavar="FILE|-", help="Where to write; - is standard output.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@workspace_option
@place_options
@click.pass_obj
def export_session(
    invocation: Invocation,
    *,
    name: str | None,
    form: ExportFormat | None,
    branch: str | None,
    all_branches: bool,
    ledgers: bool,
    output: str | None,
    force: bool,
) -> None:
    """Write a session as Markdown, as a web page, or as JSON that `sessions import` reads.

    By name, id or the start of an id; the newest of this folder by default. Without -o a pipe gets the text, and at a
    terminal a file is made that is called like the session.
    """
    host = invocation.host
    if branch is not None and all_branches:
        raise UsageError("--branch does not go with --all-branches.", "Give one of them.")
    named = None if output in (None, _STDIO) else Path(output or "")
    shape: ExportFormat = form or (format_of(named) if named is not None else None) or "md"
    if ledgers and shape != "json":
        raise UsageError("Only JSON has a place for ledgers.", "Give --format json, or leave --ledgers out.")
    with stored_session(invocation, name) as (history, session):
        tree = history.tree(session.id, ledgers=ledgers)
    chosen = _chosen(tree, branch, everything=all_branches or (branch is None and shape == "json"))
    if tree.messages and not chosen.messages:
        invocation.talk.note("No branch of this session is the current one: --all-branches has them all.")
    talk = invocation.talk
    text = export_text(chosen, shape, lambda done, total: talk.progress("Writing messages", done, total))
    talk.clear()
    if output == _STDIO or (output is None and not on_terminal(host.stdout)):
        _put_text(host, text)
        return
    path = host.folder / (file_name(session.label, shape) if named is None else named.expanduser())
    path = path.parent.resolve() / path.name
    write_export(path, text, replace=force)
    put(host, f"Wrote {plural(len(chosen.messages), 'message')} of {session.name} to {path}.")


@click.command("import")
@click.argument("file", metavar="FILE|-")
@click.option("--title", metavar="NAME", default="", help="Call the session so, instead of as the file says.")
@click.option(
    "--ledgers",
    is_flag=True,
    help="Take over token ids that the file has: only from a file you made yourself.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@workspace_option
@place_options
@click.pass_obj
def import_session(invocation: Invocation, *, file: str, title: str, ledgers: bool, as_json: bool) -> None:
    """Store a conversation as a new session of this folder: an exported JSON file, or a list of messages.

    The list is as chat APIs have it: [{"role": "user", "content": "…"}, …], or {"messages": […]}.
    """
    host, folder = invocation.host, workspace_of(invocation)
    imported = read_import(_read(host, file), now=host.now_ms(), ledgers=ledgers)
    # Only now: what cannot be imported leaves nothing behind, not even an empty history.
    with History.open(paths_of(invocation).history_db, now=host.now_ms) as history:
        session = history.plant(
            imported.tree,
            folder=folder,
            title=title.strip(),
            on_progress=lambda done, total: invocation.talk.progress("Storing messages", done, total),
        )
        invocation.talk.clear()
    _tell_imported(host, session, imported.tree, imported.notes, as_json=as_json)


def _tell_imported(
    host: Host, session: Session, tree: SessionTree, notes: tuple[str, ...], *, as_json: bool
) -> None:
    count, ends = (
        len(tree.messages),
        len(tree.messages) - len({each.parent for each in tree.messages} - {None}),
    )
    if as_json:
        put_json(
            host,
            {
                "schema": _SCHEMA,
                "session": {**dataclasses.asdict(session), "name": session.name},
                "messages": count,
                "branches": ends,
                "notes": list(notes),
            },
        )
        return
    put(
        host,
        f"Imported {plural(count, 'message')} on {ends:,} branch{'' if ends == 1 else 'es'} as {session.name}.",
    )
    for note in notes:
        host.talk.note(note)
    put(host, f"Go on: skippy-chat --session {shlex.quote(session.name)}")


def _chosen(tree: SessionTree, branch: str | None, *, everything: bool) -> SessionTree:
    if everything:
        return tree
    if branch is None or branch.strip().lower() == "current":
        return tree.branch()
    return tree.branch(tree.message_meant(branch))


def _put_text(host: Host, text: str) -> None:
    """Write an export as what it is, a UTF-8 file; only a terminal gets it in the terminal's encoding."""
    raw = None if on_terminal(host.stdout) else getattr(host.stdout, "buffer", None)
    if raw is None:
        host.stdout.write(text)
        return
    host.stdout.flush()
    raw.write(text.encode())
    raw.flush()


def _read(host: Host, file: str) -> bytes:
    if file == _STDIO:
        raw = getattr(host.stdin, "buffer", None)
        if raw is None:
            return host.stdin.read(MOST_BYTES + 1).encode("utf-8", "surrogatepass")
        read: bytes = raw.read(MOST_BYTES + 1)
        return read
    path = host.folder / Path(file).expanduser()
    try:
        with path.open("rb") as opened:
            return opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise ImportRefused(
            f"{path} cannot be read: {error.strerror}.", "Name a file, or - for standard input."
        ) from error
