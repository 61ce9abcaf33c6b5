"""Taking a conversation in: from a file of our own export, or a list of messages as other programs have them.

Invariant: the whole file is checked before anything is stored, and all of it is stored or nothing. It never gets rights
here: what was allowed elsewhere is asked about again.
"""

from __future__ import annotations

from dataclasses import dataclass

from skippy_chat.chat.importing_openai import read_openai
from skippy_chat.chat.importing_own import is_own, read_own
from skippy_chat.chat.importing_values import MOST_BYTES, Found, parse
from skippy_chat.chat.pairing import unanswered
from skippy_chat.chat.trees import SessionTree
from skippy_chat.errors import ImportRefused

__all__ = ["MOST_BYTES", "Imported", "read_import"]


@dataclass(frozen=True, slots=True)
class Imported:
    """A conversation that can be stored with ``History.plant``, and what a person should know of it."""

    tree: SessionTree
    notes: tuple[str, ...]


def read_import(data: bytes, *, now: int, ledgers: bool = False) -> Imported:
    """Read and check a file; ``now`` is milliseconds since the epoch.

    ``ledgers`` takes over which token ids a model was fed, where the file has that: only for files one made oneself,
    since the ids are fed again as they stand.

    Raises:
        ImportRefused: it is no conversation; what, where and the mend.
    """
    value = parse(data)
    if is_own(value):
        tree = read_own(Found(value, ""), ledgers=ledgers)
    elif isinstance(value, dict) and {"schema", "session", "messages"} <= value.keys():
        raise ImportRefused(
            "This is what sessions show --json prints.",
            "Export the session instead: skippy-chat sessions export NAME --format json",
        )
    elif isinstance(value, dict) and "messages" in value:
        tree = read_openai(Found(value["messages"], "messages"), now)
    elif isinstance(value, list):
        tree = read_openai(Found(value, "messages"), now)
    else:
        raise ImportRefused(
            "The file is neither an exported session nor a list of messages.",
            'A list looks like: [{"role": "user", "content": "Hello"}]',
        )
    return Imported(tree, tuple(_notes(tree)))


def _notes(tree: SessionTree) -> list[str]:
    notes = []
    tools = tree.session.settings.get("tools")
    if tools:
        named = tools if isinstance(tools, str) else ", ".join(map(str, tools))
        notes.append(f"This session offers its model tools: {named}. --tools none keeps them away.")
    open_calls = len(unanswered(tree.branch().messages))
    if open_calls:
        notes.append(
            f"{open_calls} call{'s' * (open_calls != 1)} at the end got no result;"
            " when the session is opened, the model is told that nothing ran."
        )
    lost = _results_without_calls(tree)
    if lost:
        notes.append(
            f"{lost} result{'s' * (lost != 1)} of tools stand{'s' * (lost == 1)} behind no such call;"
            " the model reads them as your words."
        )
    return notes


def _results_without_calls(tree: SessionTree) -> int:
    calls = {each.id: {call.id for call in each.tool_calls} for each in tree.messages}
    above = tree.callers()
    return sum(
        each.tool_call_id not in calls.get(above[each.id] or "", set())
        for each in tree.messages
        if each.role == "tool"
    )
