"""From messages to a prompt: the template's text, tokenised so that content never becomes a control token.

The scaffold is tokenised with special parsing, content without. A message boundary is where the rendering of the
messages so far ends, as long as that rendering is a true prefix of the whole; each boundary is a border between
tokens, so tokens before it do not depend on what follows.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from array import array
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from skippy_chat.checkpoints.placement import Cut
from skippy_chat.engine.planning import Prompt, Stretch
from skippy_chat.errors import NativeError

_PREFIX_CACHE = 4096


class Vocabulary(Protocol):
    """What rendering needs of a model."""

    @property
    def adds_bos(self) -> bool:
        """Whether a prompt starts with the beginning-of-sequence token."""

    @property
    def bos(self) -> int:
        """The beginning-of-sequence token, or -1."""

    def tokenize(self, text: str, *, special: bool) -> array[int]:
        """Return the ids of ``text``."""


class Template(Protocol):
    """A chat template."""

    def render(self, request: dict[str, Any]) -> dict[str, Any]:
        """Render a request; the reply holds ``prompt``."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A recorded answer: its ids, and how many of them were fed one by one."""

    ids: array[int]
    fed: int


@dataclass(frozen=True, slots=True)
class _Boundary:
    """A text offset where a message, or a generation prompt, ends."""

    offset: int
    cut: Cut
    message: int


@dataclass(frozen=True, slots=True)
class _Content:
    """Where a message's content stands verbatim in the text."""

    start: int
    stop: int
    message: int


