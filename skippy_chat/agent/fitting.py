"""Making what tools gave fit a context: a long result is shortened, before it can end a conversation for good.

Invariant: only results that no model has read are shortened, and what they were is kept in a file that they name.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path

from skippy_chat.agent.tools.output import keep
from skippy_chat.agent.tools.protocol import Limits
from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Message

# Below this nothing is gained: the line that says what was left out is as long.
LEAST_BYTES = 512


def bounded(limits: Limits, context_tokens: int) -> Limits:
    """Return limits under which one result leaves room in a context: as many bytes as that holds tokens.

    A token is seldom less than a byte, and three or four of them in prose.
    """
    return dataclasses.replace(
        limits, output_bytes=min(limits.output_bytes, max(context_tokens, LEAST_BYTES))
    )


def shorten(history: History, branch: Sequence[Message], folder: Path) -> bool:
    """Cut what is longest among the results at the end of a branch to half, the rest into files in ``folder``.

    Returns False, and changes nothing, when they have been read already or there is nothing to gain.
    """
    results = list(itertools.takewhile(lambda each: each.role == "tool", reversed(branch)))
    if not results or history.children(results[0].id, results[0].session):
        return False
    longest = max(_size(each) for each in results)
    if longest <= LEAST_BYTES:
        return False
    for each in results:
        if _size(each) > longest // 2:
            kept = keep(each.content, folder, each.tool_call_id or "", longest // 2)
            history.finish(each.id, kept.text, state=each.state, status=each.status, detail=each.detail)
    return True


def _size(message: Message) -> int:
    return len(message.content.encode())
