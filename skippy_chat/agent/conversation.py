"""A conversation on a running engine: history on one side, the worker on the other.

Invariant: the user's message is durable before the model is asked, and the ledger of an answer is stored with it, so
the next turn is fed what was really computed.
"""

from __future__ import annotations

import contextlib
import time
from array import array
from collections.abc import Callable, Generator, Iterator, Sequence

from skippy_chat.agent.answers import PartialAnswer
from skippy_chat.agent.protocol import LoadedModel, ReplayReport, ToolInfo, TurnOptions
from skippy_chat.agent.toolbox import Toolbox
from skippy_chat.chat.history import History
from skippy_chat.chat.ledger import Ledger, Run
from skippy_chat.chat.locks import SessionLock
from skippy_chat.chat.messages import Message, Session
from skippy_chat.config import Settings
from skippy_chat.engine.protocol import RecordedAnswer, ReplayRequest, StepReply, StepRequest
from skippy_chat.engine.supervisor import Supervisor
from skippy_chat.errors import ContextFull, EngineDied, HistoryError, UsageError
from skippy_chat.events import (
    Event,
    Notice,
    StepFinished,
    TextDelta,
    TurnFinished,
    TurnStarted,
    Usage,
    WorkerDied,
    stamp,
)
from skippy_chat.sampling import Sampling

_TYPED = frozenset({"--system", "-c system"})
_SYSTEM_UNUSED = Notice(
    level="warning",
    text="--system was not used: this session goes on as it began.",
    hint="Begin another one with --new for it.",
)


