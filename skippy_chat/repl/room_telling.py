"""What the REPL says about room in the context, and about the choices where there is none.

Invariant: every figure is the worker's, and every choice is one that is there.
"""

from __future__ import annotations

from skippy_chat.agent.protocol import LoadedModel
from skippy_chat.agent.room import Dropped, Room
from skippy_chat.events import FinishReason
from skippy_chat.room_wording import larger_context
from skippy_chat.wording import plural

SUMMARY_ENDINGS: dict[FinishReason, str] = {
    "cancelled": "Stopped; this branch stays as it was.",
    "length": "The summary was cut where it got too long.",
    "error": "The summary broke off; this branch stays as it was.",
}


def room_sentences(room: Room) -> str:
    """Return what fills the context, by kind, a sentence each."""
    share = 100 * room.used / max(1, room.context_size)
    lines = [f"The prompt takes {room.used:,} of {plural(room.context_size, 'token')} ({share:.0f} %)."]
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
    return "\n".join(lines)


def choices(room: Room | None, model: LoadedModel) -> list[str]:
    """Return what can be done about a context that is full; without a ``room`` nobody knows what fills it."""
    lines = ["/compact goes on with a summary, in a new branch; the old one stays."]
    if room is None or room.droppable:
        about = f", about {plural(room.droppable, 'token')}" if room is not None else ""
        lines.append(f"/drop leaves out what tools gave in older turns{about}.")
    lines.append("/fork goes on in a copy; /edit N or /remove N change an older message.")
    larger = None if room is None else larger_context(room, model)
    if larger is not None:
        most = model.trained_context
        lines.append(
            f"/context {larger} opens this session with a larger context; up to {most:,} tokens can be."
        )
    return lines


def dropped_text(dropped: Dropped) -> str:
    """Return what leaving out results gave back."""
    results = plural(dropped.results, "result")
    return f"Left out {results} of tools: {plural(dropped.tokens, 'token')} less. The old branch stays: /back"
