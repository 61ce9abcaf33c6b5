"""Why nothing was reused, where only the history knows: the worker sees one model's tree, and no other's answers."""

from __future__ import annotations

from collections.abc import Sequence

from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Message
from skippy_chat.engine.protocol import StepRequest
from skippy_chat.events import MissReason

# What the worker says of a conversation that it has never seen, whoever else has.
_UNSEEN = frozenset({"nothing_stored", "diverged"})


def told(
    reason: MissReason | None, history: History, branch: Sequence[Message], request: StepRequest
) -> MissReason | None:
    """Return ``other_model`` in place of a reason when ``branch`` has been read, and by others than this model only.

    ``request`` carries the answers that this model gave of it.
    """
    if reason is None or reason.kind not in _UNSEEN or request.answers:
        return reason
    others = any(
        history.ledger_identities(each.id) for each in branch if each.role == "assistant" and each.id
    )
    return MissReason("other_model") if others else reason
