"""Who answers when a tool call needs approval: a function of the script, before the turn goes on.

Invariant: what the function raises denies the call and ends the turn; nothing runs but what was expressly allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from skippy_chat.agent.protocol import Conversation
from skippy_chat.events import ApprovalNeeded


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer with more to it than yes or no: ``scope`` is one of those offered, ``reason`` is told to the model."""

    allowed: bool
    scope: str = "once"
    reason: str = ""


OnApproval: TypeAlias = Callable[[ApprovalNeeded], "bool | Verdict"]


def answer(conversation: Conversation, asked: ApprovalNeeded, on_approval: OnApproval) -> None:
    """Have the script's function decide.

    Raises:
        UsageError: it answered with a scope that was not offered; the call is denied then.
    """
    try:
        given = on_approval(asked)
        verdict = given if isinstance(given, Verdict) else Verdict(allowed=given is True)
        conversation.decide(asked.call, allowed=verdict.allowed, scope=verdict.scope, reason=verdict.reason)
    except BaseException:
        conversation.cancel()
        raise
