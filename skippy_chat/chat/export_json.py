"""A session as JSON that can be imported again: the one export that keeps every text as it was stored.

Written a message to a line, so that two exports can be compared. Invariant: reading it back and writing it again gives
the same, but for ids and the times of the session; and no character that a terminal acts on stands in it bare.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from skippy_chat.chat.importing_settings import settings_that_travel
from skippy_chat.chat.ledger import Ledger, pack_ids, shared_prefix
from skippy_chat.chat.messages import Message
from skippy_chat.chat.trees import SessionTree, nearest_ledgers
from skippy_chat.text.json_text import escaped

FORMAT = "skippy-chat session"
SCHEMA = 1


def json_export(tree: SessionTree) -> str:
    """Return a session as JSON text; the folder stays behind, and settings that hold only where they were said."""
    session = tree.session
    about = {
        "title": session.title,
        "model": session.model,
        "settings": settings_that_travel(session.settings),
        "created": session.created,
        "updated": session.updated,
    }
    head = {"format": FORMAT, "schema": SCHEMA, "session": about, "heads": dict(tree.heads)}
    parts = [json.dumps(head, ensure_ascii=False, indent=2).removesuffix("\n}")]
    parts.append(_rows("messages", map(_message, tree.messages)))
    if tree.ledgers:
        parts.append(_rows("ledgers", _ledgers(tree)))
    return escaped(",\n".join(parts) + "\n}\n")


def _rows(key: str, rows: Iterator[dict[str, Any]]) -> str:
    lines = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in rows)
    return f'  "{key}": [\n{lines}\n  ]' if lines else f'  "{key}": []'


def _message(message: Message) -> dict[str, Any]:
    """Return a message, its unset parts left out; arguments of calls are the model's raw text."""
    data: dict[str, Any] = {"id": message.id, "parent": message.parent, "role": message.role}
    data["content"] = message.content
    if message.reasoning is not None:
        data["reasoning"] = message.reasoning
    if message.tool_calls:
        data["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        data["tool_call_id"] = message.tool_call_id
    data["state"] = message.state
    if message.finish_reason is not None:
        data["finish_reason"] = message.finish_reason
    if message.status is not None:
        data["status"] = message.status
    if message.detail:
        data["detail"] = message.detail
    if message.turn:
        data["turn"] = message.turn
    if message.edited:
        data["edited"] = True
    data["created"] = message.created
    return data


def _ledgers(tree: SessionTree) -> Iterator[dict[str, Any]]:
    """Yield each ledger as what it adds to the next one above, or a conversation would be written many times."""
    bases = nearest_ledgers(tree)
    known: dict[tuple[str, str], Ledger] = {(at, ledger.identity): ledger for at, ledger in tree.ledgers}
    for at, ledger in tree.ledgers:
        base = bases[at, ledger.identity]
        before = () if base is None else known[base, ledger.identity].ids
        shared = shared_prefix(pack_ids(ledger.ids), pack_ids(before))
        yield {
            "message": at,
            "identity": ledger.identity,
            "prompt_tokens": ledger.prompt_tokens,
            "base": base if shared else None,
            "shared": shared,
            "ids": ledger.ids[shared:],
            "schedule": [[run.tokens, int(run.single)] for run in ledger.schedule],
            "sampling": ledger.sampling,
        }
