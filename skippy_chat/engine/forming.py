"""What an answer may be and how it is read: a rendering's grammar, parser and stops, for as long as the answer takes.

Invariant: what is native is freed when the answer has ended, however it ended. A template whose answers are content
and nothing else costs no grammar and no parser.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import TracebackType

from typing_extensions import Self

from skippy_chat.engine.answering import AnswerReader
from skippy_chat.engine.call_ids import CallIds
from skippy_chat.engine.choosing import Draw
from skippy_chat.engine.protocol import StepRequest
from skippy_chat.engine.recorder import Emit
from skippy_chat.engine.rendering import Renderer, Rendering
from skippy_chat.native.grammar import Grammar
from skippy_chat.native.model import Model
from skippy_chat.native.parsing import AnswerParser, AnswerStream, reads_all_as_content
from skippy_chat.native.sampler import Sampler


class Answering:
    """Draws and reads one answer; used by ``with``."""

    def __init__(
        self,
        model: Model,
        request: StepRequest,
        rendering: Rendering,
        renderer: Renderer,
        emit: Emit,
        clock: Callable[[], float],
    ) -> None:
        """Make what the answer to a request needs.

        Raises:
            NativeError: the grammar cannot be used, for example because of what a schema says.
        """
        self._model = model
        self._reply = rendering.reply
        self._held = contextlib.ExitStack()
        with contextlib.ExitStack() as stack:
            sampler = stack.enter_context(
                contextlib.closing(Sampler(model.library, request.sampling, model.n_vocab))
            )
            grammar = self._grammar(stack)
            offered = bool(request.tools) and request.tool_choice != "none" and request.json_schema is None
            single = grammar if offered and not request.parallel_tool_calls else None
            self.chooser = Draw(sampler, model.is_end, grammar, self._after_one_call(single))
            self.reader = AnswerReader(
                self._bytes_of(),
                emit,
                stops=self._reply.get("additional_stops", ()),
                stream=self._stream(stack, clock, with_ids=offered and renderer.writes_ids()),
                ids=CallIds(request.messages),
                calls_asked=offered,
                end_tags=self._reply.get("thinking_end_tags", ()),
            )
            self._held = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def _grammar(self, stack: contextlib.ExitStack) -> Grammar | None:
        if not self._reply.get("grammar"):
            return None
        return stack.enter_context(contextlib.closing(Grammar(self._model, self._reply)))

    def _after_one_call(self, grammar: Grammar | None) -> Callable[[], bool] | None:
        """Return what says that a call is whole, where one is enough: most forms of calls let more follow."""
        if grammar is None:
            return None
        end = self._model.end
        return lambda: grammar.is_active and grammar.allows(end)

    def _stream(
        self, stack: contextlib.ExitStack, clock: Callable[[], float], *, with_ids: bool
    ) -> AnswerStream | None:
        described = self._reply.get("parser")
        if described is None or reads_all_as_content(described):
            return None
        parser = stack.enter_context(contextlib.closing(AnswerParser(self._model.library, described)))
        return AnswerStream(parser, clock, with_ids=with_ids)

    def _bytes_of(self) -> Callable[[int], bytes]:
        """Return what gives a token's text; that of control tokens belongs to the answer only where it is asked for."""
        model = self._model
        preserved = {
            token: model.spell((token,)).encode() for token in self._reply.get("preserved_token_ids", ())
        }
        if not preserved:
            return model.piece
        return lambda token: preserved.get(token) or model.piece(token)
