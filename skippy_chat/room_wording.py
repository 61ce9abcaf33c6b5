"""What faces say about room in the context, and what can be done where there is none.

Invariant: every figure is the worker's, and a way out is told only where it leads somewhere.
"""

from __future__ import annotations

from skippy_chat.agent.protocol import LoadedModel
from skippy_chat.agent.room import Dropped, Room
from skippy_chat.wording import plural

SMALLEST = 256
"""The least context that a session can be opened with, in tokens."""


def room_text(room: Room) -> str:
    """Return what fills the context, and what of it is what."""
    lines = [f"{room.used:,} of {plural(room.context_size, 'token')} in use ({_share(room)})."]
    if room.over:
        lines.append(f"{plural(room.over, 'token')} too many to answer.")
    kinds = (
        ("system prompt", room.system),
        ("tools", room.tools),
        ("messages", room.messages),
        ("tool output", room.results),
    )
    parts = [f"{name} {tokens:,}" for name, tokens in kinds if tokens]
    return "\n".join([*lines, " · ".join(parts)]).rstrip()


def dropped_text(dropped: Dropped) -> str:
    """Return what leaving out results gave back."""
    results = plural(dropped.results, "result")
    return f"Left out {results} of tools: {plural(dropped.tokens, 'token')} less. The old branch stays: /back shows it."


def larger_context(room: Room, model: LoadedModel) -> int | None:
    """Return the next larger context in which the conversation fits, in tokens; None where the model has none.

    Twice as large as now, or as often as it takes, and no more than the model was trained for.
    """
    size = room.context_size
    while size <= room.used or size == room.context_size:
        size *= 2
    size = min(size, model.trained_context)
    return size if size > max(room.used, room.context_size) else None


def context_meant(text: str, model: LoadedModel) -> int | None:
    """Return the size of a context that a person typed, in tokens; None where it cannot be one."""
    digits = text.replace(",", "").replace("_", "")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 9:
        return None
    size = int(digits)
    return size if SMALLEST <= size <= (model.trained_context or size) else None


def _share(room: Room) -> str:
    return f"{100 * room.used / max(1, room.context_size):.0f} %"
