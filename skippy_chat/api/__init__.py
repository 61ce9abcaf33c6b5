"""The library: hold a conversation from a script, with the same engine, history and checkpoints as the faces.

Invariant: it imports no face and no face imports it; ``import skippy_chat`` loads nothing of it before it is used.
"""

from skippy_chat.agent.tools.function import tool
from skippy_chat.api.approving import Verdict
from skippy_chat.api.aside import Aside
from skippy_chat.api.chat import Skippy
from skippy_chat.api.reply import CallMade, Reply, Step
from skippy_chat.api.stream import Stream

__all__ = ["Aside", "CallMade", "Reply", "Skippy", "Step", "Stream", "Verdict", "tool"]
