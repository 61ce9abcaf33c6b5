"""Where the messages of a rendered conversation end, also in templates that rewrite what they have shown before.

A message ends behind what it says and what the template writes after such a message, whatever comes next. What that
is, is learnt from the first message of its role: as the last of a conversation, and with others behind it. So where a
message ends does not change when the conversation goes on. Where that cannot be had: the end of the messages so far,
if they are a true prefix; then what they share with the text; then the template's delimiters.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skippy_chat.chat.ledger import shared_prefix
from skippy_chat.checkpoints.placement import Cut
from skippy_chat.engine.tokenising import Tokeniser
from skippy_chat.engine.tracing import Marker, Trace
from skippy_chat.errors import NativeError

_KEPT = 4096
_FOLLOWERS = {
    "system": ("user",),
    "user": ("assistant",),
    "assistant": ("user",),
    "tool": ("assistant", "tool"),
}

Messages = Sequence[dict[str, Any]]
Rendered = Callable[[Messages, bool, bool], str]
"""Messages, whether with a generation prompt, and whether with thinking as asked or the other way, to text."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """A text offset where a message, or a generation prompt, ends."""

    offset: int
    cut: Cut
    message: int


@dataclass(frozen=True, slots=True)
class Boundaries:
    """All boundaries in order, and where each answer begins."""

    found: tuple[Boundary, ...]
    answers: dict[int, int]
    """By message, the offset behind its generation prompt, if that is shown as it was."""

    departed: int | None
    """The message in which the text leaves the prompt that asked for the last recorded answer, or None."""


@dataclass(frozen=True, slots=True)
class _Ending:
    """How a conversation ends: its text's length and digest, and what stands behind its last mark."""

    length: int
    digest: bytes
    footer: str | None


class BoundaryFinder:
    """Finds boundaries for one template; keeps what it learnt between turns."""

    def __init__(self, tokeniser: Tokeniser) -> None:
        self._tokeniser = tokeniser
        self._endings: OrderedDict[bytes, _Ending] = OrderedDict()
        self.headers: dict[tuple[str, str], bool] = {}
        """Whether a text between a message of that role and an answer is a generation prompt."""

    def find(
        self,
        messages: Messages,
        text: str,
        traced: Trace,
        said: Mapping[int, Sequence[str]],
        render: Rendered,
        delimiters: Sequence[str],
        salt: bytes,
    ) -> Boundaries:
        """Return the boundaries of ``text``.

        Args:
            messages: what it was rendered from.
            text: with its generation prompt.
            traced: where contents end in it.
            said: by message, what a recorded answer's ids spell; the first that stands in the text counts.
            render: the template.
            delimiters: how messages begin, as llama.cpp knows it; may be empty.
            salt: stands for everything else that the template was given.
        """
        return _Search(self, messages, text, traced, said, render, delimiters, salt).run()

    def ending(self, key: bytes, render: Callable[[], str], marker: Marker) -> _Ending:
        """Return how the conversation named by ``key`` ends, rendered once with a mark in its last message."""
        known = self._endings.get(key)
        if known is None:
            try:
                plain, mark = marker.unmark(render())
            except NativeError:  # many templates refuse, say, a system message alone
                plain, mark = "", None
            footer = None if mark is None else plain[mark:]
            known = self._endings[key] = _Ending(len(plain), _digest(plain), footer)
            if len(self._endings) > _KEPT:
                self._endings.popitem(last=False)
        else:
            self._endings.move_to_end(key)
        return known

    def shared(self, footer: str, text: str) -> str:
        """Return the whole tokens that both start with, as text."""
        return self._tokeniser.common_text(footer, text[: len(footer) + 64])


