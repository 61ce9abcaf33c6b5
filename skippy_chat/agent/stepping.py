"""One step of the model: a branch goes in, events and the stored answer come out.

Invariant: the answer and its ledger are durable before the step is told to be over, so the next step is fed what was
really computed, and no tool runs for an answer that could be lost.
"""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, overload

from skippy_chat.agent.answers import PartialAnswer
from skippy_chat.agent.missing import told
from skippy_chat.agent.stream import EventStream
from skippy_chat.chat.forms import FORMS
from skippy_chat.chat.history import History
from skippy_chat.chat.ledger import Ledger, Run
from skippy_chat.chat.messages import Message, Session, ToolCall
from skippy_chat.chat.pairing import completed
from skippy_chat.config import Settings
from skippy_chat.engine.protocol import LoadReply, RecordedAnswer, ReplayRequest, StepReply, StepRequest
from skippy_chat.engine.questions import (
    CheckpointTree,
    Foreseen,
    ForeseeQuestion,
    Measured,
    MeasureQuestion,
    TreeQuestion,
)
from skippy_chat.errors import TemplateRefused
from skippy_chat.events import Event, FinishReason, PrefillStarted, StepFinished, ToolCallDelta
from skippy_chat.sampling import Sampling, drawn_to_json


class Engine(Protocol):
    """The part of ``engine.supervisor.Supervisor`` that a conversation needs."""

    @property
    def loaded(self) -> LoadReply:
        """What was loaded."""

    @property
    def pid(self) -> int | None:
        """Process id of the worker, if there is one."""

    @property
    def cancelled(self) -> bool:
        """Whether the turn was asked to stop."""

    def begin(self) -> None:
        """Forget earlier wishes to stop."""

    def ready(self) -> Iterator[Event]:
        """Have a worker with the model, telling what had to be done for it."""

    def run(self, request: StepRequest | ReplayRequest) -> Generator[Event | StepReply, None, None]:
        """Run a step; the reply comes last."""

    def aside(self, request: StepRequest) -> Generator[Event | StepReply, None, None]:
        """Run a side request when the conversation asks nothing; the reply comes last."""

    @overload
    def ask(self, question: ForeseeQuestion) -> Foreseen:
        """Ask about the cache; it waits for no step. From any thread."""

    @overload
    def ask(self, question: TreeQuestion) -> CheckpointTree:
        """As above."""

    @overload
    def ask(self, question: MeasureQuestion) -> Measured:
        """As above."""

    def cancel(self) -> None:
        """Stop what runs; safe from any thread."""

    def close(self) -> None:
        """Let the worker finish recording and end."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What one step is asked for; ``max_tokens`` bounds its answer, 0: no bound.

    ``sampling`` is how it is drawn; None: as the session says.
    """

    tool_choice: str
    max_tokens: int
    json_schema: Mapping[str, Any] | None = None
    sampling: Sampling | None = None


@dataclass(frozen=True, slots=True)
class Stepped:
    """How a step ended: its answer as stored, None when it was stopped before its first token.

    ``malformed`` says what is wrong with an answer that cannot be read; ``begun`` are the calls that were shown of it,
    without their arguments. ``over`` is the event that tells of the step's end, still to be given out.
    """

    finish_reason: FinishReason
    answer: Message | None = None
    malformed: str = ""
    begun: tuple[ToolCall, ...] = ()
    over: StepFinished | None = None


