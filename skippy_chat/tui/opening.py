"""Which session is open: chosen, opened, only read while another process writes it, or gone on with in a copy.

Invariant: opening happens behind the bridge; until it has ended the person can type, and nothing else can be opened.
"""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App

from skippy_chat.agent.protocol import Conversation
from skippy_chat.errors import SessionLocked
from skippy_chat.tui.bridge import Bridge, Loading, Looked, Opened, OpeningFailed
from skippy_chat.tui.composer import Composer
from skippy_chat.tui.readonly import ReadOnly
from skippy_chat.tui.services import Services
from skippy_chat.tui.sessions import Choice, SessionPicker
from skippy_chat.tui.statusbar import StatusBar
from skippy_chat.tui.transcript import Transcript
from skippy_chat.tui.turns import Turns

_GREETING = "Enter sends · Ctrl-J new line · Shift-Tab messages · /help · Ctrl-D leaves"


class Opening:
    """Opens sessions on the bridge, and shows what comes of it."""

    def __init__(
        self,
        app: App[int],
        bridge: Bridge,
        services: Services,
        *,
        composer: Composer,
        transcript: Transcript,
        bar: StatusBar,
        turns: Turns,
        readonly: ReadOnly,
        wake: Callable[[], None],
        fail: Callable[[Exception], None],
    ) -> None:
        """``wake`` is called when something begins; ``fail`` when no session could be opened, to end the app."""
        self._app = app
        self._bridge = bridge
        self._services = services
        self._composer = composer
        self._transcript = transcript
        self._bar = bar
        self._turns = turns
        self._readonly = readonly
        self._wake = wake
        self._fail = fail
        self._choice = Choice()
        self.busy = False
        """Whether a session is being opened or looked at."""
        self.listeners: list[Callable[[Conversation], object]] = []
        """Called when a conversation was opened."""

    def choose(self) -> None:
        """Let the person choose among the sessions; where there are none, begin a new one."""
        overviews = self._services.sessions()
        if not overviews:
            self.begin(Choice())
            return
        picker = SessionPicker(overviews, self._services.folder, self._services.now_ms(), self._composer)
        self._app.push_screen(picker, lambda choice: self.begin(choice or Choice()))

    def begin(self, choice: Choice) -> None:
        """Open a session."""
        self._choice = choice
        self.busy = True
        last = "" if self._readonly.locked else "You can type already; Enter queues."
        self._bar.change(doing="loading", detail="the model", last=last)
        self._wake()
        self._bridge.open(lambda progress: self._services.open(choice, progress))

    def take(self, item: Loading | Opened | OpeningFailed | Looked) -> None:
        """Show what came of it."""
        if isinstance(item, Loading):
            share = f" {100 * item.done // item.total} %" if item.total else ""
            self._bar.change(doing="loading", detail=f"{item.what}{share}")
        elif isinstance(item, Opened):
            self._opened(item)
        elif isinstance(item, OpeningFailed):
            self._failed(item.error)
        else:
            self.busy = False
            self._readonly.show(item)

    def _opened(self, opened: Opened) -> None:
        self.busy = False
        self._readonly.end()
        last = "" if opened.branch.messages else _GREETING
        if self._choice.fork is not None:
            last = "This is a copy; the other session stays as it is."
        self._bar.change(doing="ready", detail="", model=opened.conversation.model, last=last)
        self._transcript.show(opened.branch)
        self._turns.open(opened.conversation)
        for listen in self.listeners:
            listen(opened.conversation)

    def _failed(self, error: Exception) -> None:
        if isinstance(error, SessionLocked):
            self._look(error)
        elif self._readonly.locked is not None:
            self.busy = False
            self._bar.change(doing="read-only", detail="", hint=str(error))
        else:
            self._fail(error)

    # A session that another process writes

    def fork(self) -> None:
        """Go on in a copy of the session that is only read, at the message that is shown last."""
        self.begin(Choice(fork=self._readonly.fork))

    def try_again(self) -> None:
        """Open the session that is only read after all, if its writer has ended."""
        if self._readonly.locked is not None:
            self.begin(Choice(self._readonly.locked.session))

    def look_again(self) -> None:
        """Show what its writer has written since."""
        if self._readonly.locked is not None:
            self._look(self._readonly.locked)

    def _look(self, locked: SessionLocked) -> None:
        self.busy = True
        self._wake()
        self._bridge.look(locked, lambda: self._services.look(locked))
