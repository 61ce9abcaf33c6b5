"""Ids of tool calls: the model's own where it wrote one, else given here.

Invariant: no two calls of a conversation have the same id, and the same conversation always gives the same ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class CallIds:
    """Gives ids to the calls of the next answer."""

    def __init__(self, messages: Sequence[Mapping[str, Any]]) -> None:
        calls = [call for message in messages for call in message.get("tool_calls") or ()]
        self._used = {str(call.get("id") or "") for call in calls}
        self._number = len(calls)

    def give(self, own: str = "") -> str:
        """Return the id of the next call; ``own`` is what the model wrote, empty if it wrote none.

        Nine letters and digits, which is what the strictest templates (Mistral's) ask for.
        """
        chosen = own
        while not chosen or chosen in self._used:
            chosen = f"call{self._number:05d}"
            self._number += 1
        self._used.add(chosen)
        return chosen