class Stepper:
    """Asks the engine for answers, and stores them with what was fed."""

    def __init__(
        self,
        history: History,
        engine: Engine,
        session: Session,
        settings: Settings,
        stream: EventStream,
        *,
        tools: Sequence[Mapping[str, Any]],
        parallel: bool,
        draw_seed: Callable[[], int],
        clock: Callable[[], float],
    ) -> None:
        """``tools`` are name, description and parameters of each; ``clock`` gives seconds for pacing saves."""
        self._history = history
        self._engine = engine
        self._session = session
        self.settings = settings
        """Those in force; they can be replaced, for the next step."""
        self._stream = stream
        self._tools = [{"type": "function", "function": dict(each)} for each in tools]
        self._parallel = parallel
        self._draw_seed = draw_seed
        self._clock = clock

    def step(self, parent: str, wish: Wish, turn: str) -> Generator[Event | Stepped, None, None]:
        """Answer the branch down to ``parent`` (an id) on the engine that is ready; how it ended comes last.

        Raises:
            SkippyError: as the worker said; EngineDied when it is gone. What was written until then is stored.
        """
        # Put together only now: which ids were fed is known for the model as it is loaded.
        branch = completed(self._history.branch(parent))
        refused: TemplateRefused | None = None
        for form in FORMS:
            prompt = form(branch)
            if refused is not None and prompt == branch:
                continue
            try:
                yield from self._ask(prompt, parent, wish, turn)
            except TemplateRefused as error:
                refused = refused or error
            else:
                return
        assert refused is not None, "no form is left out before one was refused"
        raise refused

    def _ask(
        self, branch: Sequence[Message], parent: str, wish: Wish, turn: str
    ) -> Generator[Event | Stepped, None, None]:
        request = self.request(branch, wish, turn)
        partial = PartialAnswer(self._history, self._session.id, parent, turn, self._clock)
        done: Stepped | None = None
        over: StepFinished | None = None
        begun: dict[str, ToolCall] = {}
        try:
            with contextlib.closing(self._engine.run(request)) as items:
                for item in items:
                    if isinstance(item, StepReply):
                        before = [each.id for each in branch if each.role == "assistant" and each.id]
                        ledger = self._ledger(item, request.sampling)
                        answer = partial.finish(item, ledger, before[-1] if before else None)
                        calls = tuple(begun.values()) if item.malformed else ()
                        done = Stepped(item.finish_reason, answer, item.malformed, calls)
                    elif isinstance(item, StepFinished):
                        reason = told(item.cache.miss_reason, self._history, branch, request)
                        # Told by the turn, when the answer is stored.
                        over = replace(item, cache=replace(item.cache, miss_reason=reason))
                    elif isinstance(item, PrefillStarted):
                        reason = told(item.miss_reason, self._history, branch, request)
                        yield self._stream.numbered(replace(item, miss_reason=reason))
                    else:
                        if isinstance(item, ToolCallDelta) and item.name:
                            begun[item.call] = ToolCall(item.call, item.name, "")
                        partial.take(item)
                        yield self._stream.numbered(item)
        finally:
            partial.give_up()
        assert done is not None, "a step ends with a reply or an error"
        yield replace(done, over=over)

    def foresee(self, branch: Sequence[Message]) -> Foreseen:
        """Return where the step that answers ``branch``, which is one as prompts carry it, would resume."""
        request = self.asked(branch)
        foreseen = self._engine.ask(ForeseeQuestion(request))
        return replace(foreseen, miss_reason=told(foreseen.miss_reason, self._history, branch, request))

    def request(self, branch: Sequence[Message], wish: Wish, turn: str) -> StepRequest:
        """Return the request that has a branch answered, which is one as prompts carry it."""
        return self._request(branch, wish, turn, wish.sampling or self.sampling())

    def asked(self, branch: Sequence[Message], *, offered: bool = True) -> StepRequest:
        """Return a request with the same prompt, to ask about; no seed is drawn for it.

        Without ``offered`` it is the prompt that there would be without tools.
        """
        request = self._request(branch, Wish("auto", 0), "", Sampling())
        return request if offered else replace(request, tools=[])

    def _request(self, branch: Sequence[Message], wish: Wish, turn: str, sampling: Sampling) -> StepRequest:
        return StepRequest(
            session=self._session.id,
            turn=turn,
            messages=[message.to_openai() for message in branch],
            sampling=sampling,
            answers={
                index: answer
                for index, message in enumerate(branch)
                if message.role == "assistant" and message.id and (answer := self._answer_of(message))
            },
            max_tokens=wish.max_tokens,
            now=int(self._session.settings.get("pinned_time", 0)),
            thinking=self.settings.reasoning,
            cache=self.settings.cache,
            replay=self.settings.replay,
            # Offered in every step, whatever is to be done with them: the prompt begins with them.
            tools=self._tools,
            tool_choice=wish.tool_choice,
            parallel_tool_calls=self._parallel,
            json_schema=None if wish.json_schema is None else dict(wish.json_schema),
        )

    def _ledger(self, reply: StepReply, sampling: Sampling) -> Ledger | None:
        if not reply.ids:
            return None
        return Ledger(
            self._engine.loaded.identity,
            tuple(reply.ids),
            reply.prompt_tokens,
            tuple(Run(tokens, single) for tokens, single in reply.schedule),
            drawn_to_json(sampling, reply.redrawn),
        )

    def _answer_of(self, message: Message) -> RecordedAnswer | None:
        answer = self._history.answer_ids(message.id, self._engine.loaded.identity)
        return None if answer is None else RecordedAnswer(array("i", answer.ids), answer.fed)

    def sampling(self) -> Sampling:
        """Return how an answer is drawn as the session says, with a new seed where it sets none."""
        settings = self.settings
        return Sampling(
            temperature=settings.temperature,
            top_k=settings.top_k,
            top_p=settings.top_p,
            min_p=settings.min_p,
            seed=self._draw_seed() if settings.seed is None else settings.seed,
        )
