"""Another text for what the model said or a tool gave: the box holds it, Enter stores it, and no turn begins.

Invariant: nothing is changed while an answer is written; a text that cannot be stored is back in the box.
"""

from __future__ import annotations

from skippy_chat.agent.protocol import Conversation
from skippy_chat.chat.messages import Message
from skippy_chat.tui.bridge import Done
from skippy_chat.tui.command import Parts
from skippy_chat.tui.message import MessageView
from skippy_chat.tui.pointing import UNFINISHED, may_change, stop_first
from skippy_chat.wording import amended


def amendable(parts: Parts, view: MessageView | None) -> Message | None:
    """Return the answer or the result that a view shows, if it may be changed now; the status bar says why not."""
    if view is None or not may_change(parts, "edit"):
        return None
    if view.message is None:
        parts.bar.change(hint=UNFINISHED)
    elif view.role == "system":
        parts.bar.change(hint="The system prompt stays what the session began with.")
    else:
        return view.message
    return None


def amend(parts: Parts, message: Message, text: str) -> None:
    """Store a text as a version of an answer or a result."""

    def again() -> None:
        parts.editing.begin(message)
        parts.composer.put(text)

    if not parts.turns.free:
        again()
        parts.bar.change(hint=stop_first("edit"))
        return

    def store(conversation: Conversation) -> str:
        conversation.amend(message.id, text)
        return amended(conversation.messages())

    def then(done: Done) -> None:
        if done.error is not None:
            again()

    parts.turns.do(store, then)
