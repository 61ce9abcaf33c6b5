"""Messages that wait for the answer before them; each can be taken back until it is sent.

Invariant: nothing waiting is sent after a stop or a failure until the person says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from skippy_chat.tui.display import one_line
from skippy_chat.wording import plural

_SHOWN = 3


class Pending(Static):
    """The queue, shown above the composer while there is one."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id, markup=False)
        self._texts: deque[str] = deque()
        self._held = False

    def __len__(self) -> int:
        return len(self._texts)

    def __bool__(self) -> bool:
        return True  # a widget, whatever waits in it

    @property
    def texts(self) -> Sequence[str]:
        """What waits, the oldest first."""
        return tuple(self._texts)

    def clear(self) -> None:
        """Let nothing wait any more."""
        self._texts.clear()
        self._held = False
        self._paint()

    def put(self, text: str) -> None:
        """Let a message wait at the end."""
        self._texts.append(text)
        self._paint()

    def next(self) -> str | None:
        """Take the message whose turn it is; None when none is, or they are held."""
        if self._held or not self._texts:
            return None
        text = self._texts.popleft()
        self._paint()
        return text

    def take_back(self) -> str | None:
        """Take the newest message out again, to be edited."""
        if not self._texts:
            return None
        text = self._texts.pop()
        self._held = self._held and bool(self._texts)
        self._paint()
        return text

    def hold(self) -> None:
        """Keep what waits until ``release``."""
        self._held = bool(self._texts)
        self._paint()

    def release(self) -> None:
        """Send what waits as its turn comes."""
        self._held = False
        self._paint()

    def _paint(self) -> None:
        self.display = bool(self._texts)
        word = "held" if self._held else "queued"
        keys = "Enter sends, Up takes back" if self._held else "Up takes back"
        lines = [f"{word}: {one_line(text, 200)}" for text in list(self._texts)[-_SHOWN:]]
        more = len(self._texts) - len(lines)
        head = [f"{plural(more, 'message')} more before"] if more else []
        self.update(Content("\n".join([*head, *lines, keys])))
