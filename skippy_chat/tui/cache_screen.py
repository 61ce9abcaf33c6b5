"""The cache view: the session's checkpoints as a tree, the budget, and the last misses with their reasons.

Invariant: what it shows was all told at one moment, and a newer look keeps the place; no look is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from skippy_chat.agent.looking import MOST_BRANCHES, Checkpoints
from skippy_chat.cache_wording import edit_line, miss_lines
from skippy_chat.chat.messages import Message
from skippy_chat.engine.questions import CheckpointTree
from skippy_chat.errors import SkippyError
from skippy_chat.text.sizes import format_size
from skippy_chat.tui.cache_rows import TreeRow, checkpoint_rows, message_rows
from skippy_chat.tui.cache_tree import CheckpointTreeView
from skippy_chat.tui.display import one_line, visible, visible_line
from skippy_chat.tui.looks import Looks, Seen
from skippy_chat.tui.modal import Modal
from skippy_chat.wording import plural

_KIND = "tree"
_BAR = 20
_MISSES = 5
_MISSES_SMALL = 2
_TALL = 34
_KEYS = "Enter goes there · e edits · m {} · r looks again · Esc closes"


@dataclass(frozen=True, slots=True)
class CacheView:
    """One look: a row for each checkpoint, and a row for each message."""

    kept: Checkpoints
    checkpoints: Sequence[TreeRow]
    messages: Sequence[TreeRow]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where the person goes from here: to ``message``, None for the end; ``edit`` it; ``now``: it is on this branch."""

    message: Message | None
    edit: bool
    now: bool


def look(kept: Checkpoints) -> CacheView:
    """Work out what is shown of the checkpoints."""
    return CacheView(kept, checkpoint_rows(kept), message_rows(kept))


