"""What an answer says while it is written: every token goes through one matcher, and comes out as events.

Bytes become characters, characters pass the template's stops, and llama.cpp's parser tells content, thoughts and calls
apart. Invariants: what is read does not depend on how the text was split into tokens; no part of a stop and nothing
behind it is shown; a call that was not read whole is never among the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from skippy_chat.engine.call_ids import CallIds
from skippy_chat.engine.protocol import AnsweredCall
from skippy_chat.events import Event, ReasoningDelta, TextDelta, ToolCallDelta
from skippy_chat.native.parsing import AnswerDelta, ParsedAnswer, ParsedCall, is_object
from skippy_chat.text.decoder import Utf8Decoder
from skippy_chat.text.stops import StopMatcher

Emit = Callable[[Event], None]


class Stream(Protocol):
    """An answer's text that is parsed as it grows: ``AnswerStream``."""

    @property
    def text(self) -> str:
        """All text so far."""

    def feed(self, text: str) -> AnswerDelta:
        """Add text; returns what is new."""

    def read(self, text: str) -> ParsedAnswer:
        """Read another whole answer, which leaves this one as it is."""

    def finish(self) -> tuple[AnswerDelta, ParsedAnswer]:
        """Return what is left, and the whole answer."""


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """What an answer says: see ``StepReply``."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[AnsweredCall, ...] = ()
    malformed: str = ""


class AnswerReader:
    """Reads one answer.

    Args:
        bytes_of: a token's text; none for a control token that is no part of the answer.
        emit: takes the events.
        stops: texts that end the answer.
        stream: parses the text; None where all of it is content.
        ids: gives ids to calls.
        calls_asked: whether tools were offered, so that what looks like a call and cannot be read is malformed.
        end_tags: what ends thoughts.
    """

    def __init__(
        self,
        bytes_of: Callable[[int], bytes],
        emit: Emit,
        *,
        stops: Iterable[str] = (),
        stream: Stream | None = None,
        ids: CallIds | None = None,
        calls_asked: bool = False,
        end_tags: Iterable[str] = (),
    ) -> None:
        self._bytes_of = bytes_of
        self._emit = emit
        self._decoder = Utf8Decoder()
        self._stops = StopMatcher(stops)
        self._stream = stream
        self._ids = ids or CallIds(())
        self._calls_asked = calls_asked
        self._end_tags = tuple(end_tags)
        self._plain: list[str] = []
        self._call_ids: list[str] = []
        self._content = _Shown(lambda text: emit(TextDelta(text=text)))
        self._thoughts = _Shown(lambda text: emit(ReasoningDelta(text=text)))

    def take(self, token: int) -> bool:
        """Read a token's text; returns whether a stop has come."""
        self._pass(self._decoder.feed(self._bytes_of(token)))
        return self._stops.matched is not None

    def end(self) -> ReadAnswer:
        """Read what was held back, and return what the answer says."""
        self._pass(self._decoder.flush())
        self._show_text(self._stops.flush())
        if self._stream is None:
            return ReadAnswer("".join(self._plain))
        delta, answer = self._stream.finish()
        self._show(delta)
        thoughts = answer.reasoning if answer.reasoning.strip() else ""
        if answer.error is None and answer.calls and not answer.content.strip():
            return ReadAnswer("", thoughts, self._named(answer.calls))
        self._content.release()
        if answer.error is None:
            return ReadAnswer(answer.content, thoughts, self._named(answer.calls))
        return self._broken(answer, self._stream)

    def _pass(self, text: str) -> None:
        if text:
            self._show_text(self._stops.feed(text))

    def _show_text(self, text: str) -> None:
        if not text:
            return
        if self._stream is None:
            self._plain.append(text)
            self._emit(TextDelta(text=text))
        else:
            self._show(self._stream.feed(text))

    def _show(self, delta: AnswerDelta) -> None:
        self._thoughts.add(delta.reasoning)
        self._content.add(delta.content)
        for call in delta.calls:
            if call.index == len(self._call_ids):
                self._call_ids.append(self._ids.give(call.id))
            self._emit(
                ToolCallDelta(call=self._call_ids[call.index], name=call.name, arguments=call.arguments)
            )

    def _broken(self, answer: ParsedAnswer, stream: Stream) -> ReadAnswer:
        """Return an answer that does not keep to its form, as the text that it is."""
        text = raw = stream.text
        if answer.reasoning:
            text = _behind_thoughts(raw, answer, self._end_tags)
        shown = self._content.text
        self._content.add(text[len(shown) :] if text.startswith(shown) else answer.unparsed)
        self._content.release()
        thoughts = answer.reasoning if answer.reasoning.strip() else ""
        if not self._calls_asked:
            return ReadAnswer(text, thoughts)
        named = self._named(answer.calls)
        calls = tuple(call for call in named if is_object(call.arguments))
        if calls and calls[-1] is named[-1] and not _ends_whole(answer, stream):
            calls = calls[:-1]
        return ReadAnswer(text, thoughts, calls, answer.error or "")

    def _named(self, calls: Iterable[ParsedCall]) -> tuple[AnsweredCall, ...]:
        answered: list[AnsweredCall] = []
        for index, call in enumerate(calls):
            if index == len(self._call_ids):  # none of it was shown
                self._call_ids.append(self._ids.give(call.id))
            answered.append(AnsweredCall(self._call_ids[index], call.name, call.arguments))
        return tuple(answered)


class _Shown:
    """Text that is shown as it comes, once there is more of it than white space: alone that is no thought, and no
    content where a call follows."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._held = ""
        self.text = ""

    def add(self, text: str) -> None:
        self._held += text
        if self.text or self._held.strip():
            self.release()

    def release(self) -> None:
        text, self._held = self._held, ""
        if text:
            self.text += text
            self._show(text)


def _ends_whole(answer: ParsedAnswer, stream: Stream) -> bool:
    """Return whether the last call was whole before what could not be read: arguments of half a call may be, too."""
    readable = stream.text.removesuffix(answer.unparsed) if answer.unparsed else ""
    return bool(readable) and readable != stream.text and stream.read(readable).error is None


def _behind_thoughts(raw: str, answer: ParsedAnswer, end_tags: Iterable[str]) -> str:
    """Return what stands behind the thoughts; nothing when they did not end."""
    start = raw.find(answer.reasoning)
    start = 0 if start < 0 else start + len(answer.reasoning)
    ends = [at + len(tag) for tag in end_tags if tag and (at := raw.find(tag, start)) >= 0]
    return raw[min(ends) :] if ends else raw[start:]
