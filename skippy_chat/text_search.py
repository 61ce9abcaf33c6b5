"""Looking for words in a conversation: where they stand, counted, by message; the same for every face.

A message is sought as it was written; marks of emphasis and code (``**so**``, `` `so` ``) around words are passed over
unless they are sought themselves. Invariant: an order of places is that of the conversation, from its beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skippy_chat.chat.messages import Message
from skippy_chat.text.folding import fold
from skippy_chat.text.sanitise import sanitise

_EMPHASIS = re.compile(r"(?<!\w)[*_`~]+|[*_`~]+(?!\w)")
_EMPHASIS_MARKS = frozenset("*_`~")


@dataclass(frozen=True, slots=True)
class Place:
    """One place where the words stand: the ``number``-th (from 0) of ``count`` in one part of a message.

    ``part`` is text (what was said), aside (reasoning, or the calls of an answer) or given (the call of a result).
    """

    message: str
    part: str
    number: int
    count: int


class Searched:
    """A branch that is searched again and again while the words are typed: it is folded once."""

    def __init__(self, messages: Sequence[Message]) -> None:
        """Take a branch, root first."""
        calls = {call.id: f"{call.name} {call.arguments}" for each in messages for call in each.tool_calls}
        answered = {each.tool_call_id for each in messages if each.role == "tool"}
        self._parts = [part for each in messages for part in _parts(each, calls, answered)]
        self._bare: list[str] | None = None

    def places(self, words: str) -> list[Place]:
        """Return every place where ``words`` stand; none for words that are empty."""
        wanted = fold(words.strip())
        if not wanted:
            return []
        texts = [text for _, _, text in self._parts]
        if not _EMPHASIS_MARKS & set(wanted):
            self._bare = self._bare or [_EMPHASIS.sub("", text) for text in texts]
            texts = self._bare
        found = []
        for (message, part, _), text in zip(self._parts, texts, strict=True):
            count = text.count(wanted)
            found += [Place(message, part, number, count) for number in range(count)]
        return found


def _parts(
    message: Message, calls: dict[str, str], answered: set[str | None]
) -> Iterator[tuple[str, str, str]]:
    """Yield what of a message shows somewhere, folded, in the order in which it shows."""
    if message.reasoning:
        yield message.id, "aside", fold(sanitise(message.reasoning))
    if message.tool_call_id is not None and message.tool_call_id in calls:
        yield message.id, "given", fold(sanitise(calls[message.tool_call_id]))
    yield message.id, "text", fold(sanitise(message.content))
    if message.detail:
        yield message.id, "text", fold(sanitise(message.detail))
    for call in message.tool_calls:
        if call.id not in answered:
            yield message.id, "aside", fold(sanitise(calls[call.id]))