class CacheScreen(Modal[Wanted | None]):
    """Returns where the person wants to go; None when it was only looked at."""

    DEFAULT_CSS = """
    CacheScreen { background: $background; padding: 0 1; layout: vertical; }
    CacheScreen Static { height: auto; }
    CacheScreen #cache-title { text-style: bold; height: 1; }
    CacheScreen #cache-detail { height: 3; margin-top: 1; }
    CacheScreen #cache-misses { color: $foreground 80%; &:ansi { color: ansi_default; } }
    CacheScreen #cache-keys { height: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c,ctrl+d,ctrl+t", "dismiss", "Close", priority=True),
        Binding("e", "edit", "Edit the message"),
        Binding("m", "fold", "Messages or checkpoints"),
        Binding("r", "look", "Look again"),
    ]

    def __init__(self, looks: Looks, checkpoints: Callable[[], Checkpoints]) -> None:
        """``checkpoints`` asks what is kept; it is called on the thread of ``looks``."""
        super().__init__()
        self._looks = looks
        self._checkpoints = checkpoints
        self._view: CacheView | None = None
        self._folded = False

    def compose(self) -> ComposeResult:
        """Lay out tree, what its row means, budget, misses and keys."""
        yield Static("Kept of this session", id="cache-title", markup=False)
        yield CheckpointTreeView(id="cache-tree")
        yield Static(id="cache-detail", markup=False)
        yield Static(id="cache-budget", markup=False)
        yield Static(id="cache-misses", markup=False)
        yield Static(id="cache-keys", markup=False)

    def set_up(self) -> None:
        """Look."""
        self._tree = self.query_one(CheckpointTreeView)
        self._tree.focus()
        self._say("cache-detail", "Looking …")
        self._tell_keys()
        self.action_look()

    def on_unmount(self) -> None:
        """Let nothing be told any more."""
        self._looks.forget(_KIND)

    def on_resize(self) -> None:
        """Use the room there is."""
        self.call_after_refresh(self._fill)
        self.call_after_refresh(self._tell_row)

    def action_look(self) -> None:
        """Look again, as things stand now."""
        self._looks.ask(_KIND, lambda: look(self._checkpoints()), self._took)

    def action_fold(self) -> None:
        """Show a row for each message, or for each checkpoint."""
        self._folded = not self._folded
        self._tell_keys()
        self._put_rows()

    def action_edit(self) -> None:
        """Leave for an edit of the row's message, if there is one and it is on this branch."""
        row = self._tree.row
        if row is None:
            return
        if row.message is None or row.message.role == "system" or not row.message.id:
            self._say("cache-detail", "There is no message here that can be edited.", "$text-warning")
        elif not row.now:
            hint = "This message is on another branch: Enter goes there, then e edits it."
            self._say("cache-detail", hint, "$text-warning")
        else:
            self.dismiss(Wanted(row.message, edit=True, now=True))

    def on_checkpoint_tree_view_chosen(self, event: CheckpointTreeView.Chosen) -> None:
        """Leave for the row's message."""
        message = event.row.message
        if message is not None and not message.id:
            self._say("cache-detail", "This was made for the model, and is no message.", "$text-warning")
        else:
            self.dismiss(Wanted(message, edit=False, now=event.row.now))

    def on_checkpoint_tree_view_moved(self) -> None:
        """Tell of another row."""
        self._tell_row()

    def _tell_row(self) -> None:
        """Tell what the columns have no room for."""
        row = self._tree.row if self.stands else None
        if row is None:
            return
        width = max(1, self.size.width - 2)
        first = row.name if row.message is None else f"{row.name}: {row.message.content[: 8 * width]}"
        told = [one_line(row.facts, 2 * width)]
        if row.edit is not None:
            told = [one_line(row.facts, width), one_line(edit_line(row.edit), width)]
        lines = [visible_line(first, width), *told]
        self._say("cache-detail", "\n".join(lines))

    def _took(self, seen: Seen[CacheView]) -> None:
        if not self.stands:
            return
        if seen.error is not None:
            why = str(seen.error) if isinstance(seen.error, SkippyError) else f"a fault: {seen.error}"
            self._say("cache-detail", f"Nothing can be told: {visible(why)}", "$text-warning")
        elif seen.found is not None:
            self._view = seen.found
            self._put_rows()
            self._fill()

    def _put_rows(self) -> None:
        view = self._view
        if view is None:
            return
        rows = view.messages if self._folded else view.checkpoints
        before = self._tree.row
        self._tree.put(rows, _newest(rows) if before is None else _nearest(rows, before))
        if not rows:
            self._say("cache-detail", "Nothing is kept of this session yet.")

    def _fill(self) -> None:
        view = self._view
        if view is None or not self.stands:
            return
        tree = view.kept.tree
        parts = [
            plural(len(tree.nodes), "checkpoint"),
            f"{format_size(tree.bytes)} on disk",
            f"{plural(tree.live_tokens, 'token')} in memory",
        ]
        if len(view.kept.branches) >= MOST_BRANCHES:
            parts.append(f"the newest {MOST_BRANCHES} branches")
        self._say("cache-title", f"Kept of this session: {', '.join(parts)}")
        self.query_one("#cache-budget", Static).update(_budget(tree))
        most = _MISSES if self.size.height >= _TALL else _MISSES_SMALL
        missed = [visible(line) for line in reversed(miss_lines(view.kept, most))]
        self._say("cache-misses", "\n".join(missed) or "No misses since the session was opened.")

    def _tell_keys(self) -> None:
        other = "every checkpoint" if self._folded else "messages only"
        self._say("cache-keys", _KEYS.format(other), "dim")

    def _say(self, where: str, text: str, style: str = "") -> None:
        content = Content.styled(text, style) if style else Content(text)
        # What is said of a row has its three lines, whatever it says: nothing else has to move.
        self.query_one(f"#{where}", Static).update(content, layout=where != "cache-detail")


def _newest(rows: Sequence[TreeRow]) -> int:
    """Return where the current branch ends."""
    return max((index for index, row in enumerate(rows) if row.now), default=0)


def _nearest(rows: Sequence[TreeRow], before: TreeRow) -> int:
    """Return the row that stands for what ``before`` did, or for the next of its message, or one at its position."""
    own = "" if before.message is None else before.message.id

    def unlike(index: int) -> tuple[bool, int, bool]:
        row = rows[index]
        same = (("" if row.message is None else row.message.id), row.name) == (own, before.name)
        return not same, abs(row.position - before.position), row.now != before.now

    return min(range(len(rows)), key=unlike, default=0)


def _budget(tree: CheckpointTree) -> Content:
    if tree.off is not None:
        return Content.styled(f"Nothing is stored: {tree.off}.", "$text-warning")
    share = tree.store_bytes / max(tree.budget_bytes, 1)
    full = min(_BAR, round(_BAR * share) or (tree.store_bytes > 0))
    look = "$text-success" if share < 0.8 else "$text-warning"
    used, budget = format_size(tree.store_bytes), format_size(tree.budget_bytes)
    return Content.assemble(
        ("█" * full, look),
        ("░" * (_BAR - full), "dim"),
        f" {used} of the {budget} there are for all models ({100 * share:.0f} %)",
    )
