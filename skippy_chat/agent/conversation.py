"""A conversation on a running engine: history on one side, the worker on the other.

Invariant: the user's message is durable before the model is asked. Before anything follows in a branch, every call in
it has a result.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

from skippy_chat.agent.adjusting import adjusted, kept_of
from skippy_chat.agent.agents_file import system_prompt
from skippy_chat.agent.amending import amend
from skippy_chat.agent.asides import SideAnswer, ask_aside, side_request, stands_on
from skippy_chat.agent.asking import Answer, Asking
from skippy_chat.agent.calling import recall
from skippy_chat.agent.compacting import Compaction
from skippy_chat.agent.keeping import Keeping
from skippy_chat.agent.leaving_out import drop_results, remove_turn
from skippy_chat.agent.looking import Checkpoints, Looking, Misses
from skippy_chat.agent.loop import Beginning, Parts, Turn
from skippy_chat.agent.measuring import Measuring
from skippy_chat.agent.naming import Naming
from skippy_chat.agent.noticing import Untold
from skippy_chat.agent.protocol import LoadedModel, ReplayReport, ToolInfo, TurnOptions
from skippy_chat.agent.replays import replay, stored_ledger
from skippy_chat.agent.room import Dropped, Room
from skippy_chat.agent.stepping import Engine, Stepper, Wish
from skippy_chat.agent.stream import EventStream
from skippy_chat.agent.titles import MOST_TOKENS
from skippy_chat.agent.toolbox import Toolbox
from skippy_chat.agent.tools.journal import Undone
from skippy_chat.agent.undoing import undo_newest
from skippy_chat.agent.unfinished import last_asked, unfinished
from skippy_chat.chat.history import History
from skippy_chat.chat.locks import SessionLock
from skippy_chat.chat.messages import Message, Session
from skippy_chat.chat.pairing import completed, repair
from skippy_chat.config import Settings
from skippy_chat.engine.protocol import StepRequest
from skippy_chat.engine.questions import Foreseen
from skippy_chat.errors import HistoryError, UndoRefused, UsageError
from skippy_chat.events import Event, Notice
from skippy_chat.sampling import Sampling

_UNENDED = (inspect.GEN_RUNNING, inspect.GEN_SUSPENDED)


class EngineConversation:
    """The real ``Conversation``: see ``agent.protocol`` for what each method promises."""

    def __init__(
        self,
        history: History,
        lock: SessionLock,
        engine: Engine,
        session: Session,
        settings: Settings,
        *,
        keep_unused: bool,
        draw_seed: Callable[[], int],
        new_id: Callable[[], str],
        toolbox: Toolbox | None = None,
        notices: Sequence[Notice] = (),
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        """Take over what ``opening`` has opened.

        ``draw_seed`` gives a seed where none is set. Unless ``keep_unused``, a session to which nothing was added is
        removed at the end. ``notices`` are told with the first turn; ``on_event`` is told of every event.
        """
        self._history = history
        self._lock = lock
        self._engine = engine
        self._session = session
        self._naming = Naming(history, engine, session)
        self._settings = settings
        self._toolbox = toolbox
        self._new_id = new_id
        self._system = system_prompt(settings.system, session.settings)
        self._untold = Untold(notices, settings, self._system)
        self._closed = False
        self._asking = Asking()
        self._stop = threading.Event()
        self._running: Generator[Event, None, None] | None = None
        self._misses = Misses()
        self._on_event = on_event
        self._stream = EventStream(session.id, lambda: time.time_ns() // 1_000_000, self._told)
        stepper = Stepper(
            history,
            engine,
            session,
            settings,
            self._stream,
            tools=[] if toolbox is None else toolbox.registry.schemas(),
            parallel=toolbox is not None and toolbox.parallel,
            draw_seed=draw_seed,
            clock=time.monotonic,
        )
        self._looking = Looking(engine, stepper)
        self._measuring = Measuring(engine, stepper)
        self._parts = Parts(
            history,
            engine,
            stepper,
            self._stream,
            toolbox,
            self._asking,
            time.monotonic,
            new_id,
            lambda branch: self._untold.take(branch, engine.loaded.cache_notice),
        )
        # What cannot be mended now is mended before the next turn, or told then.
        with contextlib.suppress(HistoryError):
            repair(history, session.id)
            if toolbox is not None:
                recall(self.messages(), toolbox)
        self._keeping = Keeping(history, session, keep_unused=keep_unused)

    @property
    def session(self) -> Session:
        """The session as stored."""
        return self._naming.session

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._settings

    def adjust(self, changes: Mapping[str, object]) -> Settings:
        """Change settings from the next step on, and keep them with the session."""
        settings = adjusted(self._settings, changes)
        self._naming.keep(kept_of(settings, changes))
        self._settings = self._parts.stepper.settings = settings
        return settings

    @property
    def model(self) -> LoadedModel:
        """The loaded model."""
        loaded = self._engine.loaded
        return LoadedModel(
            loaded.name, loaded.sha256, loaded.model_kind, loaded.architecture, loaded.context_size,
            loaded.trained_context, loaded.thinks,
        )  # fmt: skip

    @property
    def tools(self) -> Sequence[ToolInfo]:
        """The tools that the model is offered."""
        return () if self._toolbox is None else self._toolbox.infos()

    def messages(self) -> Sequence[Message]:
        """Return the current branch, root first."""
        return self._history.branch(self._history.head(self._session.id))

    def send(self, text: str, options: TurnOptions | None = None) -> Iterator[Event]:
        """Store ``text`` under the head, in place of a message that did not fit, and answer it."""
        self._settle()
        head = self._stands_on()
        if head is None and self._system:
            head = self._history.append(self._session.id, None, "system", self._system).id
        return self._answer(self._history.append(self._session.id, head, "user", text), options)

    def regenerate(self, options: TurnOptions | None = None) -> Iterator[Event]:
        """Answer the last user message of the branch again."""
        self._settle()
        asked = last_asked(self.messages())
        if asked is None:
            raise UsageError("There is no message to answer again.", "Say something first.")
        return self._answer(asked, options, self._history.head(self._session.id))

    def edit(self, message: str, text: str, options: TurnOptions | None = None) -> Iterator[Event]:
        """Store ``text`` as a sibling of user message ``message`` and answer it."""
        self._settle()
        old = self._asked(message)
        return self._answer(self._history.append(self._session.id, old.parent, "user", text), options)

    def go_on(self) -> Iterator[Event]:
        """Continue the last turn: after its results, or with an answer beside one that was not finished."""
        self._settle()
        branch = self.messages()
        end = unfinished(branch, None if self._toolbox is None else self._toolbox.journal)
        if branch[-1].id == end.asked.id:
            return self._answer(end.asked, None)
        return self._begin(end.asked, end.at, end.turn or self._new_id(), None, branch[-1].id)

    def siblings(self, message: str) -> Sequence[Message]:
        """Return all versions of a message, oldest first."""
        return self._history.children(self._own(message).parent, self._session.id)

    def branch(self, message: str) -> Sequence[Message]:
        """Return the branch down to a message, root first."""
        return self._history.branch(self._own(message).id)

    def leaves(self) -> Sequence[Message]:
        """Return the last message of every branch, newest first."""
        return self._history.leaves(self._session.id)

    def switch(self, message: str) -> None:
        """Make the branch through ``message`` the current one, down to its newest leaf."""
        self._settle()
        at = self._own(message)
        while below := self._history.children(at.id, self._session.id):
            at = below[-1]
        self._history.set_head(self._session.id, at.id)
        repair(self._history, self._session.id)

    def replay(self, message: str | None = None) -> Iterator[Event | ReplayReport]:
        """Compute a stored answer from scratch with its ledger's schedule; the report is the last item."""
        answers = [each for each in self.messages() if each.role == "assistant"]
        if message is None and not answers:
            raise UsageError("There is no answer to replay.", "Say something first.")
        stored = answers[-1] if message is None else self._own(message)
        ledger = stored_ledger(self._history, self._engine.loaded.identity, stored)
        self._engine.begin()
        return replay(self._engine, self._stream, stored, ledger, self._new_id())

    def sampling(self) -> Sampling:
        """Return how the next answer would be drawn."""
        return self._parts.stepper.sampling()

    def room(self) -> Room:
        """Tell what the conversation fills of the context, by kind; from any thread."""
        return self._measuring.room(self.messages())

    def remove(self, message: str) -> None:
        """Leave out the turn of a user message: a new branch without it becomes the current one."""
        self._settle()
        remove_turn(self._history, self.messages(), message)

    def amend(self, message: str, text: str) -> None:
        """Store ``text`` as a version of an answer or a result; the current branch ends behind it."""
        self._settle()
        amend(self._history, self.messages(), message, text)

    def drop_results(self) -> Dropped:
        """Leave out what tools gave in all turns but the newest: a new branch becomes the current one."""
        self._settle()
        return drop_results(self._history, self.messages(), self._measuring)

    def compact(self) -> Iterator[Event]:
        """Have the model sum up the branch, and begin a new one with the summary."""
        self._settle()
        self._begin_anew()
        compaction = Compaction(self._parts, self._measuring, self.messages(), self._new_id(), self._stop)
        self._running = compaction.run()
        return self._running

    def decide(self, call: str, *, allowed: bool, scope: str = "once", reason: str = "") -> None:
        """Answer the open question about ``call``; safe from any thread."""
        self._asking.decide(call, Answer(allowed, scope, reason))

    def aside(self, text: str, *, max_tokens: int = 64) -> Callable[[], SideAnswer]:
        """Prepare a side question behind the branch's last whole answer; the function asks it, and waits."""
        request = side_request(self._behind(stands_on(self.messages()), max_tokens), text)
        return lambda: ask_aside(self._engine, request)

    def entitle(self) -> Callable[[], Session] | None:
        """Prepare to have the model name a session that nobody has named; None where there is nothing to ask."""
        branch = stands_on(self.messages()) if self._settings.titles and self._naming.wanted else ()
        if not branch or branch[-1].role != "assistant":
            return None
        self._naming.begin()
        request = self._behind(branch, MOST_TOKENS)
        return lambda: self._naming.ask(request)

    def rename(self, title: str) -> Session:
        """Give the session another title."""
        return self._naming.rename(title)

    @property
    def draft(self) -> str:
        """The text that was typed in this session and not sent; from any thread, as ``keep_draft``."""
        return self._keeping.draft

    def keep_draft(self, text: str) -> None:
        """Keep the text that is typed."""
        self._keeping.keep_draft(text)

    def keep(self) -> None:
        """Keep the session also if nothing is said in it."""
        self._keeping.keep()

    def checkpoints(self) -> Checkpoints:
        """Tell what is kept of this session, its current branch first; from any thread."""
        current = self.messages()
        others = (self.branch(leaf.id) for leaf in self.leaves() if not current or leaf.id != current[-1].id)
        return self._looking.checkpoints([current, *others], self._misses)

    def foresee(self, text: str, message: str | None = None) -> Foreseen:
        """Tell where ``text`` would resume, sent next or as an edit of ``message``; from any thread."""
        parent = self._stands_on() if message is None else self._asked(message).parent
        before = self._history.branch(parent)
        if message is None and not before and self._system:
            before = [Message("", self._session.id, None, "system", self._system)]
        return self._looking.foresee([*before, Message("", self._session.id, None, "user", text)])

    def undo(self) -> Undone:
        """Put back the files of the newest turn of this branch that wrote some and was not undone yet."""
        if self._running is not None and inspect.getgeneratorstate(self._running) in _UNENDED:
            raise UndoRefused("A turn is still running, and may write more.", "Stop it first.")
        return undo_newest(self._toolbox, self.messages())

    def cancel(self) -> None:
        """Stop the running turn; safe from any thread."""
        self._stop.set()
        self._asking.cancel()
        self._engine.cancel()

    def close(self) -> None:
        """Let the worker finish recording, release the lock; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        with contextlib.ExitStack() as stack:
            stack.callback(self._history.close)
            stack.callback(self._lock.close)
            stack.callback(self._keeping.forget_unused)
            stack.callback(self._engine.close)
            self._naming.stop()
            self._stop.set()
            self._asking.cancel()
            # One that another thread reads ends by itself, now that it is stopped.
            with contextlib.suppress(UsageError):
                self._end_running()

    def _behind(self, branch: Sequence[Message], most: int) -> StepRequest:
        """Return a request behind a branch that is answered."""
        return self._parts.stepper.request(completed(branch), Wish("none", most), self._new_id())

    def _stands_on(self) -> str | None:
        """Return the message (an id) that the next one follows: the head, or what is above one that did not fit."""
        head = self._history.head(self._session.id)
        if head is not None and (last := self._history.message(head)).state == "failed":
            return last.parent
        return head

    def _told(self, event: Event) -> None:
        self._misses.take(event)
        if self._on_event is not None:
            self._on_event(event)

    def _settle(self) -> None:
        """End what an earlier turn left open, so that the branch can be built on."""
        self._end_running()
        repair(self._history, self._session.id)

    def _end_running(self) -> None:
        running, self._running = self._running, None
        if running is None:
            return
        try:
            running.close()
        except ValueError as error:
            self._running = running
            raise UsageError("A turn of this session is still running.", "Stop it first.") from error

    def _answer(
        self, asked: Message, options: TurnOptions | None, before: str | None = None
    ) -> Iterator[Event]:
        """Answer a message; ``before`` is where the head was, when the message is not a new one."""
        if asked.state == "failed":
            asked = self._history.finish(asked.id, asked.content)
        return self._begin(asked, asked.id, self._new_id(), options, before)

    def _begin(
        self, asked: Message, at: str, turn: str, options: TurnOptions | None, before: str | None
    ) -> Iterator[Event]:
        options = options or TurnOptions()
        most = self._settings.max_tokens if options.max_tokens is None else options.max_tokens
        self._history.set_head(self._session.id, at)
        self._begin_anew()
        begin = Beginning(asked, at, turn, options, most, lambda: self._set_aside(asked, before))
        self._running = Turn(self._parts, begin, self._stop).run()
        return self._running

    def _begin_anew(self) -> None:
        self._engine.begin()
        self._asking.begin()
        self._stop = threading.Event()

    def _set_aside(self, asked: Message, before: str | None) -> None:
        """Keep a message that did not fit out of the prompts to come; it stays to be read, edited, or tried again."""
        if before in (None, asked.id):
            self._history.finish(asked.id, asked.content, state="failed", finish_reason="context_full")
        else:
            self._history.set_head(self._session.id, before)

    def _asked(self, message: str) -> Message:
        asked = self._own(message)
        if asked.role != "user":
            raise UsageError(
                f"Message {message} is the {asked.role}'s; only a user's message can be edited.",
                "Try /history.",
            )
        return asked

    def _own(self, message: str) -> Message:
        found = self._history.message(message)
        if found.session != self._session.id:
            raise HistoryError(f"Message {message} belongs to another session.", "List them with /history.")
        return found