class EngineConversation:
    """The real ``Conversation``: see ``agent.protocol`` for what each method promises."""

    def __init__(
        self,
        history: History,
        lock: SessionLock,
        engine: Supervisor,
        session: Session,
        settings: Settings,
        *,
        keep_unused: bool,
        draw_seed: Callable[[], int],
        new_id: Callable[[], str],
        toolbox: Toolbox | None = None,
    ) -> None:
        """Take over what ``opening`` has opened.

        ``draw_seed`` gives a seed where none is set. Unless ``keep_unused``, a session to which nothing was added is
        removed at the end.
        """
        self._history = history
        self._lock = lock
        self._engine = engine
        self._session = session
        self._settings = settings
        self._unused = None if keep_unused else history.leaves(session.id)
        self._draw_seed = draw_seed
        self._new_id = new_id
        self._toolbox = toolbox
        # Told once: a system prompt that somebody typed for a session which has its own already.
        self._unused_system = settings.sources.get("system", "") in _TYPED
        self._seq = 0
        self._closed = False

    @property
    def session(self) -> Session:
        """The session as stored."""
        return self._session

    @property
    def model(self) -> LoadedModel:
        """The loaded model."""
        loaded = self._engine.loaded
        return LoadedModel(
            loaded.name, loaded.sha256, loaded.model_kind, loaded.architecture, loaded.context_size
        )

    @property
    def tools(self) -> Sequence[ToolInfo]:
        """The tools that the model is offered."""
        return () if self._toolbox is None else self._toolbox.infos()

    def messages(self) -> Sequence[Message]:
        """Return the current branch, root first."""
        return self._history.branch(self._history.head(self._session.id))

    def send(self, text: str, options: TurnOptions | None = None) -> Iterator[Event]:
        """Store ``text`` under the head, in place of a message that did not fit, and answer it."""
        head = self._history.head(self._session.id)
        if head is not None and (stands_on := self._history.message(head)).state == "failed":
            head = stands_on.parent
        if head is None and self._settings.system:
            head = self._history.append(self._session.id, None, "system", self._settings.system).id
        return self._turn(self._history.append(self._session.id, head, "user", text), options)

    def regenerate(self, options: TurnOptions | None = None) -> Iterator[Event]:
        """Answer the last user message of the branch again."""
        asked = [message for message in self.messages() if message.role == "user"]
        if not asked:
            raise UsageError("There is no message to answer again.", "Say something first.")
        before = self._history.head(self._session.id)
        return self._turn(asked[-1], options, before)

    def edit(self, message: str, text: str, options: TurnOptions | None = None) -> Iterator[Event]:
        """Store ``text`` as a sibling of user message ``message`` and answer it."""
        old = self._own(message)
        if old.role != "user":
            raise UsageError(
                f"Message {message} is the {old.role}'s; only a user's message can be edited.",
                "Try /history.",
            )
        return self._turn(self._history.append(self._session.id, old.parent, "user", text), options)

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
        at = self._own(message)
        while below := self._history.children(at.id, self._session.id):
            at = below[-1]
        self._history.set_head(self._session.id, at.id)

    def replay(self, message: str | None = None) -> Iterator[Event | ReplayReport]:
        """Compute a stored answer from scratch with its ledger's schedule; the report is the last item."""
        stored = self._replayable(message)
        ledger = self._history.ledger(stored.id, self._engine.loaded.identity)
        if ledger is None:
            raise HistoryError(
                f"There is no ledger of message {stored.id} for this model as it is loaded now.",
                "A replay needs the model, context options and build that wrote it.",
            )
        self._engine.begin()
        return self._replay(stored, ledger, self._new_id())

    def cancel(self) -> None:
        """Stop the running turn; safe from any thread."""
        self._engine.cancel()

    def close(self) -> None:
        """Let the worker finish recording, release the lock; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        with contextlib.ExitStack() as stack:
            stack.callback(self._history.close)
            stack.callback(self._lock.close)
            stack.callback(self._forget_unused)
            self._engine.close()

    def _forget_unused(self) -> None:
        # Nobody misses it, and the next start has one line less to choose from; the lock is still held.
        with contextlib.suppress(HistoryError):
            if self._unused is not None and self._history.leaves(self._session.id) == self._unused:
                self._history.delete(self._session.id)

    def _turn(
        self, asked: Message, options: TurnOptions | None, before: str | None = None
    ) -> Iterator[Event]:
        """Answer a message; ``before`` is where the head was, when the message is not a new one."""
        if asked.state == "failed":
            asked = self._history.finish(asked.id, asked.content)
        self._history.set_head(self._session.id, asked.id)
        self._engine.begin()
        return self._run_turn(asked, options or TurnOptions(), before, self._new_id())

    def _run_turn(
        self, asked: Message, options: TurnOptions, before: str | None, turn: str
    ) -> Iterator[Event]:
        yield self._own_event(TurnStarted(message=asked.id), turn)
        partial = PartialAnswer(self._history, self._session.id, asked.id, time.monotonic)
        usage = Usage()
        try:
            with contextlib.closing(self._answer(asked, options, turn, partial)) as events:
                for event in events:
                    if isinstance(event, StepFinished):
                        usage = usage.plus(event.usage)
                    yield event
        except EngineDied as death:
            partial.give_up()
            yield self._own_event(WorkerDied(reason=death.message, log_tail=death.log_tail), turn)
            raise
        except ContextFull:
            self._set_aside(asked, before)
            raise
        finally:
            partial.give_up()
        yield self._own_event(TurnFinished(usage=usage, message=partial.message_id or asked.id), turn)

    def _set_aside(self, asked: Message, before: str | None) -> None:
        """Keep a message that did not fit out of the prompts to come; it stays to be read, edited, or tried again."""
        if before in (None, asked.id):
            self._history.finish(asked.id, asked.content, state="failed", finish_reason="context_full")
        else:
            self._history.set_head(self._session.id, before)

    def _answer(
        self, asked: Message, options: TurnOptions, turn: str, partial: PartialAnswer
    ) -> Generator[Event, None, None]:
        yield from self._ready(turn)
        if self._engine.cancelled:
            yield self._own_event(StepFinished(finish_reason="cancelled"), turn)
            return
        if self._engine.loaded.cache_notice:
            yield self._own_event(Notice(level="warning", text=self._engine.loaded.cache_notice), turn)
        # Put together only now: which ids were fed is known for the model as it is loaded.
        branch = self._history.branch(asked.id)
        if self._unused_system and not _begins_with(branch, self._settings.system):
            yield self._own_event(_SYSTEM_UNUSED, turn)
        self._unused_system = False
        request = self._step_request(branch, options, turn)
        with contextlib.closing(self._engine.run(request)) as items:
            for item in items:
                if isinstance(item, StepReply):
                    last = partial.finish(item)
                    self._keep_ledger(last, branch, item, request.sampling)
                    continue
                if isinstance(item, TextDelta):
                    partial.add(item.text)
                yield self._numbered(item)

    def _ready(self, turn: str) -> Iterator[Event]:
        for event in self._engine.ready():
            yield self._own_event(event, turn)

    def _step_request(self, branch: Sequence[Message], options: TurnOptions, turn: str) -> StepRequest:
        return StepRequest(
            session=self._session.id,
            turn=turn,
            messages=[message.to_openai() for message in branch],
            sampling=self._sampling(),
            answers={
                index: answer
                for index, message in enumerate(branch)
                if message.role == "assistant" and (answer := self._answer_of(message)) is not None
            },
            max_tokens=self._settings.max_tokens if options.max_tokens is None else options.max_tokens,
            now=int(self._session.settings.get("pinned_time", 0)),
            thinking=self._settings.reasoning,
            cache=self._settings.cache,
            replay=self._settings.replay,
            json_schema=None if options.json_schema is None else dict(options.json_schema),
        )

    def _keep_ledger(
        self, answer: Message | None, branch: Sequence[Message], reply: StepReply, sampling: Sampling
    ) -> None:
        if answer is None or not reply.ids:
            return
        ledger = Ledger(
            self._engine.loaded.identity,
            tuple(reply.ids),
            reply.prompt_tokens,
            tuple(Run(tokens, single) for tokens, single in reply.schedule),
            sampling.to_json(),
        )
        before = [message.id for message in branch if message.role == "assistant"]
        self._history.save_ledger(answer.id, ledger, base=before[-1] if before else None)

    def _answer_of(self, message: Message) -> RecordedAnswer | None:
        answer = self._history.answer_ids(message.id, self._engine.loaded.identity)
        return None if answer is None else RecordedAnswer(array("i", answer.ids), answer.fed)

    def _replayable(self, message: str | None) -> Message:
        if message is None:
            answers = [each for each in self.messages() if each.role == "assistant"]
            if not answers:
                raise UsageError("There is no answer to replay.", "Say something first.")
            return answers[-1]
        stored = self._own(message)
        if stored.role != "assistant":
            raise UsageError(f"Message {message} is the {stored.role}'s; only answers are replayed.")
        return stored

    def _replay(self, stored: Message, ledger: Ledger, turn: str) -> Iterator[Event | ReplayReport]:
        request = ReplayRequest(
            session=self._session.id,
            turn=turn,
            ids=array("i", ledger.ids),
            prompt_tokens=ledger.prompt_tokens,
            schedule=[(run.tokens, run.single) for run in ledger.schedule],
            sampling=Sampling.from_json(ledger.sampling),
        )
        try:
            yield from self._ready(turn)
            if self._engine.cancelled:
                return
            for item in self._engine.run(request):
                if isinstance(item, StepReply):
                    yield _compare(stored.id, ledger.answer_ids, item.ids[item.prompt_tokens :])
                else:
                    yield self._numbered(item)
        except EngineDied as death:
            yield self._own_event(WorkerDied(reason=death.message, log_tail=death.log_tail), turn)
            raise

    def _sampling(self) -> Sampling:
        settings = self._settings
        return Sampling(
            temperature=settings.temperature,
            top_k=settings.top_k,
            top_p=settings.top_p,
            min_p=settings.min_p,
            seed=self._draw_seed() if settings.seed is None else settings.seed,
        )

    def _own(self, message: str) -> Message:
        found = self._history.message(message)
        if found.session != self._session.id:
            raise HistoryError(f"Message {message} belongs to another session.", "List them with /history.")
        return found

    def _own_event(self, event: Event, turn: str) -> Event:
        at = time.time_ns() // 1_000_000
        return self._numbered(stamp(event, session=self._session.id, turn=turn, at_ms=at))

    def _numbered(self, event: Event) -> Event:
        self._seq += 1
        return stamp(event, seq=self._seq)


def _begins_with(branch: Sequence[Message], system: str | None) -> bool:
    return branch[0].role == "system" and branch[0].content == system


def _compare(message: str, stored: Sequence[int], again: Sequence[int]) -> ReplayReport:
    pairs = enumerate(zip(stored, again, strict=False))
    difference = next((index for index, (old, new) in pairs if old != new), None)
    if difference is None and len(stored) != len(again):
        difference = min(len(stored), len(again))
    return ReplayReport(message, len(stored), difference is None, difference)
