"""A session that another process writes, on the screen: to be read, tried again, or gone on with in a copy.

Invariant: while it is shown the composer takes nothing, and what was queued or typed before waits; so nothing is sent
but after the person has chosen where.
"""

from __future__ import annotations

from dataclasses import replace

from textual.widgets import Static

from skippy_chat.agent.protocol import Fork
from skippy_chat.errors import SessionLocked
from skippy_chat.tui.bridge import Branch, Looked
from skippy_chat.tui.composer import Composer
from skippy_chat.tui.pending import Pending
from skippy_chat.tui.statusbar import StatusBar
from skippy_chat.tui.transcript import Transcript
from skippy_chat.wording import plural, written_by

_BANNER = "Read-only · f goes on in a copy · t tries again · u shows what is new"


class ReadOnly:
    """Which session is shown without being written, if any."""

    def __init__(
        self, composer: Composer, banner: Static, transcript: Transcript, pending: Pending, bar: StatusBar
    ) -> None:
        self._composer = composer
        self._banner = banner
        self._transcript = transcript
        self._pending = pending
        self._bar = bar
        self._looked: Looked | None = None

    @property
    def locked(self) -> SessionLocked | None:
        """Why the session that is shown could not be opened; None when none is shown."""
        return None if self._looked is None else self._looked.locked

    def show(self, looked: Looked) -> None:
        """Show the session as it was found."""
        before, self._looked = self._looked, looked
        branch, growing = _as_it_grows(looked.branch)
        self._pending.hold()
        self._composer.disabled = True
        self._composer.screen.set_focus(None)
        self._banner.update(_BANNER)
        self._banner.display = True
        new: list[str] = []
        if before is not None and before.session.id == looked.session.id:
            count = len(looked.branch.messages) - len(before.branch.messages)
            same = looked.branch.messages == before.branch.messages
            new = [
                "Nothing new." if same else f"{plural(count, 'new message')}." if count > 0 else "Changed."
            ]
        self._bar.change(
            doing="read-only",
            detail="",
            session=looked.session.label,
            last=" ".join([written_by(looked.locked.writer), *new, *growing]),
        )
        self._transcript.show(branch)

    def end(self) -> None:
        """Let the person write again."""
        if self._looked is None:
            return
        self._looked = None
        self._banner.display = False
        self._composer.disabled = False
        self._composer.focus()

    @property
    def fork(self) -> Fork | None:
        """Where a copy would go on: at the last message that is shown."""
        if self._looked is None:
            return None
        messages = self._looked.branch.messages
        return Fork(self._looked.session.id, messages[-1].id if messages else None)


def _as_it_grows(branch: Branch) -> tuple[Branch, list[str]]:
    """Return the branch with an answer that is being written, as its last, not shown as one that broke off."""
    if not branch.messages or branch.messages[-1].state != "interrupted" or branch.messages[-1].finish_reason:
        return branch, []
    last = replace(branch.messages[-1], state="complete")
    return replace(branch, messages=(*branch.messages[:-1], last)), ["Still answering?"]
