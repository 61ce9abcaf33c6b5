"""Where in a rendered text the contents end, and which special-token text in it came from contents.

Templates trim, inspect, quote and drop what they are given, so nothing is searched for: the conversation is rendered
once more with marks in it, and a trace counts only when the marked text without its marks is the very text.
Invariant: special-token text of a content is never taken for the template's own; when no trace can be had, none that
a content spells is the template's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from skippy_chat.engine.tokenising import Span, Tokeniser
from skippy_chat.errors import NativeError

Messages = Sequence[dict[str, Any]]
Render = Callable[[Messages, Sequence[dict[str, Any]]], str]
"""Messages and tools to text."""

_ENDS = "ec"  # kinds of mark: behind a content, behind a call's name
_Way = Literal["replaced", "wrapped", "followed"]


@dataclass(frozen=True, slots=True)
class Trace:
    """``ends``: by message, the offset behind the last character of what it says; ``quoted``: see ``Tokeniser``."""

    ends: dict[int, int]
    quoted: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Markup:
    """Texts whose user-defined tokens are special: all that the ``template`` writes, and how its ``turns`` begin.

    A past answer may hold the model's own markup, for example its reasoning tags, but nothing that begins a turn.
    """

    template: str
    turns: str

    def quoted_in(self, role: Any) -> str:
        """Return where to look for the special tokens of a message by this role."""
        return self.turns if role == "assistant" else self.template + self.turns


def trace(
    tokeniser: Tokeniser,
    markup: Markup,
    render: Render,
    messages: Messages,
    tools: Sequence[dict[str, Any]],
    text: str,
) -> Trace:
    """Return what is known of ``text``, which ``render`` made of these messages and tools."""
    marker = Marker.for_text(text + json.dumps([messages, tools], ensure_ascii=False))
    ways: list[tuple[_Way, bool]] = [("replaced", True)]
    said = _leaves(messages, tools, markup)
    words = {word for leaf, where in said for word in _specials(tokeniser, leaf, where)}
    if words:
        ways += [("wrapped", True), ("replaced", False), ("wrapped", False), ("followed", False)]
    for way, with_ends in ways:
        rewriting = _Rewriting(tokeniser, markup, marker, way)
        marked = rewriting.messages(messages)
        if with_ends:
            marked = [marker.end(message, index) for index, message in enumerate(marked)]
        try:
            rendered = render(marked, rewriting.tools(tools))
        except NativeError:
            continue
        found = _align(marker, rendered, text, rewriting.words)
        if found is not None:
            return found
    spans = [match.span() for word in words for match in re.finditer(re.escape(word), text)]
    return Trace({}, tuple(sorted(spans)))


@dataclass(frozen=True, slots=True)
class Marker:
    """Marks of letters and digits only, which no template trims, escapes or looks for."""

    name: str

    @classmethod
    def for_text(cls, text: str) -> Marker:
        """Return marks that do not stand in ``text``; the same text gives the same ones."""
        number = 0
        while f"qJx{number}x" in text:
            number += 1
        return cls(f"qJx{number}x")

    def mark(self, kind: str, number: int) -> str:
        """Return a mark."""
        return f"{self.name}{kind}{number}xJq"

    def end(self, message: dict[str, Any], index: int) -> dict[str, Any]:
        """Return a message with a mark behind what it says, before trailing white space, and its last call's name."""
        content, calls = message.get("content"), message.get("tool_calls")
        if isinstance(content, str) and (said := content.rstrip()):
            message = {**message, "content": said + self.mark(_ENDS[0], index) + content[len(said) :]}
        if calls:
            function = calls[-1]["function"]
            name = function["name"] + self.mark(_ENDS[1], index)
            named = {**calls[-1], "function": {**function, "name": name}}
            message = {**message, "tool_calls": [*calls[:-1], named]}
        return message

    def parts(self, text: str) -> list[str]:
        """Split a text at its marks; every odd part is a mark's kind and number."""
        return re.split(f"{self.name}([a-z]\\d+)xJq", text)

    def unmark(self, text: str) -> tuple[str, int | None]:
        """Return a text without its marks, and the offset of the last end."""
        end, plain = None, ""
        for index, part in enumerate(self.parts(text)):
            if index % 2 == 0:
                plain += part
            elif part[0] in _ENDS:
                end = len(plain)
        return plain, end