class _Search:
    """One search: the state that its steps share."""

    def __init__(
        self,
        finder: BoundaryFinder,
        messages: Messages,
        text: str,
        traced: Trace,
        said: Mapping[int, Sequence[str]],
        render: Rendered,
        delimiters: Sequence[str],
        salt: bytes,
    ) -> None:
        self._finder = finder
        self._messages = messages
        self._text = text
        self._ends = traced.ends
        self._said = said
        self._render = render
        self._delimiters = [delimiter for delimiter in delimiters if delimiter.strip()]
        self._keys = _keys(messages, salt)
        self._marker = Marker.for_text(text + json.dumps(list(messages), ensure_ascii=False))
        self._firsts: dict[str, int] = {}
        for index, message in enumerate(messages):
            if index in traced.ends and not message.get("tool_calls"):
                self._firsts.setdefault(message["role"], index)

    def run(self) -> Boundaries:
        last = len(self._messages) - 1
        ends = {index: end for index in range(last + 1) if (end := self._end_of(index)) is not None}
        found = [Boundary(end, self._kind(index), index) for index, end in ends.items()]
        answers: dict[int, int] = {}
        for index in range(1, last + 1):
            if self._messages[index]["role"] == "assistant":
                at = self._answer_at(index, ends.get(index - 1))
                if at is not None:
                    answers[index] = at
                    found.append(Boundary(at, Cut.GENERATION_PROMPT, index))
        found.append(Boundary(len(self._text), Cut.GENERATION_PROMPT, last + 1))
        found.sort(key=lambda boundary: boundary.offset)
        return Boundaries(tuple(found), answers, self._departed(found, max(self._said, default=0)))

    def _departed(self, found: Sequence[Boundary], answer: int) -> int | None:
        if answer == 0 or self._asked(answer, as_asked=True) is not None:
            return None
        try:
            asked = self._render(self._messages[:answer], True, True)
        except NativeError:
            return None
        shared = shared_prefix(_wide(asked), _wide(self._text))
        return next((b.message for b in found if shared < b.offset and b.message < answer), answer)

    def _kind(self, index: int) -> Cut:
        if index == len(self._messages) - 1:
            return Cut.END_OF_PROMPT
        return Cut.END_OF_SYSTEM if self._messages[index]["role"] == "system" else Cut.END_OF_MESSAGE

    def _end_of(self, index: int) -> int | None:
        if self._is_left_out(index):
            return None
        ways = (self._after_footer, self._true_prefix, self._shared, self._at_delimiter)
        end = next((end for way in ways if (end := way(index)) is not None), None)
        if end is None or end < self._ends.get(index, 0):
            return None
        # Templates move a system prompt behind what was said later: no border between messages is there.
        later = [self._ends[other] for other in self._ends if other > index]
        return end if all(end < other for other in later) else None

    def _is_left_out(self, index: int) -> bool:
        """Return whether this is a system prompt that the text does not show now, as it may under another message."""
        message = self._messages[index]
        says = message["role"] == "system" and (message.get("content") or "").strip()
        return bool(says) and bool(self._ends) and index not in self._ends

    def _after_footer(self, index: int) -> int | None:
        if index not in self._ends:
            return None
        message, end = self._messages[index], self._ends[index]
        if message.get("tool_calls"):  # their mark is within the call, so what follows it is their own
            tail, footer = "", self._ending(index).footer
        else:
            tail, footer = _tail(message), self._footer(self._firsts[message["role"]])
        if footer is None:
            return None
        shown = end + len(tail) if self._text.startswith(tail, end) else end
        return next((at + len(footer) for at in (shown, end) if self._text.startswith(footer, at)), None)

    def _footer(self, index: int) -> str | None:
        """Return what stands behind a message whatever follows it."""
        footer = self._ending(index, bare=True).footer
        for role in _FOLLOWERS.get(self._messages[index]["role"], ()) if footer else ():
            follower = {"role": role, "content": self._marker.mark("f", 0)}
            if role == "tool":
                follower = {**self._messages[index], **follower}
            followed = self._ending(index, follower, bare=True).footer
            if followed is not None and footer and not followed.startswith(footer):
                footer = self._finder.shared(footer, followed)
        return footer

    def _true_prefix(self, index: int) -> int | None:
        return self._if_prefix(self._ending(index))

    def _shared(self, index: int) -> int | None:
        if index not in self._ends or not (footer := self._ending(index).footer):
            return None
        shared = self._finder.shared(footer, self._text[self._ends[index] :])
        return self._ends[index] + len(shared) if shared else None

    def _at_delimiter(self, index: int) -> int | None:
        """Return where the next message's delimiter stands, between what this one says and what that one does."""
        if index not in self._ends or index + 1 >= len(self._messages):
            return None
        start, stop = self._ends[index], self._ends.get(index + 1, 0)
        found = [at for word in self._delimiters if (at := self._text.find(word, start, stop)) >= 0]
        return min(found, default=None)

    def _ending(
        self,
        index: int,
        follower: dict[str, Any] | None = None,
        *,
        generate: bool = False,
        as_asked: bool = True,
        bare: bool = False,
    ) -> _Ending:
        """Return how the messages up to this one end, and if there is a ``follower``, what stands behind this one.

        ``bare``: as if this message did not end with white space.
        """
        message = self._messages[index]
        if bare and (tail := _tail(message)):
            message = {**message, "content": message["content"][: -len(tail)]}
        upto = [*self._messages[:index], self._marker.end(message, index)]
        if follower:
            upto.append(follower)
        name = f"{generate}{as_asked}{bare}{follower['role'] if follower else ''}".encode()
        return self._finder.ending(
            self._keys[index] + name, lambda: self._render(upto, generate, as_asked), self._marker
        )

    def _answer_at(self, index: int, before: int | None) -> int | None:
        """Return where the answer begins if the text before it is the prompt that once asked for it."""
        if before is None:
            ends = (self._asked(index, as_asked=way) for way in (True, False) if index in self._said)
            return self._checked(next((at for at in ends if at is not None), None), index)
        role = self._messages[index - 1]["role"]
        openers = (self._opener(role, as_asked=way) for way in (True, False))
        shown = [before + len(o) for o in openers if o is not None and self._text.startswith(o, before)]
        if index not in self._said:
            return self._checked(shown[0] if shown else None, index)
        at = self._stands_at(index, before)
        if at is None or at in shown or not self._was_asked(index, role, self._text[before:at], at):
            at = at if at in shown else next(iter(shown), None)
        return self._checked(at, index)

    def _stands_at(self, index: int, start: int) -> int | None:
        """Return where the text says first what the recorded answer spells."""
        stop = self._ends.get(index, len(self._text) - 1) + 1
        found = (self._text.find(said, start) for said in self._said[index] if said)
        return next((at for at in found if start <= at < stop), None)

    def _was_asked(self, index: int, role: str, header: str, at: int) -> bool:
        """Say whether this text before an answer is a generation prompt; found out once for each such text."""
        known = self._finder.headers.get((role, header))
        if known is None:
            known = any(self._asked(index, as_asked=way) == at for way in (True, False))
            self._finder.headers[role, header] = known
        return known

    def _opener(self, role: str, *, as_asked: bool) -> str | None:
        """Return the generation prompt that follows a message of this role, learnt from the first one."""
        first = self._firsts.get(role)
        footer = None if first is None else self._footer(first)
        if first is None or footer is None:
            return None
        asking = self._ending(first, generate=True, as_asked=as_asked, bare=True).footer
        return asking[len(footer) :] if asking is not None and asking.startswith(footer) else None

    def _asked(self, answer: int, *, as_asked: bool) -> int | None:
        """Return where the prompt that asked for this answer ends, if the text starts with it."""
        key = self._keys[answer - 1] + (b"g" if as_asked else b"G")
        ending = self._finder.ending(
            key, lambda: self._render(self._messages[:answer], True, as_asked), self._marker
        )
        return self._if_prefix(ending)

    def _if_prefix(self, ending: _Ending) -> int | None:
        if not 0 < ending.length <= len(self._text):
            return None
        return ending.length if _digest(self._text[: ending.length]) == ending.digest else None

    def _checked(self, at: int | None, index: int) -> int | None:
        return at if at is not None and at <= self._ends.get(index, at) else None


def _tail(message: dict[str, Any]) -> str:
    """Return the white space that a content ends with."""
    content = message.get("content") or ""
    return content[len(content.rstrip()) :]


def _keys(messages: Messages, salt: bytes) -> list[bytes]:
    running = hashlib.blake2b(salt, digest_size=16)
    keys: list[bytes] = []
    for message in messages:
        running.update(
            json.dumps(message, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")
        )
        keys.append(running.digest())
    return keys


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _wide(text: str) -> bytes:
    """Return a text as four bytes a character, which ``shared_prefix`` compares by blocks."""
    return text.encode("utf-32-le", "surrogatepass")
