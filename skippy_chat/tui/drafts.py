"""The text in the box, kept with the session while it is typed, and put back when the session is opened again.

Invariant: what stood in the box a second ago is on disk, and what stands there when the session is left; the app's own
thread waits for neither. What is edited or searched for is no draft, and what waits to be sent is one.
"""

from __future__ import annotations

import contextlib
import threading

from textual.timer import Timer

from skippy_chat.agent.protocol import Conversation
from skippy_chat.errors import SkippyError
from skippy_chat.tui.command import Parts

_AFTER = 1.0
_BETWEEN = "\n\n"


class Drafts:
    """Keeps the draft of the conversation that is open."""

    def __init__(self, parts: Parts, after: float = _AFTER) -> None:
        """``after`` is how many seconds pass from the last key until it is written."""
        self._parts = parts
        self._after = after
        self._timer: Timer | None = None
        self._conversation: Conversation | None = None
        self._text = ""
        self._kept = ""
        self._writing = threading.Lock()
        parts.opened.append(self.opened)
        parts.typed.append(self.changed)
        parts.settled.append(self.changed)
        parts.opening.leaving.append(self.changed)
        parts.opening.parting.append(self.leave)

    def opened(self, conversation: Conversation) -> None:
        """Begin with what is kept of a conversation."""
        self._conversation = conversation
        self._text = self._kept = self._parts.opening.draft
        self.changed()

    def changed(self) -> None:
        """Take what is typed, and write it when nothing more is typed for a while."""
        parts = self._parts
        if parts.editing.message is not None or parts.opening.browsing or not parts.turns.opened:
            return
        text = _BETWEEN.join(each for each in (*parts.pending.texts, parts.composer.text) if each)
        if text == self._text:
            return
        self._text = text
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if text:
            self._timer = parts.app.set_timer(self._after, self._begin_to_write)
        else:
            self._begin_to_write()  # it was sent, and must not come back

    def leave(self, conversation: Conversation) -> None:
        """Write what stands there; from the conversation's thread, before it is closed."""
        self._write(conversation)

    def _begin_to_write(self) -> None:
        conversation = self._conversation
        if conversation is not None:
            # Not behind the bridge: a turn may run there for minutes.
            threading.Thread(target=self._write, args=(conversation,), name="draft", daemon=True).start()

    def _write(self, conversation: Conversation) -> None:
        with self._writing:
            if conversation is not self._conversation or self._text == self._kept:
                return
            text = self._text
            # A draft is no reason to stop anybody: what was said is safe, and the next key tries again.
            with contextlib.suppress(SkippyError):
                conversation.keep_draft(text)
                self._kept = text
