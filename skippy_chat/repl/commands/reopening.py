"""This session opened anew under other settings, such as another model or a larger context.

Invariant: a session in which nothing was said is begun again, since one that is left so is not kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from skippy_chat.repl.commands.command import Chat
from skippy_chat.repl.going import GoOn


def reopened(chat: Chat, changes: Mapping[str, object]) -> GoOn:
    """Return how to go on with the same session, which keeps ``changes`` of its settings."""
    session = chat.conversation.session
    if chat.conversation.leaves():
        chat.conversation.keep()
        return GoOn(session=session.id, changes=changes)
    return GoOn(new=True, title=session.title, changes=changes)
