"""The /export of every face: an open conversation goes into a file of the working folder.

Invariant: no file that is there is ever replaced.
"""

from __future__ import annotations

from pathlib import Path

from skippy_chat.agent.protocol import Conversation
from skippy_chat.chat.export import FORMATS, ExportFormat, export_text, file_name, format_of
from skippy_chat.chat.export_file import write_export
from skippy_chat.chat.trees import SessionTree, joined_tree
from skippy_chat.errors import ExportFailed, UsageError
from skippy_chat.wording import plural

USAGE = "/export [md|json|html] [FILE]"


def export_here(conversation: Conversation, argument: str, folder: Path) -> str:
    """Write the conversation as ``argument`` says ([FORMAT] [FILE]), below ``folder``, and return what to tell.

    Without a format it is the one that FILE ends in, or Markdown; without FILE it is called like the session. JSON has
    all branches, the others have the current one.

    Raises:
        UsageError: nothing has been said.
        ExportFailed: the file is there already, or cannot be written.
    """
    form, name = _meant(argument)
    tree = _tree(conversation, everything=form == "json")
    if not tree.messages:
        raise UsageError("There is nothing to export yet.", "Write a message first.")
    path = folder / (Path(name).expanduser() if name else file_name(tree.session.label, form))
    path = path.parent.resolve() / path.name
    try:
        write_export(path, export_text(tree, form))
    except ExportFailed as error:
        raise ExportFailed(error.message, f"Name another file: {USAGE}") from error
    return f"Wrote {plural(len(tree.messages), 'message')} to {path}."


def _meant(argument: str) -> tuple[ExportFormat, str]:
    """Return the format and the file, empty where none is named; a name may have spaces."""
    first, _, rest = argument.strip().partition(" ")
    if first in FORMATS:
        return first, rest.strip()
    name = argument.strip()
    return (format_of(Path(name)) if name else None) or "md", name


def _tree(conversation: Conversation, *, everything: bool) -> SessionTree:
    current = conversation.messages()
    branches = [current]
    if everything:
        # Oldest first, as they were written; the current one is among them unless it ends in the middle.
        branches = [conversation.branch(leaf.id) for leaf in reversed(conversation.leaves())] + [current]
    return joined_tree(conversation.session, branches, current[-1].id if current else None)
