"""Noticing a model that goes round in circles: the same call with the same result, three times.

A call that changes something, and was not made before, starts the count anew: running the tests again after an edit is
no circle.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from skippy_chat.agent.tools.protocol import Call, ToolResult

MOST = 3


@dataclass(slots=True)
class _Seen:
    result: str
    times: int


class RepeatWatch:
    """Counts calls and their results."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self._made: set[str] = set()

    def note(self, call: Call, result: ToolResult) -> None:
        """Take what a call gave."""
        key, digest = _key(call), _digest(f"{result.status}\0{result.text}")
        seen = self._seen.get(key)
        if key not in self._made and not call.tool.read_only and result.status == "ok":
            self._seen.clear()
        self._made.add(key)
        if seen is not None and seen.result == digest:
            seen.times += 1
        else:
            self._seen[key] = _Seen(digest, 1)

    def is_circling(self, call: Call) -> bool:
        """Tell whether this call gave the same result three times by now."""
        seen = self._seen.get(_key(call))
        return seen is not None and seen.times >= MOST

    def forgive(self, call: Call) -> None:
        """Count this call anew: a person said that it may go on."""
        self._seen.pop(_key(call), None)


def _key(call: Call) -> str:
    return _digest(call.tool.name + "\0" + json.dumps(call.arguments, sort_keys=True))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
