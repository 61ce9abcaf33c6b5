"""What the conversation is busy with, one thing at a time: a turn, a change of branch, an undo; and what waits for it.

Invariant: a queued message is sent only when nothing else runs, and after a stop or a failure only when the person says
so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from skippy_chat.agent.protocol import Conversation, ToolInfo
from skippy_chat.chat.messages import Session
from skippy_chat.errors import SkippyError, UsageError
from skippy_chat.events import Event
from skippy_chat.tool_wording import undone_text
from skippy_chat.tui.approval import ApprovalPanel
from skippy_chat.tui.bridge import Act, Begin, Bridge, Done, TurnEnded
from skippy_chat.tui.message import Level, MessageView
from skippy_chat.tui.pending import Pending
from skippy_chat.tui.statusbar import StatusBar
from skippy_chat.tui.transcript import Transcript
from skippy_chat.tui.turn import TurnView
from skippy_chat.wording import PrefillRate, ending


class Turns:
    """Begins things on the bridge, and shows what comes of them."""

    def __init__(
        self,
        bridge: Bridge,
        transcript: Transcript,
        pending: Pending,
        approval: ApprovalPanel,
        bar: StatusBar,
        wake: Callable[[], None],
    ) -> None:
        """``wake`` is called when something begins, so that the bridge is listened to."""
        self._bridge = bridge
        self._transcript = transcript
        self._pending = pending
        self._approval = approval
        self._bar = bar
        self._wake = wake
        self._conversation: Conversation | None = None
        self._turn: TurnView | None = None
        self._rate = PrefillRate()
        self._going_to = ""
        self._then: Callable[[Done], None] = lambda _done: None
        self.busy = False
        self.began: list[Callable[[], object]] = []
        """Called, in the app's own thread, when something begins."""
        self.failed: list[Callable[[Exception], object]] = []
        """Called, in the app's own thread, with the error that ended a turn, before what waits goes on."""
        self.heard: list[Callable[[Sequence[Event]], object]] = []
        """Called, in the app's own thread, with the events of a turn, once a drain."""

    @property
    def opened(self) -> bool:
        """Whether there is a conversation."""
        return self._conversation is not None

    @property
    def conversation(self) -> Conversation | None:
        """The open conversation, for what may be asked of it from any thread; None when there is none."""
        return self._conversation

    @property
    def free(self) -> bool:
        """Whether something may begin."""
        return self._conversation is not None and not self.busy

    @property
    def running(self) -> bool:
        """Whether a turn runs."""
        return self._turn is not None

    @property
    def tools(self) -> Sequence[ToolInfo]:
        """The tools that the model is offered."""
        return () if self._conversation is None else self._conversation.tools

    @property
    def session_id(self) -> str:
        """The id of the session that is open; empty when none is."""
        return "" if self._conversation is None else self._conversation.session.id

    def leave(self) -> None:
        """Let go of the conversation, which is free: what waits is no longer sent to it."""
        self._conversation = None
        self._pending.clear()
        self._approval.close()

    def open(self, conversation: Conversation) -> None:
        """Take a conversation, and send it what waits."""
        self._conversation = conversation
        self.named(conversation.session)
        self.next()

    def begin(self, begin: Begin, question: MessageView | None = None) -> None:
        """Run a turn; ``question`` is the view of a message that it adds."""
        self._start()
        self._turn = TurnView(self._transcript, self._bar, self._approval, question, self._rate)
        self._bar.change(doing="reading", detail="· Esc stops", hint="")
        self._bridge.turn(begin)

    def next(self) -> None:
        """Send the message whose turn it is, if nothing runs."""
        if not self.free:
            return
        text = self._pending.next()
        if text is not None:
            self.begin(lambda conversation: conversation.send(text), self._transcript.ask(text))

    def go_on(self) -> None:
        """Continue a turn that ended in the middle, and then with what waits."""
        self._pending.release()
        self.begin(lambda conversation: conversation.go_on())

    def switch(self, message: str) -> None:
        """Go to the branch through a message."""
        self._start()
        self._going_to = message
        self._bridge.switch(message)

    def undo(self) -> None:
        """Put back what the newest turn wrote."""
        self.do(lambda conversation: f"Undone.\n{undone_text(conversation.undo())}")

    def do(self, act: Act, then: Callable[[Done], None] = lambda _done: None) -> None:
        """Have something done that is no turn; what it returns is told, and ``then`` follows when it is over."""
        self._start()
        self._then = then
        self._bridge.do(act)

    def stop(self) -> None:
        """Ask for the turn to end."""
        if self._turn is not None:
            self._bar.change(doing="stopping", detail="")
            self._bridge.stop()

    def decide(self, answer: ApprovalPanel.Answered) -> None:
        """Give the person's answer about a call to the turn that waits for it."""
        try:
            self._bridge.decide(answer.call, allowed=answer.allowed, scope=answer.scope, reason=answer.reason)
        except UsageError as error:
            self._approval.refuse(str(error))
        else:
            self._approval.close(answer.call)
            self._bar.change(doing="running", detail="· Esc stops")

    def take(self, events: list[Event]) -> None:
        """Show what came of the turn."""
        if self._turn is not None:
            self._turn.take(events)
        for listen in self.heard:
            listen(events)

    def tick(self, now: float) -> None:
        """Show how time goes by; ``now`` is in seconds."""
        if self._turn is not None:
            self._turn.tick(now)

    def ended(self, ended: TurnEnded) -> Exception | None:
        """End the turn or the change of branch; return what nobody could be told in the transcript."""
        turn, self._turn = self._turn, None
        self.busy = False
        going_to, self._going_to = self._going_to, ""
        self._approval.close()
        if turn is not None and ended.error is not None:
            turn.fail(ended.error)
            for listen in self.failed:
                listen(ended.error)
        if ended.branch is not None:
            self._transcript.show(ended.branch)
            self._bar.stand_on(ended.branch.leaf, answered=turn is not None and bool(turn.log.steps))
        if (view := self._transcript.find(going_to)) is not None and going_to:
            view.focus(scroll_visible=False)
            self._transcript.reveal(view)
        if turn is not None:
            turn.settle()
        self._bar.change(doing="ready", detail="")
        if turn is not None and (ended.error is not None or ending(turn.log.finish_reason) or turn.limited):
            self._pending.hold()
        self.next()
        return ended.error if turn is None else None

    def did(self, done: Done) -> None:
        """Tell what was done, or why nothing was."""
        self.busy = False
        self._bar.change(doing="ready", detail="")
        if self._conversation is not None:
            self.named(self._conversation.session)
        if done.branch is not None:
            self._transcript.show(done.branch)
            self._bar.stand_on(done.branch.leaf, answered=False)
        if done.error is None:
            if done.text:
                self._tell("info", done.text)
        elif isinstance(done.error, SkippyError):
            self._tell("warning", str(done.error))
        else:
            self._tell("error", f"A fault in the program: {type(done.error).__name__}: {done.error}")
        self._then(done)
        self.next()

    def named(self, session: Session) -> None:
        """Show what the session is called by now."""
        self._bar.change(session=session.title or session.made_title)

    def _start(self) -> None:
        self.busy = True
        self._wake()
        for listen in self.began:
            listen()

    def _tell(self, level: Level, text: str) -> None:
        """Put a note under the last message; with none, into the status bar."""
        if not self._transcript.note(level, text):
            self._bar.change(hint=text)
