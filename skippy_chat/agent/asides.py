"""Side questions: asked behind a conversation, answered when it has nothing to ask, and kept nowhere.

Invariant: the conversation never waits for one, and nothing of it is stored: no message, no ledger, no checkpoint.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from skippy_chat.agent.titles import SideEngine
from skippy_chat.chat.messages import Message
from skippy_chat.engine.protocol import StepReply, StepRequest
from skippy_chat.events import StepFinished


@dataclass(frozen=True, slots=True)
class SideAnswer:
    """What came of a side question; ``finished`` is the step that gave it, with its counts."""

    text: str
    reasoning: str
    finished: StepFinished


def stands_on(branch: Sequence[Message]) -> Sequence[Message]:
    """Return the branch up to its last whole answer: what comes behind that is still being talked about."""
    for count in range(len(branch), 0, -1):
        last = branch[count - 1]
        if last.role == "system" or (
            last.role == "assistant" and last.state == "complete" and not last.tool_calls
        ):
            return branch[:count]
    return ()


def side_request(behind: StepRequest, text: str) -> StepRequest:
    """Return the request that asks ``text`` behind a conversation's; it calls no tool and leaves nothing behind."""
    return replace(
        behind,
        messages=[*behind.messages, {"role": "user", "content": text}],
        replay=False,
        tool_choice="none",
        json_schema=None,
        record=False,
    )


def ask_aside(engine: SideEngine, request: StepRequest) -> SideAnswer:
    """Ask and wait, for as long as the conversation keeps the model busy; from any thread.

    Raises:
        EngineDied: there is no worker, or it ended.
        SkippyError: as the worker said; CheckpointError where coming back would cost the conversation a prefill.
    """
    finished = StepFinished()
    with contextlib.closing(engine.aside(request)) as items:
        for item in items:
            if isinstance(item, StepFinished):
                finished = item  # an attempt that gave way has one, too: the last one counts
            elif isinstance(item, StepReply):
                return SideAnswer(item.text, item.reasoning, finished)
    raise AssertionError("a request ends with a reply or an error")
