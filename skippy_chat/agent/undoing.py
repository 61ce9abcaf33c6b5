"""Putting back what the newest turn of a branch wrote."""

from __future__ import annotations

from collections.abc import Sequence

from skippy_chat.agent.toolbox import Toolbox
from skippy_chat.agent.tools.journal import Undone
from skippy_chat.chat.messages import Message
from skippy_chat.errors import UndoRefused


def undo_newest(box: Toolbox | None, branch: Sequence[Message]) -> Undone:
    """Put back the files of the newest turn of a branch that wrote some and was not undone yet.

    Raises:
        UndoRefused: there is nothing to undo, or a file was changed since.
    """
    if box is None or box.journal is None:
        raise UndoRefused("Nothing can be undone: this session offers no tools that write.")
    turns = dict.fromkeys(each.turn for each in reversed(branch) if each.turn)
    for turn in turns:
        if box.journal.stands(turn, box.context.gate):
            return box.journal.undo(turn, box.context.gate)
    raise UndoRefused("No turn of this branch wrote files that could be put back.")
