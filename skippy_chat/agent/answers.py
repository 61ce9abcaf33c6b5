"""An answer while it is written: kept in the history as interrupted, so that a crash loses at most a second of it."""

from __future__ import annotations

from collections.abc import Callable

from skippy_chat.chat.history import History
from skippy_chat.chat.ledger import Ledger
from skippy_chat.chat.messages import Message, State, ToolCall
from skippy_chat.engine.protocol import StepReply
from skippy_chat.events import Event, ReasoningDelta, TextDelta

_SAVE_EVERY_SECONDS = 1.0


class PartialAnswer:
    """The assistant's message under ``parent``; it is made when its first text comes.

    Calls are stored only when the answer is whole: half a call is none.
    """

    def __init__(
        self, history: History, session: str, parent: str, turn: str, clock: Callable[[], float]
    ) -> None:
        self._history = history
        self._session = session
        self._parent = parent
        self._turn = turn
        self._clock = clock
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._saved_at = 0.0
        self._unsaved = False
        self.message_id: str | None = None

    def take(self, event: Event) -> None:
        """Take in more text or thoughts, and store all when a second has gone since the last time."""
        if isinstance(event, TextDelta):
            self._text.append(event.text)
        elif isinstance(event, ReasoningDelta):
            self._reasoning.append(event.text)
        else:
            return
        self._unsaved = True
        now = self._clock()
        if self.message_id is None or now - self._saved_at >= _SAVE_EVERY_SECONDS:
            self._save()
            self._saved_at = now

    def finish(self, reply: StepReply, ledger: Ledger | None, base: str | None) -> Message | None:
        """Store the answer as it ended, with its ledger; None when it was stopped before its first token."""
        state: State = "interrupted" if reply.finish_reason == "cancelled" else "complete"
        self._unsaved = False
        if self.message_id is None:
            if state == "interrupted" and not (reply.text or reply.reasoning or reply.calls):
                return None
            self.message_id = self._append("", None).id
        return self._history.finish(
            self.message_id,
            reply.text,
            reasoning=reply.reasoning or None,
            # An answer that cannot be read stands as the text it is, its whole calls within it.
            tool_calls=[]
            if reply.malformed
            else [ToolCall(each.id, each.name, each.arguments) for each in reply.calls],
            state=state,
            finish_reason=reply.finish_reason,
            ledger=ledger,
            base=base,
        )

    def give_up(self) -> None:
        """Store what came so far, as interrupted; nothing happens after ``finish``."""
        if self._unsaved:
            self._save()

    def _save(self) -> None:
        text, reasoning = "".join(self._text), "".join(self._reasoning) or None
        if self.message_id is None:
            self.message_id = self._append(text, reasoning).id
        else:
            self._history.finish(self.message_id, text, reasoning=reasoning, state="interrupted")
        self._unsaved = False

    def _append(self, text: str, reasoning: str | None) -> Message:
        return self._history.append(
            self._session,
            self._parent,
            "assistant",
            text,
            reasoning=reasoning,
            state="interrupted",
            turn=self._turn,
        )
