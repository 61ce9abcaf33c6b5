"""Whether a template tells a past answer in other words than the model did: the same calls, other white space.

A template writes a call's arguments from their values, so what the model wrote with other spaces, escapes or line
breaks does not stand in the text. llama.cpp's own parser reads both, and they are the same answer only if it finds the
same content, thoughts and calls in them. Invariant: ids never stand for a text that says something else.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from skippy_chat.checkpoints.placement import Cut
from skippy_chat.engine.boundaries import Boundaries
from skippy_chat.engine.tokenising import Span, Vocabulary
from skippy_chat.errors import NativeError
from skippy_chat.native.model import TokenFlag
from skippy_chat.native.parsing import ParsedAnswer
from skippy_chat.text.stops import StopMatcher

_KEPT = 4096
_PROMPT = 256
"""Characters that hold any generation prompt."""
_TAILS = (24, 12, 6, 3, 1)
"""By how many of an answer's last characters its end is looked for in the text."""


class Reader(Protocol):
    """What renders and reads answers: ``ChatTemplate``."""

    def render(self, request: dict[str, Any]) -> dict[str, Any]:
        """Render a request."""

    def read(self, rendered: Mapping[str, Any], text: str) -> ParsedAnswer:
        """Read a whole answer to what was rendered."""


class Told:
    """How long a text it is that tells an answer, by digest; kept between turns, since each turn asks again."""

    def __init__(self) -> None:
        self._lengths: OrderedDict[bytes, int | None] = OrderedDict()

    def __contains__(self, key: bytes) -> bool:
        return key in self._lengths

    def __getitem__(self, key: bytes) -> int | None:
        self._lengths.move_to_end(key)
        return self._lengths[key]

    def __setitem__(self, key: bytes, length: int | None) -> None:
        self._lengths[key] = length
        if len(self._lengths) > _KEPT:
            self._lengths.popitem(last=False)


class Retelling:
    """Finds the answers of one conversation.

    Args:
        vocabulary: of the recorded ids.
        template: rendered the text.
        told: what earlier conversations have found.
        messages: the conversation.
        base: what its text was rendered with.
        now: the rendering that asks for the next answer, if calls are read in answers to it.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        template: Reader,
        told: Told,
        messages: Sequence[dict[str, Any]],
        base: Mapping[str, Any],
        now: Mapping[str, Any] | None,
    ) -> None:
        self._vocabulary = vocabulary
        self._template = template
        self._told = told
        self._messages = messages
        self._base = base
        self._now = now
        self._salt = json.dumps(dict(base), sort_keys=True)

    def find(self, index: int, ids: Sequence[int], text: str, boundaries: Boundaries) -> Span | None:
        """Return where ``text`` tells the recorded answer of this message behind its own generation prompt."""
        message = self._messages[index]
        if not ids or not (message.get("tool_calls") or message.get("reasoning_content")):
            return None
        start = boundaries.answers.get(index)
        ends = (
            b.offset for b in boundaries.found if b.message == index and b.cut is not Cut.GENERATION_PROMPT
        )
        stop = next(ends, None)
        if start is None or stop is None or stop <= start:
            return None
        region = text[start:stop]
        # What stands before it ends with its generation prompt, which may have begun it.
        key = _key(",".join(map(str, ids)), region, text[max(0, start - _PROMPT) : start], self._salt)
        if key not in self._told:
            self._told[key] = self._length(index, ids, region, text[:start])
        length = self._told[key]
        return None if length is None else (start, start + length)

    def _length(self, index: int, ids: Sequence[int], region: str, before: str) -> int | None:
        rendered = self._as_asked(index, before)
        if rendered is None:
            return None
        said = self._said(ids, rendered)
        try:
            meant = self._template.read(rendered, said)
            for stop in _stops(said, region):
                if _is_same(meant, self._template.read(rendered, region[:stop])):
                    return stop
        except NativeError:
            pass
        return None

    def _as_asked(self, index: int, before: str) -> Mapping[str, Any] | None:
        """Return a rendering that asks as this answer was asked for, with thinking as now or the other way."""
        if self._now is not None and before.endswith(self._now["generation_prompt"]):
            return self._now
        base = dict(self._base)
        if base.get("tools"):
            base |= {"tool_choice": "auto", "parallel_tool_calls": True}
        for thinking in (base["enable_thinking"], not base["enable_thinking"]):
            request = {**base, "enable_thinking": thinking, "messages": list(self._messages[:index])}
            try:
                rendered = self._template.render({**request, "add_generation_prompt": True})
            except NativeError:
                return None
            if before.endswith(rendered["generation_prompt"]):
                return rendered
        return None

    def _said(self, ids: Sequence[int], rendered: Mapping[str, Any]) -> str:
        kept = set(rendered["preserved_token_ids"])
        hidden = TokenFlag.CONTROL | TokenFlag.UNKNOWN
        shown = [token for token in ids if token in kept or not self._vocabulary.flags(token) & hidden]
        matcher = StopMatcher(rendered["additional_stops"])
        return matcher.feed(self._vocabulary.spell(shown)) + matcher.flush()


def _stops(said: str, region: str) -> Iterable[int]:
    """Yield where an answer may end in a text that goes on with what the template writes behind it."""
    seen: set[int] = set()
    end = said.rstrip()
    for size in _TAILS:
        tail = end[-size:]
        at = region.rfind(tail) if tail else -1
        if at >= 0 and at + len(tail) not in seen:
            seen.add(at + len(tail))
            yield at + len(tail)


def _is_same(meant: ParsedAnswer, told: ParsedAnswer) -> bool:
    """Return whether both say the same, apart from white space between their parts and in arguments.

    A template may add ids that the model did not write.
    """
    return (
        (meant.content.strip(), meant.reasoning.strip(), meant.error, meant.unparsed)
        == (told.content.strip(), told.reasoning.strip(), told.error, told.unparsed)
        and len(meant.calls) == len(told.calls)
        and all(
            (mine.name, _value(mine.arguments), mine.id)
            == (its.name, _value(its.arguments), mine.id and its.id)
            for mine, its in zip(meant.calls, told.calls, strict=True)
        )
    )


def _value(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments))
    except (ValueError, RecursionError):
        return arguments


def _key(*parts: str) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little") + raw)
    return digest.digest()
