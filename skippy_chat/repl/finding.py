"""Where words stand in a branch, a line for each: the twin of the app's search for a screen of lines.

Invariant: what counts as a place is what ``text_search`` says, so every face counts the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skippy_chat.chat.messages import Message
from skippy_chat.errors import UsageError
from skippy_chat.repl.telling import ROLES
from skippy_chat.text.folding import Folded, fold
from skippy_chat.text.sanitise import sanitise
from skippy_chat.text_search import Searched
from skippy_chat.wording import plural

_BEFORE, _AFTER = 30, 50
_MOST = 50


def found_text(messages: Sequence[Message], words: str, *, sentences: bool = False) -> str:
    """Return the lines of a branch in which ``words`` stand, each behind its turn's number, and how many places.

    Raises:
        UsageError: there are no words.
    """
    if not words.strip():
        raise UsageError("The words to look for are missing.", "Give some: /find TEXT")
    places = Searched(messages).places(words)
    if not places:
        return f"“{words.strip()}” stands nowhere in this branch."
    holding = {place.message for place in places}
    lines = list(_lines(messages, holding, fold(words.strip()), sentences=sentences))
    told = f"{plural(len(places), 'place')} in {plural(len(holding), 'message')}. /goto N shows turn N."
    if len(lines) > _MOST:
        lines = [*lines[:_MOST], f"… {plural(len(lines) - _MOST, 'line')} more …"]
    return "\n".join([*lines, told])


def _lines(messages: Sequence[Message], holding: set[str], wanted: str, *, sentences: bool) -> Iterator[str]:
    turn = 0
    for message in messages:
        turn += message.role == "user"
        if message.id in holding:
            for line in _excerpts(message, wanted):
                place = f"Turn {max(1, turn)}, " if sentences else f"{max(1, turn):>3}  "
                yield f"{place}{ROLES[message.role]}: {line}"


def _excerpts(message: Message, wanted: str) -> Iterator[str]:
    """Yield each line of a message that holds the words, or its first where they stand between the lines."""
    parts = [message.reasoning or "", message.content, message.detail]
    parts += [f"{call.name} {call.arguments}" for call in message.tool_calls]
    lines = [line for part in parts for line in sanitise(part).splitlines() if line.strip()]
    shown = [_around(line, spans[0][0]) for line in lines if (spans := Folded(line).spans(wanted))]
    yield from shown or [_around(line, 0) for line in lines[:1]] or ["a call of a tool"]


def _around(line: str, at: int) -> str:
    begin = max(0, at - _BEFORE)
    text = " ".join(line[begin : at + _AFTER].split())
    return f"{'…' if begin else ''}{text}{'…' if len(line) > at + _AFTER else ''}"
