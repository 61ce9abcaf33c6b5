"""What the REPL says about room in the context, and about the choices where there is none.

Invariant: every figure is the worker's, and every choice is one that is there.
"""

from __future__ import annotations

from skippy_chat.agent.protocol import LoadedModel
from skippy_chat.agent.room import Dropped, Room
from skippy_chat.wording import plural


def room_text(room: Room, model: LoadedModel) -> str:
    """Return what fills the context, by kind, a sentence each."""
    share = 100 * room.used / room.context_size if room.context_size else 0
    lines = [f"The prompt takes {room.used:,} of {room.context_size:,} tokens ({share:.0f} %)."]
    if room.over:
        lines.append(f"It is {plural(room.over, 'token')} too long to be answered.")
    for name, tokens in (
        ("The system prompt", room.system),
        ("The tools that are offered", room.tools),
        ("What was said", room.messages),
        ("What tools gave", room.results),
    ):
        if tokens:
            lines.append(f"{name}: {plural(tokens, 'token')}.")
    return "\n".join([*lines, *choices(room, model)] if room.over else lines)


def choices(room: Room | None, model: LoadedModel) -> list[str]:
    """Return what can be done about a context that is full; without a ``room`` nobody knows what fills it."""
    lines = ["/compact goes on with a summary, in a new branch; the old one stays."]
    if room is None or room.droppable:
        about = f", about {plural(room.droppable, 'token')}" if room is not None else ""
        lines.append(f"/drop leaves out what tools gave in older turns{about}.")
    lines.append("/fork goes on in a copy; /edit N or /remove N change an older message.")
    if model.trained_context > model.context_size:
        lines.append(
            f"/context N opens this session with a larger context, up to {model.trained_context:,} tokens."
        )
    return lines


def dropped_text(dropped: Dropped) -> str:
    """Return what leaving out results gave back."""
    results = plural(dropped.results, "result")
    return f"Left out {results} of tools in a new branch: {plural(dropped.tokens, 'token')} less. The old branch stays."
