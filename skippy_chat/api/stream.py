"""A turn as it happens: events one by one, and the reply when they are through.

Invariant: a turn is read to its end whatever the script does. One that is left in the middle is stopped, and what was
written of the answer is kept, marked interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from typing_extensions import Self

from skippy_chat.agent.protocol import Conversation
from skippy_chat.api.approving import OnApproval, answer
from skippy_chat.api.reply import Reply, reply_from
from skippy_chat.errors import SkippyError, UsageError
from skippy_chat.events import ApprovalNeeded, Event
from skippy_chat.turn_log import TurnLog


class Stream:
    """The events of one turn; ``reply`` holds what it came to once they are through."""

    def __init__(
        self,
        conversation: Conversation,
        events: Iterator[Event],
        on_approval: OnApproval | None,
        parse: Callable[[str], Any] | None,
    ) -> None:
        """``parse`` makes data of an answer that came to its end."""
        self._conversation = conversation
        self._events = events
        self._on_approval = on_approval
        self._parse = parse
        self._log = TurnLog()
        self._open = True
        self._reply: Reply | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        try:
            event = next(self._events)
            self._log.add(event)
            if isinstance(event, ApprovalNeeded) and self._on_approval is not None:
                answer(self._conversation, event, self._on_approval)
        except StopIteration:
            self._end()
            raise
        except BaseException:
            self.close()
            raise
        return event

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def reply(self) -> Reply:
        """What the turn came to.

        Raises:
            UsageError: it is not through, or it was left in the middle.
        """
        if self._reply is None:
            raise UsageError("This turn is not at its end.", "Read its events to the end first.")
        return self._reply

    def read(self) -> Reply:
        """Read what is left and return the reply.

        Raises:
            SkippyError: as the turn said.
            AnswerUnfit: the answer is not what was asked for.
        """
        for _ in self:
            pass
        return self.reply

    def close(self) -> None:
        """Stop the turn if it still runs, and let it store what there is; safe to call twice."""
        if not self._open:
            return
        self._open = False
        self._conversation.cancel()
        try:
            for event in self._events:
                self._log.add(event)
        except SkippyError:
            pass  # whoever left it did not want to know

    def _end(self) -> None:
        if self._reply is None and self._open:
            self._open = False
            whole = self._parse is not None and self._log.finish_reason == "stop"
            self._reply = reply_from(
                self._log, self._parse(self._log.content) if whole and self._parse else None
            )