class Renderer:
    """Renders conversations for one model; keeps what it learnt of prefixes between turns."""

    def __init__(self, vocabulary: Vocabulary, template: Template) -> None:
        self._vocabulary = vocabulary
        self._template = template
        self._prefixes: OrderedDict[bytes, tuple[int, bytes]] = OrderedDict()

    def render(
        self,
        messages: Sequence[dict[str, Any]],
        answers: Mapping[int, Answer],
        *,
        now: int,
        thinking: bool,
    ) -> Prompt:
        """Return the prompt that asks for an answer to ``messages``.

        Args:
            messages: OpenAI-style messages.
            answers: recorded answers by message index, for this very model.
            now: the session's pinned time for templates that print a date, seconds since the epoch.
            thinking: whether the template may open a reasoning block.

        Raises:
            NativeError: the template refuses these messages.
        """
        base = {"now": now, "enable_thinking": thinking}
        text = self._text(messages, base, generate=True)
        contents = self._contents(messages, base, text)
        boundaries = self._boundaries(messages, base, text, contents)
        return _Assembly(self._vocabulary, text, contents, boundaries, answers, messages).prompt()

    def _text(self, messages: Sequence[dict[str, Any]], base: dict[str, Any], *, generate: bool) -> str:
        request = {**base, "messages": list(messages), "add_generation_prompt": generate}
        text: str = self._template.render(request)["prompt"]
        return text

    def _contents(
        self, messages: Sequence[dict[str, Any]], base: dict[str, Any], text: str
    ) -> list[_Content]:
        """Find each content by rendering marks in its place, or else by searching the text."""
        nonce = _nonce(text)
        marks = [f"\ue000{nonce}:{index}\ue001" for index in range(len(messages))]
        marked = [
            {**message, "content": mark} if message.get("content") else message
            for message, mark in zip(messages, marks, strict=True)
        ]
        try:
            rendered = self._text(marked, base, generate=True)
        except NativeError:
            return _search(messages, text)
        found: list[_Content] = []
        built: list[str] = []
        length = 0
        for part in re.split(f"(\ue000{nonce}:\\d+\ue001)", rendered):
            piece = part
            if part.startswith(f"\ue000{nonce}:"):
                index = int(part[len(nonce) + 2 : -1])
                piece = _as_shown(messages[index]["content"], text, length)
                found.append(_Content(length, length + len(piece), index))
            built.append(piece)
            length += len(piece)
        return found if "".join(built) == text else _search(messages, text)

    def _boundaries(
        self,
        messages: Sequence[dict[str, Any]],
        base: dict[str, Any],
        text: str,
        contents: Sequence[_Content],
    ) -> list[_Boundary]:
        stops = {content.message: content.stop for content in contents}
        starts = {content.message: content.start for content in contents}
        running = hashlib.blake2b(json.dumps(base, sort_keys=True).encode(), digest_size=16)
        boundaries: list[_Boundary] = []
        last = len(messages) - 1
        for index, message in enumerate(messages):
            running.update(json.dumps(message, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace"))
            key = running.digest()
            upto = messages[: index + 1]
            offset = self._prefix(key + b"m", upto, base, text, generate=False)
            # The last message ends where the generation prompt begins, so it may be the whole text.
            if offset is not None and offset >= stops.get(index, 0):
                boundaries.append(_Boundary(offset, _kind(message, index, last), index))
            if index < last and messages[index + 1]["role"] == "assistant":
                offset = self._prefix(key + b"g", upto, base, text, generate=True)
                if offset is not None and offset <= starts.get(index + 1, len(text)):
                    boundaries.append(_Boundary(offset, Cut.GENERATION_PROMPT, index + 1))
        boundaries.append(_Boundary(len(text), Cut.GENERATION_PROMPT, len(messages)))
        return boundaries

    def _prefix(
        self,
        key: bytes,
        messages: Sequence[dict[str, Any]],
        base: dict[str, Any],
        text: str,
        *,
        generate: bool,
    ) -> int | None:
        """Return where these first messages end in ``text``, or None if their rendering is no prefix of it."""
        known = self._prefixes.get(key)
        if known is not None:
            self._prefixes.move_to_end(key)
            length, digest = known
            return length if length and _digest(text[:length]) == digest else None
        try:
            rendered = self._text(messages, base, generate=generate)
        except NativeError:  # many templates refuse, say, a system message alone
            rendered = ""
        self._prefixes[key] = (len(rendered), _digest(rendered))
        if len(self._prefixes) > _PREFIX_CACHE:
            self._prefixes.popitem(last=False)
        return len(rendered) if rendered and text.startswith(rendered) else None


class _Assembly:
    """Tokenises a text piece by piece and turns its boundaries into stretches."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        text: str,
        contents: Sequence[_Content],
        boundaries: Sequence[_Boundary],
        answers: Mapping[int, Answer],
        messages: Sequence[dict[str, Any]],
    ) -> None:
        self._vocabulary = vocabulary
        self._text = text
        self._contents = {content.start: content for content in contents}
        self._boundaries = sorted(boundaries, key=lambda boundary: boundary.offset)
        self._messages = messages
        generation_ends = {b.offset for b in boundaries if b.cut is Cut.GENERATION_PROMPT}
        # Recorded ids stand in only where the answer is shown as it was, right behind its generation prompt.
        self._spliced = {
            content.message: answers[content.message]
            for content in contents
            if content.message in answers
            and content.start in generation_ends
            and text[content.start : content.stop] == messages[content.message]["content"]
        }
        self._rewritten = tuple(sorted(set(answers) - set(self._spliced)))

    def prompt(self) -> Prompt:
        ids = array("i")
        if self._vocabulary.adds_bos and self._vocabulary.bos >= 0:
            first = self._vocabulary.tokenize(self._text[:64], special=True)
            if not first or first[0] != self._vocabulary.bos:
                ids.append(self._vocabulary.bos)
        positions: dict[int, int] = {}
        sampled: dict[int, int] = {}
        for start, stop in self._pieces():
            content = self._contents.get(start)
            if content is None:
                ids.extend(self._vocabulary.tokenize(self._text[start:stop], special=True))
            elif content.message in self._spliced:
                answer = self._spliced[content.message]
                sampled[len(ids)] = len(ids) + answer.fed
                ids.extend(answer.ids)
            else:
                ids.extend(self._vocabulary.tokenize(self._text[start:stop], special=False))
            positions[stop] = len(ids)
        return Prompt(ids, self._stretches(positions, sampled), self._rewritten)

    def _pieces(self) -> list[tuple[int, int]]:
        borders = {0, len(self._text)}
        borders.update(boundary.offset for boundary in self._boundaries)
        for content in self._contents.values():
            # No border may fall into a content: it is tokenised, or spliced, whole.
            borders = {b for b in borders if not content.start < b < content.stop}
            borders |= {content.start, content.stop}
        ordered = sorted(borders)
        return list(itertools.pairwise(ordered))

    def _stretches(self, positions: Mapping[int, int], sampled: Mapping[int, int]) -> tuple[Stretch, ...]:
        stretches: list[Stretch] = []
        start = 0
        for boundary in self._boundaries:
            stop = positions.get(boundary.offset)
            if stop is None or stop <= start:
                continue
            until = sampled.get(start)
            fed = until if until is not None and start < until <= stop else None
            stretches.append(Stretch(start, stop, boundary.cut, boundary.message, fed))
            start = stop
        return tuple(stretches)


def _kind(message: dict[str, Any], index: int, last: int) -> Cut:
    if index == last:
        return Cut.END_OF_PROMPT
    return Cut.END_OF_SYSTEM if message["role"] == "system" else Cut.END_OF_MESSAGE


def _as_shown(content: str, text: str, offset: int) -> str:
    """Return the form of ``content`` that stands at ``offset``: as it is, or trimmed as some templates do."""
    for form in (content, content.strip(), content.rstrip(), content.lstrip()):
        if text.startswith(form, offset):
            return form
    return content


def _search(messages: Sequence[dict[str, Any]], text: str) -> list[_Content]:
    """Find contents in order, longest form first: the fallback for templates that look into content."""
    found: list[_Content] = []
    cursor = 0
    for index, message in enumerate(messages):
        content = message.get("content") or ""
        for form in (content, content.strip()):
            start = text.find(form, cursor) if form else -1
            if start >= 0:
                found.append(_Content(start, start + len(form), index))
                cursor = start + len(form)
                break
    return found


def _nonce(text: str) -> str:
    """Return a short mark that ``text`` does not hold; the same text gives the same mark."""
    nonce = 0
    while f"\ue000{nonce}:" in text:
        nonce += 1
    return str(nonce)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
