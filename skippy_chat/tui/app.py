"""The full-screen app: wiring between keys, the bridge to the conversation, and the widgets that show it.

Invariant: the app's own thread never waits for the model; whatever takes time happens behind the bridge.
"""

from __future__ import annotations

import contextlib
from itertools import groupby

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Static

from skippy_chat.chat.messages import Message
from skippy_chat.events import Event
from skippy_chat.tui.approval import ApprovalPanel
from skippy_chat.tui.bridge import (
    Before,
    Bridge,
    Done,
    Item,
    Left,
    Loading,
    Looked,
    Named,
    Opened,
    OpeningFailed,
    TurnEnded,
)
from skippy_chat.tui.command import Parts
from skippy_chat.tui.commands import Commands, Typed, keyboard
from skippy_chat.tui.composer import Composer
from skippy_chat.tui.copying import copy_text
from skippy_chat.tui.editing import Editing
from skippy_chat.tui.keys import OF_READ_ONLY
from skippy_chat.tui.message import MessageView
from skippy_chat.tui.opening import Opening
from skippy_chat.tui.painting import ThriftyScreen
from skippy_chat.tui.pending import Pending
from skippy_chat.tui.pointing import stop_first
from skippy_chat.tui.reading import ReadingScreen
from skippy_chat.tui.readonly import ReadOnly
from skippy_chat.tui.sending import Sending
from skippy_chat.tui.services import Services
from skippy_chat.tui.sessions import Choice, SessionPicker
from skippy_chat.tui.shell import Shell
from skippy_chat.tui.signals import on_ending_signals
from skippy_chat.tui.statusbar import StatusBar
from skippy_chat.tui.transcript import Transcript
from skippy_chat.tui.turns import Turns

_DRAINS_PER_SECOND = 10
_TWICE_WITHIN = 1.0


