"""What an answer's text says, read by llama.cpp's own parser: content, thoughts, calls.

The text is that of the answer's tokens: control tokens leave none, but for those in the rendering's
``preserved_token_ids``.

Invariant: what a stream has given out is never taken back: content, thoughts, a call's name and its arguments only
grow. Where a partial text can be read in several ways, the stream waits.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from skippy_chat.errors import NativeError
from skippy_chat.native.library import Library

# Reading a text costs more the longer it is, so at most this part of the time goes into it.
_SHARE = 0.05
_MIN_SECONDS = 0.03


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A call: ``arguments`` is JSON text, a beginning of it while partial; ``id`` is empty if the model wrote none."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """An answer as read; ``error`` says what is wrong with a malformed one, ``unparsed`` is the text from there on.

    ``complete`` is true of a whole answer only: nothing is missing, and the arguments of every call are a JSON object.
    """

    content: str = ""
    reasoning: str = ""
    calls: tuple[ParsedCall, ...] = ()
    complete: bool = False
    error: str | None = None
    unparsed: str = ""


@dataclass(frozen=True, slots=True)
class CallDelta:
    """What is new of the call number ``index``: name and id come whole and first, the arguments in pieces."""

    index: int
    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class AnswerDelta:
    """What is new since the last delta."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[CallDelta, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.content or self.reasoning or self.calls)


class AnswerParser:
    """The parser of one rendering; owned by one thread, closed once."""

    def __init__(self, library: Library, parser: Mapping[str, Any]) -> None:
        """Load ``parser``, a rendering's ``parser``.

        Raises:
            NativeError: it is none.
        """
        self._library = library.answers()
        self._take = library.take_text
        error = ctypes.c_void_p()
        raw = json.dumps(parser, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self._pointer = self._library.skippy_parser_init(raw, ctypes.byref(error))
        if not self._pointer:
            raise NativeError(f"The parser of the answer cannot be loaded: {self._take(error)}.")

    def parse(self, text: str, *, partial: bool) -> ParsedAnswer:
        """Read the answer from its beginning; a malformed one is not an exception (``ParsedAnswer.error``)."""
        error = ctypes.c_void_p()
        raw = text.encode("utf-8", "surrogatepass")
        pointer = self._library.skippy_parser_parse(
            self._pointer, raw, len(raw), partial, ctypes.byref(error)
        )
        if not pointer:
            raise NativeError(f"The answer cannot be read: {self._take(error)}.")
        reply = json.loads(self._take(ctypes.c_void_p(pointer)))
        calls = tuple(ParsedCall(call["id"], call["name"], call["arguments"]) for call in reply["tool_calls"])
        return ParsedAnswer(
            reply["content"],
            reply["reasoning_content"],
            calls,
            reply["complete"],
            reply["error"],
            reply["unparsed"],
        )

    def close(self) -> None:
        """Free the parser; safe to call twice."""
        if self._pointer:
            self._library.skippy_parser_free(self._pointer)
            self._pointer = None


@dataclass(slots=True)
class _Given:
    """What has been given out."""

    content: str = ""
    reasoning: str = ""
    calls: list[CallDelta] = field(default_factory=list)


class AnswerStream:
    """An answer that grows: text in, deltas out, reading it anew only every so often."""

    def __init__(
        self,
        parser: AnswerParser,
        clock: Callable[[], float],
        *,
        continued: bool = False,
        with_ids: bool = False,
    ) -> None:
        """Start an answer.

        Args:
            parser: of this answer; stays the caller's.
            clock: seconds, monotonic.
            continued: the answer goes on with a message, whose text is not to be given out again.
            with_ids: the model writes ids into its calls, so a call waits until its id is whole.
        """
        self._parser = parser
        self._clock = clock
        self._with_ids = with_ids
        self._text: list[str] = []
        self._given = _Given()
        self._due = clock()
        if continued:
            begun = parser.parse("", partial=True)
            self._given = _Given(begun.content, begun.reasoning)

    @property
    def text(self) -> str:
        """All text so far."""
        return "".join(self._text)

    def feed(self, text: str) -> AnswerDelta:
        """Add text; returns what is new, which is nothing when it is too early to look."""
        self._text.append(text)
        began = self._clock()
        if began < self._due:
            return AnswerDelta()
        delta = self._difference(self._parser.parse(self.text, partial=True))
        ended = self._clock()
        self._due = ended + max(_MIN_SECONDS, (ended - began) / _SHARE)
        return delta

    def read(self, text: str) -> ParsedAnswer:
        """Read another whole answer, which leaves this one as it is."""
        return self._parser.parse(text, partial=False)

    def finish(self) -> tuple[AnswerDelta, ParsedAnswer]:
        """Return what is left, and the whole answer."""
        answer = self._parser.parse(self.text, partial=False)
        return self._difference(answer, ended=True), answer

    def _difference(self, answer: ParsedAnswer, *, ended: bool = False) -> AnswerDelta:
        given = self._given
        content = _grown(given.content, answer.content)
        reasoning = _grown(given.reasoning, answer.reasoning)
        given.content += content
        given.reasoning += reasoning
        return AnswerDelta(content, reasoning, self._call_deltas(answer.calls, ended=ended))

    def _call_deltas(self, calls: tuple[ParsedCall, ...], *, ended: bool) -> tuple[CallDelta, ...]:
        deltas: list[CallDelta] = []
        for index, call in enumerate(calls):
            # A name may be a beginning of another until its arguments begin.
            if not call.arguments or not call.name:
                break
            if index == len(self._given.calls):
                if self._with_ids and not (ended or index + 1 < len(calls) or _has_whole_id(call)):
                    break
                known = CallDelta(index, call.name, "")
                self._given.calls.append(known)
                deltas.append(CallDelta(index, call.name, call.arguments, call.id))
            else:
                known = self._given.calls[index]
                more = _grown(known.arguments, call.arguments) if call.name == known.name else ""
                if not more:
                    continue
                deltas.append(CallDelta(index, "", more))
            self._given.calls[index] = CallDelta(index, known.name, known.arguments + deltas[-1].arguments)
        return tuple(deltas)


def reads_all_as_content(parser: Mapping[str, Any]) -> bool:
    """Return whether a rendering's ``parser`` takes every answer as it is for content, so that none need be read."""
    if not parser.get("arena"):
        return True
    arena = json.loads(parser["arena"])
    nodes, root = arena["parsers"], arena["parsers"][arena["root"]]
    if root["type"] != "sequence":
        return False
    parts = [nodes[child] for child in root["children"]]
    parts = [part for part in parts if part["type"] not in {"epsilon", "end"}]
    if parts and parts[0] == {"type": "literal", "literal": parser["generation_prompt"]}:
        del parts[0]
    if len(parts) != 1 or (parts[0]["type"], parts[0].get("tag")) != ("tag", "content"):
        return False
    return bool(nodes[parts[0]["child"]] == {"type": "until", "delimiters": []})


def _has_whole_id(call: ParsedCall) -> bool:
    """Return whether an id stands before the arguments: there is one while they are still being written."""
    return bool(call.id) and not is_object(call.arguments)


def is_object(text: str) -> bool:
    """Return whether a text is a JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _grown(given: str, now: str) -> str:
    """Return what ``now`` has more than ``given``; nothing when it is not its continuation."""
    return now[len(given) :] if now.startswith(given) else ""