def _leaves(messages: Messages, tools: Sequence[dict[str, Any]], markup: Markup) -> Iterator[tuple[str, str]]:
    """Yield every text that may come from outside, and the markup that is special in it."""
    for message in messages:
        where = markup.quoted_in(message.get("role"))
        for key, value in message.items():
            if key == "tool_calls":
                for call in value or ():
                    yield from ((leaf, where) for leaf in _strings(_call_leaves(call)))
            elif key != "role":
                yield from ((leaf, where) for leaf in _strings(value))
    for tool in tools:
        yield from ((leaf, markup.quoted_in("tool")) for leaf in _strings(tool))


def _call_leaves(call: dict[str, Any]) -> list[Any]:
    function = call["function"]
    return [call.get("id"), function["name"], _parsed(function["arguments"])]


def _parsed(arguments: Any) -> Any:
    if isinstance(arguments, str):
        try:
            return json.loads(arguments)
        except ValueError:
            pass
    return arguments


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _strings(key)
            yield from _strings(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _strings(inner)


def _specials(tokeniser: Tokeniser, leaf: str, where: str) -> list[str]:
    return [leaf[start:stop] for start, stop in tokeniser.specials(leaf, markup=where)]


class _Rewriting:
    """Puts marks in the place of special-token text, or around it, and remembers which."""

    def __init__(self, tokeniser: Tokeniser, markup: Markup, marker: Marker, way: _Way) -> None:
        self._tokeniser = tokeniser
        self._markup = markup
        self._marker = marker
        self._way = way
        self.words: list[str] = []

    def messages(self, messages: Messages) -> list[dict[str, Any]]:
        return [self._message(message) for message in messages]

    def tools(self, tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        return [self._value(tool, self._markup.quoted_in("tool")) for tool in tools]

    def _message(self, message: dict[str, Any]) -> dict[str, Any]:
        where = self._markup.quoted_in(message.get("role"))
        changed = {
            key: value if key in {"role", "tool_calls"} else self._value(value, where)
            for key, value in message.items()
        }
        if message.get("tool_calls"):
            changed["tool_calls"] = [self._call(call, where) for call in message["tool_calls"]]
        return changed

    def _call(self, call: dict[str, Any], where: str) -> dict[str, Any]:
        function = call["function"]
        arguments = function["arguments"]
        parsed = _parsed(arguments)
        rewritten = self._value(parsed, where)
        if rewritten != parsed:
            arguments = json.dumps(rewritten, ensure_ascii=False) if isinstance(arguments, str) else rewritten
        name = self._value(function["name"], where)
        return {**call, "function": {**function, "name": name, "arguments": arguments}}

    def _value(self, value: Any, where: str) -> Any:
        if isinstance(value, str):
            return self._text(value, where)
        if isinstance(value, dict):
            return {self._value(key, where): self._value(inner, where) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._value(inner, where) for inner in value]
        return value

    def _text(self, text: str, where: str) -> str:
        parts: list[str] = []
        position = 0
        for start, stop in self._tokeniser.specials(text, markup=where):
            parts += [text[position:start], self._marked(text[start:stop])]
            position = stop
        return "".join([*parts, text[position:]])

    def _marked(self, word: str) -> str:
        number = len(self.words)
        self.words.append(word)
        if self._way == "replaced":
            return self._marker.mark("s", number)
        before = self._marker.mark("b", number) if self._way == "wrapped" else ""
        return before + word + self._marker.mark("a", number)


def _align(marker: Marker, marked: str, text: str, words: Sequence[str]) -> Trace | None:
    """Walk both texts together; None where the marks changed what the template wrote."""
    ends: dict[int, int] = {}
    called: set[int] = set()
    quoted: list[Span] = []
    cursor = 0
    parts = marker.parts(marked)
    for index, part in enumerate(parts):
        if index % 2 == 0:
            if not text.startswith(part, cursor):
                return None
            cursor += len(part)
            continue
        kind, number = part[0], int(part[1:])
        if kind in _ENDS and number not in called:
            ends[number] = cursor
            if kind == _ENDS[1]:  # a result may name its call again
                called.add(number)
        elif kind == "s":
            form = next((form for form in _forms(words[number]) if text.startswith(form, cursor)), None)
            if form is None:
                return None
            quoted.append((cursor, cursor + len(form)))
            cursor += len(form)
        elif kind == "a" and parts[index - 1].endswith(words[number]):
            quoted.append((cursor - len(words[number]), cursor))
    return Trace(ends, tuple(quoted)) if cursor == len(text) else None


def _forms(word: str) -> tuple[str, ...]:
    """Return how a template may write a word: as it is, or as JSON."""
    return (word, json.dumps(word, ensure_ascii=False)[1:-1], json.dumps(word)[1:-1])
