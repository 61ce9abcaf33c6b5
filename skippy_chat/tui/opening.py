"""Which session is open: chosen, opened, only read while another process writes it, or gone on with in a copy.

Invariant: opening happens behind the bridge; until it has ended the person can type, and nothing else can be opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import App

from skippy_chat.agent.protocol import Conversation
from skippy_chat.chat.searching import Found
from skippy_chat.errors import SessionLocked, SessionNotFound, SkippyError
from skippy_chat.tui.bridge import Before, Branch, Bridge, Left, Loading, Looked, Opened, OpeningFailed
from skippy_chat.tui.composer import Composer
from skippy_chat.tui.editing import Editing
from skippy_chat.tui.readonly import ReadOnly
from skippy_chat.tui.services import Services
from skippy_chat.tui.sessions import Answer, Around, Choice, SessionPicker
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
        editing: Editing,
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
        self._editing = editing
        self._wake = wake
        self._fail = fail
        self._choice = Choice()
        self._back: Choice | None = None
        self._trouble = ""
        self._stash = ""
        self.browsing = False
        """Whether what is typed searches for a session."""
        self.draft = ""
        """What was kept of the box when the session that is open was opened."""
        self.busy = False
        """Whether a session is being opened or looked at."""
        self.listeners: list[Callable[[Conversation], object]] = []
        """Called when a conversation was opened."""
        self.leaving: list[Callable[[], object]] = []
        """Called while the box still holds what belongs to the session that may be left."""
        self.parting = bridge.parting
        """Called with a conversation, in its own thread, before it is closed."""

    # Choosing

    def choose(self) -> None:
        """Let the person choose among the sessions; where this folder has none, begin a new one."""
        try:
            found = self._services.shelf.found("")
        except SkippyError as error:
            self._fail(error)
            return
        if any(each.overview.session.folder == self._services.shelf.folder for each in found):
            self._push(Around(), found)
        else:
            self.begin(Choice())

    def browse(self, text: str = "") -> None:
        """Let the person go to another session, searching for ``text`` first."""
        around = Around(self._turns.session_id, can_stay=True)
        self._editing.end()
        self._about_to_leave()
        self._stash = self._composer.text
        self._composer.put(text)
        self._push(around)

    def _push(self, around: Around, found: Sequence[Found] | None = None) -> None:
        services = self._services
        picker = SessionPicker(
            services.shelf, services.folder, services.now_ms(), self._composer, around, found
        )
        self.browsing = True
        self._app.push_screen(picker, self._chosen)

    def _chosen(self, choice: Answer | None) -> None:
        stash, self._stash = self._stash, ""
        if isinstance(choice, Choice):
            self.begin(choice)
        else:
            self._composer.put(stash)
            if choice == "delete current":
                self.delete()
        self.browsing = False

    # Opening

    def begin(self, choice: Choice) -> None:
        """Open a session; the one that is open is closed first."""
        self._editing.end()
        anew = self._anew(choice)
        conversation = self._turns.conversation
        if anew is None and conversation is not None and choice.session == conversation.session.id:
            conversation.keep()
        leaving = self._leave()
        if leaving and not (self.browsing or choice.fork or choice.session == leaving):
            self._composer.text = ""  # it is the draft of the session that is left
        self._back = Choice(leaving) if leaving else None
        if anew is not None:
            self._back = Choice(name=anew.name)
        self._open(anew or choice)

    def _anew(self, choice: Choice) -> Choice | None:
        """Return how to begin the open session again with other settings, if nothing was said: it is not kept then."""
        conversation = self._turns.conversation
        said = any(each.role == "user" for each in self._transcript.messages)
        if said or conversation is None or not choice.changes or choice.session != conversation.session.id:
            return None
        return Choice(name=conversation.session.title, changes=choice.changes)

    def delete(self) -> None:
        """Close and delete the session that is open, and let the person choose another one."""
        session, shelf = self._leave(), self._services.shelf
        self.busy = True
        self._wake()
        self._bar.change(doing="loading", detail="the list of sessions")
        self._transcript.show(Branch())
        self._bridge.leave(lambda: shelf.delete(session))

    def _leave(self) -> str:
        """Let go of the conversation that is open, if one is, and return its session's id."""
        session = self._turns.session_id
        if session:
            if not self.browsing:
                self._about_to_leave()
            self._turns.leave()
            self._bar.change(context=None, speed=0.0, session="", last="", hint="")
        return session

    def _about_to_leave(self) -> None:
        for listen in self.leaving:
            listen()

    def _open(self, choice: Choice) -> None:
        self._choice = choice
        self.busy = True
        last = "" if self._readonly.locked else "You can type already; Enter queues."
        self._bar.change(doing="loading", detail="the model", last=last)
        self._wake()
        session, read = choice.session, self._services.read
        self._bridge.open(
            lambda progress: self._services.open(choice, progress),
            None if session is None or read is None else lambda: read(session),
        )

    def take(self, item: Loading | Before | Opened | OpeningFailed | Looked | Left) -> None:
        """Show what came of it."""
        if isinstance(item, Before):
            self._transcript.show(item.branch)
        elif isinstance(item, Loading):
            share = f" {100 * item.done // item.total} %" if item.total else ""
            self._bar.change(doing="loading", detail=f"{item.what}{share}")
        elif isinstance(item, Opened):
            self._opened(item)
        elif isinstance(item, OpeningFailed):
            self._failed(item.error)
        elif isinstance(item, Left):
            self.busy = False
            self._push(Around(deleted=item.deleted))
            if item.error is not None:
                self._app.notify(str(item.error), severity="warning", markup=False)
        else:
            self.busy = False
            self._back = None
            self._readonly.show(item)

    def _opened(self, opened: Opened) -> None:
        self.busy = False
        self._back = None
        self._readonly.end()
        self._put_draft(opened.draft)
        last = "" if opened.branch.messages else _GREETING
        if self._choice.fork is not None:
            last = "This is a copy; the other session stays as it is."
        self._bar.change(doing="ready", detail="", model=opened.conversation.model, last="")
        self._transcript.show(opened.branch)
        self._bar.stand_on(opened.branch.leaf, answered=False)
        if last:
            self._bar.change(last=last)
        if self._trouble:
            self._bar.change(hint=self._trouble)
            self._trouble = ""
        self._turns.open(opened.conversation)
        for listen in self.listeners:
            listen(opened.conversation)

    def _failed(self, error: Exception) -> None:
        if isinstance(error, SessionLocked):
            self._look(error)
        elif self._readonly.locked is not None:
            self.busy = False
            self._bar.change(doing="read-only", detail="", hint=str(error))
        elif self._back is not None:
            back, self._back = self._back, None
            self._trouble = str(error)
            self._open(back)
        elif self._trouble and isinstance(error, SessionNotFound):
            self._open(Choice())  # what was left had nothing in it, and so is no more
        else:
            self._fail(error)

    def _put_draft(self, draft: str) -> None:
        """Put what was not sent into the box; where something is typed by now, Up brings it back."""
        self.draft = draft
        typed = self._composer.text
        if draft in ("", typed):
            return
        self._composer.put(draft)
        if not draft.endswith(typed):  # it may be the same text, behind what was queued
            self._composer.clear_draft()
            self._composer.put(typed)

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