class SkippyApp(Shell):
    """One conversation on the whole screen."""

    CSS_PATH = "app.tcss"
    TITLE = "skippy-chat"

    def __init__(self, services: Services, start: Choice | None) -> None:
        """``start`` is the session to open; None asks, when there are some to choose from."""
        preferences = services.preferences
        super().__init__(preferences.theme, keyboard(preferences.keys))
        self._services = services
        self._start = start
        self.bridge = Bridge(services.end)
        self.failure: Exception | None = None
        self._parts: Parts | None = None
        self._composer = Composer(id="composer")
        self._approval = ApprovalPanel(self._composer, id="approval")
        self._interrupted_at: float | None = None

    @property
    def opened(self) -> bool:
        """Whether the conversation is open."""
        return self._parts is not None and self._parts.turns.opened

    def get_default_screen(self) -> Screen[None]:
        """Paint thriftily."""
        return ThriftyScreen(id="_default")

    def compose(self) -> ComposeResult:
        """Lay out transcript, queue, composer and status."""
        yield Transcript(id="transcript")
        yield self._approval
        yield Pending(id="pending")
        yield Static(id="banner", markup=False)
        with Horizontal(id="entry"):
            yield Static("»", id="mark", markup=False)
            yield self._composer
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        """Begin to listen to signals and to the bridge; choose a session."""
        self._transcript = self.query_one(Transcript)
        self._pending = self.query_one(Pending)
        self._bar = self.query_one(StatusBar)
        banner = self.query_one("#banner", Static)
        self._editing = Editing(self._composer, banner, self._transcript)
        self._readonly = ReadOnly(self._composer, banner, self._transcript, self._pending, self._bar)
        on_ending_signals(self._leave_with)
        self._drain = self.set_interval(1 / _DRAINS_PER_SECOND, self._take, pause=True)
        self._turns = Turns(
            self.bridge, self._transcript, self._pending, self._approval, self._bar, self._drain.resume
        )
        self.opening = Opening(
            self,
            self.bridge,
            self._services,
            composer=self._composer,
            transcript=self._transcript,
            bar=self._bar,
            turns=self._turns,
            readonly=self._readonly,
            editing=self._editing,
            wake=self._drain.resume,
            fail=self._fail,
        )
        self._parts = parts = Parts(
            self,
            self._transcript,
            self._composer,
            self._pending,
            self._editing,
            self._turns,
            self._bar,
            self._services,
            lambda title, text: self.push_screen(ReadingScreen(title, text)),
            self.opening,
            self.opening.listeners,
        )
        self._commands = Commands(parts)
        self._sending = Sending(parts, self._commands)
        self._composer.focus()
        if self._start is not None:
            self.opening.begin(self._start)
        else:
            self.opening.choose()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keep the keys of a read-only session to itself, and for when nothing is being opened."""
        if action in OF_READ_ONLY:
            return self._readonly.locked is not None and not self.opening.busy
        return super().check_action(action, parameters)

    def action_fork(self) -> None:
        """Go on in a copy of the session, at the message that is shown last."""
        self.opening.fork()

    def action_try_again(self) -> None:
        """Open the session after all, if its writer has ended."""
        self.opening.try_again()

    def action_look_again(self) -> None:
        """Show what its writer has written since."""
        self.opening.look_again()

    # What comes over the bridge

    @property
    def _is_ending(self) -> bool:
        """Whether nothing can be shown any more: widgets go before the screens are off their stack."""
        return not (self.is_running and self.screen_stack)

    def _take(self) -> None:
        if self._is_ending:
            return
        naming = self.bridge.naming  # asked first: what ends after that is taken the next time
        items = self.bridge.take()
        # What streams is one paint anyhow.
        streams = all(isinstance(item, Event) for item in items)
        with contextlib.nullcontext() if streams else self.batch_update():
            for is_event, group in groupby(items, key=lambda item: isinstance(item, Event)):
                if not is_event:
                    for item in group:
                        self._item(item)
                else:
                    self._turns.take([item for item in group if isinstance(item, Event)])
        self._turns.tick(self._services.monotonic())
        if not (self._turns.busy or self.opening.busy or naming):
            self._drain.pause()

    def _item(self, item: Item) -> None:
        if isinstance(item, (Before, Loading, Opened, OpeningFailed, Left, Looked)):
            self.opening.take(item)
        elif isinstance(item, TurnEnded):
            if (error := self._turns.ended(item)) is not None:
                self.notify(str(error), severity="error", markup=False)
            self._settled()
        elif isinstance(item, Done):
            self._turns.did(item)
            self._settled()
        elif isinstance(item, Named):
            self._turns.named(item.session)

    def _settled(self) -> None:
        for listen in self._parts.settled if self._parts is not None else ():
            listen()

    # Turns

    def action_command(self, name: str) -> None:
        """Run a command by its key."""
        self._commands.carry_out(Typed(command=name))

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        """Send, queue, or finish an edit."""
        self._sending.submit(event.text)

    def on_approval_panel_answered(self, event: ApprovalPanel.Answered) -> None:
        """Give an answer to the call that waits for it."""
        self._turns.decide(event)

    def on_message_view_version_wanted(self, event: MessageView.VersionWanted) -> None:
        """Switch to another branch."""
        if self._readonly.locked is not None:
            self._bar.change(hint="Read-only: go on in a copy first (f), then switch.")
        elif self._turns.free:
            self._turns.switch(event.message)

    # Editing

    def on_message_view_edit_wanted(self, event: MessageView.EditWanted) -> None:
        """Put a message into the composer, to be changed."""
        self._edit(event.message)

    def _edit(self, message: Message) -> None:
        if self._readonly.locked is not None:
            self._bar.change(hint="Read-only: go on in a copy first (f), then edit.")
        elif self._turns.busy:
            self._bar.change(hint=stop_first("edit"))
        else:
            self._editing.begin(message)

    def on_composer_recalled(self) -> None:
        """Bring back what was cleared, what is queued, or the last message to edit it."""
        if self._composer.take_draft():
            return
        queued = self._pending.take_back()
        if queued is not None:
            self._composer.put(queued)
            return
        asked = [view.message for view in self._transcript.views if view.role == "user" and view.message]
        if asked:
            self._edit(asked[-1])

    # Keys

    def on_composer_typed(self, event: Composer.Typed) -> None:
        """Take a hint away once the person goes on; what was typed before it may be told after it."""
        if event.at >= self._bar.hinted_at:
            self._bar.change(hint="")

    def on_text_area_changed(self) -> None:
        """Let the picker search for what is typed, or a question wait and the others see it."""
        if self._is_ending:
            return  # the last key before the end
        self._approval.typed()
        if isinstance(self.screen, SessionPicker):
            self.screen.typed()
            return
        for listen in self._parts.typed if self._parts is not None else ():
            listen()

    def on_composer_scrolled(self, event: Composer.Scrolled) -> None:
        """Scroll the transcript from within the composer."""
        if event.how == "end":
            self.action_follow()
        else:
            self._transcript.page(-1 if event.how == "page_up" else 1)

    def action_follow(self) -> None:
        """Go to the end and follow it."""
        self._transcript.follow()

    def action_details(self) -> None:
        """Show what the newest turn thought and did in full, or fold it away."""
        self._transcript.unfold_newest()

    def on_resize(self) -> None:
        """Give a question the room there is."""
        self.call_after_refresh(self._approval.fit)

    def action_page(self, step: int) -> None:
        """Scroll the transcript by a page."""
        self._transcript.page(step)

    def action_step(self, step: int) -> None:
        """Move the focus to the message above or below, past the last one to the composer."""
        views = [view for view in self._transcript.views if view.display]
        if isinstance(self.focused, MessageView) and self.focused in views:
            at = views.index(self.focused) + step
            if at >= len(views):
                self._leave_messages()
            elif at >= 0:
                views[at].focus()

    def action_escape(self) -> None:
        """Leave the messages, leave an edit, or stop the answer."""
        if self.screen.selections:
            self.screen.clear_selection()
        elif isinstance(self.focused, MessageView):
            self._leave_messages()
        elif self._editing.message is not None:
            self._editing.end()
        else:
            self._turns.stop()

    def action_interrupt(self) -> None:
        """Copy what is selected; stop the answer; clear the text; or leave at the second time within a second."""
        selected = self.screen.get_selected_text()
        if selected:
            self.screen.clear_selection()
            if self._parts is not None:
                copy_text(self._parts, selected, "what was selected")
        elif self._turns.running:
            self._turns.stop()
        elif self._editing.message is not None:
            self._editing.end()
        elif self._composer.text:
            self._composer.clear_draft()
        else:
            now = self._services.monotonic()
            if self._interrupted_at is not None and now - self._interrupted_at <= _TWICE_WITHIN:
                self.action_leave()
                return
            self._interrupted_at = now
            self._bar.change(hint="Press Ctrl-C again to leave.")
            return
        self._interrupted_at = None

    def action_end_of_input(self) -> None:
        """Leave when nothing is typed."""
        if not self._composer.text or self._composer.disabled:
            self.action_leave()
        elif isinstance(self.focused, Composer):
            self._composer.action_delete_right()

    def action_leave(self) -> None:
        """Leave; everything is kept."""
        self.exit(0)

    def _leave_messages(self) -> None:
        self.screen.set_focus(None if self._composer.disabled else self._composer)

    def _fail(self, error: Exception) -> None:
        self.failure = error
        self.exit()

    def _leave_with(self, code: int) -> None:
        self.exit(return_code=code)
