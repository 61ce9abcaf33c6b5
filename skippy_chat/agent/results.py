"""Storing what the calls of one answer gave, and telling it.

Invariant: what is told is durable. A result is there before its tool runs, in words that are true if the program dies
meanwhile; it is replaced by what the tool gave.
"""

from __future__ import annotations

from skippy_chat.agent.tools.protocol import ToolResult
from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Message, State, ToolCall
from skippy_chat.chat.pairing import CUT_OFF, NOT_RUN
from skippy_chat.events import ToolFinished


class Results:
    """The results of one answer's calls, in their order; ``last`` is the id of the last message stored."""

    def __init__(self, history: History, answer: Message) -> None:
        self._history = history
        self._answer = answer
        self.last = answer.id

    def add(self, call: ToolCall, result: ToolResult, *, state: State = "complete") -> ToolFinished:
        """Store the result of a call that did not run, or will not."""
        message = self._append(call, result, state)
        return _told(call, result, message)

    def not_run(self, call: ToolCall, why: str = NOT_RUN) -> ToolFinished:
        """Store that a call was not run, because the turn ended before it."""
        return self.add(call, ToolResult("error", why), state="interrupted")

    def begin(self, call: ToolCall) -> Message:
        """Store the result of a call that runs now, as it stands should nothing more be heard of it."""
        return self._append(call, ToolResult("error", CUT_OFF), "interrupted")

    def finish(
        self, message: Message, call: ToolCall, result: ToolResult, *, cut_off: bool = False
    ) -> ToolFinished:
        """Replace what ``begin`` stored; ``cut_off``: the tool was stopped, and this is as far as it came."""
        if cut_off:
            result = ToolResult(result.status, f"{result.text}\n{CUT_OFF}", result.more, result.spilled)
        stored = self._history.finish(
            message.id,
            result.text,
            state="interrupted" if cut_off else "complete",
            status=result.status,
            detail=result.more,
        )
        return _told(call, result, stored)

    def withdraw(self, message: Message, call: ToolCall) -> ToolFinished:
        """Replace what ``begin`` stored: the call did not run after all."""
        stored = self._history.finish(message.id, NOT_RUN, state="interrupted", status="error")
        return _told(call, ToolResult("error", NOT_RUN), stored)

    def _append(self, call: ToolCall, result: ToolResult, state: State) -> Message:
        message = self._history.append(
            self._answer.session,
            self.last,
            "tool",
            result.text,
            tool_call_id=call.id,
            state=state,
            status=result.status,
            turn=self._answer.turn,
        )
        self.last = message.id
        return message


def _told(call: ToolCall, result: ToolResult, message: Message) -> ToolFinished:
    return ToolFinished(
        call=call.id,
        name=call.name,
        status=result.status,
        result=message.content,
        detail=message.detail,
        spilled="" if result.spilled is None else str(result.spilled),
        message=message.id,
    )
