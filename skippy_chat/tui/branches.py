"""The branches of a session in a list, to go to one: also those that no mark in the transcript leads to.

Invariant: the conversation is asked behind the bridge; the list is what it said then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from skippy_chat.agent.protocol import Conversation
from skippy_chat.chat.messages import Message
from skippy_chat.errors import UsageError
from skippy_chat.tui.bridge import Done
from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.display import one_line
from skippy_chat.tui.modal import Modal
from skippy_chat.tui.pointing import may_change
from skippy_chat.tui.rows import Rows
from skippy_chat.wording import plural

_MOST = 200
_WIDTH = 60  # of words: with the facts beside them a line of 80 columns


@dataclass(frozen=True, slots=True)
class BranchRow:
    """A branch: its last message, what was asked where it leaves the one of now, and whether it is that one."""

    leaf: str
    question: str
    end: str
    messages: int
    now: bool


class BranchPicker(Modal[str]):
    """Returns the last message of the chosen branch, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c,ctrl+d", "dismiss", "Leave", priority=True),
    ]

    def __init__(self, rows: Sequence[BranchRow], older: int) -> None:
        """``older`` branches are not among the rows."""
        super().__init__()
        self._rows = rows
        self._older = older

    def compose(self) -> ComposeResult:
        """Lay out title, branches and keys."""
        with Vertical(classes="choosing"):
            yield Static(Content.styled("Branches, the newest first", "bold"), markup=False)
            yield Rows(
                *(Option(_told(number, row)) for number, row in enumerate(self._rows, 1)), markup=False
            )
            more = f"{plural(self._older, 'older one')} not shown · " if self._older else ""
            yield Static(Content.styled(f"{more}Enter goes there · Esc leaves", "dim"), markup=False)

    def set_up(self) -> None:
        """Begin at the branch of now."""
        now = next((at for at, row in enumerate(self._rows) if row.now), 0)
        self.query_one(OptionList).highlighted = now

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the chosen branch."""
        event.stop()
        self.dismiss(self._rows[event.option_index].leaf)


def _told(number: int, row: BranchRow) -> Content:
    mark = "●" if row.now else " "
    facts = f"      {plural(row.messages, 'message')} · ends: {row.end}"
    return Content.assemble(f"{mark} {number:>3} ", row.question, "\n", (facts, "dim"))


def branch_rows(conversation: Conversation) -> tuple[list[BranchRow], int]:
    """Return the newest branches, and how many more there are.

    Raises:
        UsageError: nothing was said yet.
    """
    leaves = conversation.leaves()
    if not leaves:
        raise UsageError("There is no branch yet.", "Write a message first.")
    current = conversation.messages()
    rows = [_row(conversation.branch(leaf.id), current) for leaf in leaves[:_MOST]]
    if current and not any(row.now for row in rows):
        # It ends in the middle of another one, as where the last turn was left out, or is an old one.
        rows.insert(0, _row(current, current))
    return rows, max(0, len(leaves) - _MOST)


def _row(branch: Sequence[Message], current: Sequence[Message]) -> BranchRow:
    now = {each.id for each in current}
    asked = [each for each in branch if each.role == "user"]
    own = [each for each in asked if each.id not in now]
    question = own[0] if own else asked[-1] if asked else branch[-1]
    last = branch[-1]
    end = last.content or ", ".join(call.name for call in last.tool_calls)
    is_now = bool(current) and last.id == current[-1].id
    return BranchRow(
        last.id, one_line(question.content, _WIDTH), one_line(end, _WIDTH - 20), len(branch), now=is_now
    )


def _branch(parts: Parts, argument: str) -> bool:
    if not may_change(parts, "go to another branch"):
        return False
    if argument and not (argument.isascii() and argument.isdecimal()):
        parts.bar.change(hint="Give a number from the list: /branch, or /branch N")
        return False

    pickers: list[BranchPicker] = []

    def show(_done: Done) -> None:
        for picker in pickers:
            parts.app.push_screen(picker, lambda leaf: _go(parts, leaf))

    def look(conversation: Conversation) -> str:
        rows, older = branch_rows(conversation)
        if not argument:
            pickers.append(BranchPicker(rows, older))
            return ""
        number = int(argument[:9])
        if not 1 <= number <= len(rows):
            raise UsageError(f"There is no branch {argument}.", "/branch lists them.")
        return _switched(conversation, rows[number - 1].leaf)

    # Not before that is over: until then a choice would be told to wait.
    parts.turns.do(look, show)
    return True


def _go(parts: Parts, leaf: str | None) -> None:
    if leaf is not None and may_change(parts, "go to another branch"):
        parts.turns.do(lambda conversation: _switched(conversation, leaf))


def _switched(conversation: Conversation, leaf: str) -> str:
    """Go to a branch by its last message, and tell so; the one of now stays, also where others go on from its end."""
    current = conversation.messages()
    if current and current[-1].id == leaf:
        return "This is that branch."
    conversation.switch(leaf)
    return "This is another branch now. /back goes back."


BRANCHES = Feature(
    (AppCommand("branch", "the branches, to go to one; or go to branch N", _branch, usage="[N]"),),
)
