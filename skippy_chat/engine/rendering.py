"""From messages to a prompt: the template's text, its ids, and where a checkpoint may stand in them.

Invariants: special-token text in a content never becomes that token (``tokenising``, ``tracing``); each boundary is a
border between tokens, so that the tokens before it do not depend on what follows (``boundaries``); where the template
writes what a recorded answer says, if need be in other words (``retelling``), the answer's own ids stand, whatever
else the template has rewritten.
"""

from __future__ import annotations

import itertools
import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from skippy_chat.engine.boundaries import Boundaries, BoundaryFinder
from skippy_chat.engine.planning import Prompt, Stretch
from skippy_chat.engine.retelling import Retelling, Told
from skippy_chat.engine.tokenising import Tokeniser, Vocabulary
from skippy_chat.engine.tracing import Markup, Trace, trace
from skippy_chat.errors import NativeError
from skippy_chat.native.parsing import ParsedAnswer

_PROBE_ID = "qJx1xJq00"


class Template(Protocol):
    """A chat template."""

    @property
    def source(self) -> str:
        """The template's own text."""

    def render(self, request: dict[str, Any]) -> dict[str, Any]:
        """Render a request; the reply holds ``prompt``, and may hold ``message_delimiters``."""

    def read(self, rendered: Mapping[str, Any], text: str) -> ParsedAnswer:
        """Read a whole answer to what was rendered."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a template beside the messages: see ``native.chat``.

    ``now`` is the session's pinned time for templates that print a date, seconds since the epoch; ``thinking`` lets the
    template open a reasoning block.
    """

    now: int
    thinking: bool
    tools: Sequence[dict[str, Any]] = ()
    tool_choice: str = "auto"
    parallel_tool_calls: bool = False
    json_schema: dict[str, Any] | None = None

    @property
    def for_text(self) -> dict[str, Any]:
        """All that the text depends on."""
        base: dict[str, Any] = {"now": self.now, "enable_thinking": self.thinking}
        if self.tools:
            # Which calls are allowed changes only the grammar; without them there is none to be made.
            base |= {"tools": list(self.tools), "tool_choice": "none"}
        if self.json_schema is not None:
            base["json_schema"] = self.json_schema
        return base

    @property
    def reads_calls(self) -> bool:
        """Whether an answer may be anything: content, calls, or both."""
        return bool(self.tools) and self.tool_choice == "auto" and self.json_schema is None

    @property
    def for_answer(self) -> dict[str, Any]:
        """The same, and what the answer may be."""
        base = self.for_text
        if self.tools:
            choice = self.tool_choice if self.json_schema is None else "none"
            base |= {"tool_choice": choice, "parallel_tool_calls": self.parallel_tool_calls}
        return base


@dataclass(frozen=True, slots=True)
class Rendering:
    """A prompt, and what the template says about the answer to it (``native.chat``); empty where there is none."""

    prompt: Prompt
    reply: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """A recorded answer: its ids, and how many of them were fed one by one."""

    ids: array[int]
    fed: int


@dataclass(frozen=True, slots=True)
class _Splice:
    """An answer's ids instead of ``text[start:stop]``; ``in_place`` if its own generation prompt stands before it."""

    start: int
    stop: int
    answer: Answer
    in_place: bool


class Renderer:
    """Renders conversations for one model; keeps what it learnt of prefixes between turns."""

    def __init__(self, vocabulary: Vocabulary, template: Template) -> None:
        self._vocabulary = vocabulary
        self._template = template
        self._tokeniser = Tokeniser(vocabulary)
        self._finder = BoundaryFinder(self._tokeniser)
        self._told = Told()
        self._writes_ids: bool | None = None

    def render(
        self,
        messages: Sequence[dict[str, Any]],
        answers: Mapping[int, Answer],
        *,
        now: int,
        thinking: bool,
        tools: Sequence[dict[str, Any]] = (),
    ) -> Prompt:
        """Return the prompt alone: see ``ask``."""
        return self.ask(messages, answers, Asked(now, thinking, tools)).prompt

    def ask(
        self, messages: Sequence[dict[str, Any]], answers: Mapping[int, Answer], asked: Asked
    ) -> Rendering:
        """Return the prompt that asks for an answer to ``messages``.

        Args:
            messages: OpenAI-style messages.
            answers: recorded answers by message index, for this very model.
            asked: everything else.

        Raises:
            NativeError: the template refuses these messages.
        """
        answers = {index: answer for index, answer in answers.items() if index < len(messages)}
        base, thinking, tools = asked.for_text, asked.thinking, asked.tools
        reply = self._reply(messages, asked.for_answer, generate=True)
        text: str = reply["prompt"]
        delimiters = [each["delimiter"] for each in reply.get("message_delimiters", ())]
        traced = trace(
            self._tokeniser,
            Markup(self._template.source, "".join(delimiters)),
            lambda marked, marked_tools: self._marked(marked, marked_tools, base),
            messages,
            tools,
            text,
        )
        said = {index: self._said(answer, messages[index]) for index, answer in answers.items()}
        boundaries = self._finder.find(
            messages,
            text,
            traced,
            said,
            lambda part, generate, as_asked: self._reply(
                part, base if as_asked else {**base, "enable_thinking": not thinking}, generate=generate
            )["prompt"],
            delimiters,
            json.dumps(base, sort_keys=True, ensure_ascii=True).encode(),
        )
        retelling = Retelling(
            self._vocabulary,
            self._template,
            self._told,
            messages,
            base,
            reply if asked.reads_calls else None,
        )
        splices = self._splices(text, traced, boundaries, answers, said, retelling)
        rewritten = {index for index in answers if index not in splices or not splices[index].in_place}
        if boundaries.departed is not None:
            rewritten.add(boundaries.departed)
        prompt = _Assembly(self._tokeniser, text, traced, boundaries, splices).prompt(
            tuple(sorted(rewritten))
        )
        return Rendering(prompt, reply)

    def writes_ids(self) -> bool:
        """Return whether the model writes ids into its calls: the template shows them there."""
        if self._writes_ids is None:
            function = {"name": "f", "arguments": "{}"}
            call = {"id": _PROBE_ID, "type": "function", "function": function}
            messages: list[dict[str, Any]] = [
                {"role": "user", "content": "u"},
                {"role": "assistant", "content": "", "tool_calls": [call]},
            ]
            try:
                shown = self._reply(messages, {"now": 0}, generate=False)["prompt"]
            except NativeError:
                shown = ""
            self._writes_ids = _PROBE_ID in shown
        return self._writes_ids

    def _reply(
        self, messages: Sequence[dict[str, Any]], base: dict[str, Any], *, generate: bool
    ) -> dict[str, Any]:
        return self._template.render({**base, "messages": list(messages), "add_generation_prompt": generate})

    def _marked(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], base: dict[str, Any]
    ) -> str:
        marked = {**base, "tools": list(tools)} if tools else base
        text: str = self._reply(messages, marked, generate=True)["prompt"]
        return text

    def _said(self, answer: Answer, message: Mapping[str, Any]) -> list[str]:
        """Return what a recorded answer may look like in a text.

        A control token in it shows only where the template writes it again. What was stored may end before the ids do,
        at a stop, and begins behind their white space, which llama.cpp's parsers leave out.
        """
        forms = [self._vocabulary.spell(answer.ids), self._vocabulary.detokenize(answer.ids)]
        content = message.get("content") or ""
        return [*forms, content] if forms[1].lstrip().startswith(content) else forms

    @staticmethod
    def _splices(
        text: str,
        traced: Trace,
        boundaries: Boundaries,
        answers: Mapping[int, Answer],
        said: Mapping[int, Sequence[str]],
        retelling: Retelling,
    ) -> dict[int, _Splice]:
        """Find where recorded ids stand for what the text says, behind their generation prompt or elsewhere."""
        splices: dict[int, _Splice] = {}
        free_from = 0
        for index in sorted(answers):
            for form in said[index]:
                splice = _splice(index, form, answers[index], text, traced, boundaries)
                if splice is not None and splice.start >= free_from:
                    splices[index] = splice
                    free_from = splice.stop
                    break
            else:
                span = retelling.find(index, answers[index].ids, text, boundaries)
                if span is not None and span[0] >= free_from:
                    splices[index] = _Splice(*span, answers[index], in_place=True)
                    free_from = span[1]
        return splices


def _splice(
    index: int, said: str, answer: Answer, text: str, traced: Trace, boundaries: Boundaries
) -> _Splice | None:
    start, end = boundaries.answers.get(index), traced.ends.get(index)
    if start is not None and text.startswith(said, start) and bool(said) == bool(answer.ids):
        return _Splice(start, start + len(said), answer, in_place=True)
    if end is None or not said.strip():
        return None
    start = end - len(said.rstrip())
    if start >= 0 and text.startswith(said, start):
        return _Splice(start, start + len(said), answer, in_place=False)
    return None


class _Assembly:
    """Tokenises a text piece by piece and turns its boundaries into stretches."""

    def __init__(
        self,
        tokeniser: Tokeniser,
        text: str,
        traced: Trace,
        boundaries: Boundaries,
        splices: Mapping[int, _Splice],
    ) -> None:
        self._tokeniser = tokeniser
        self._text = text
        self._traced = traced
        self._boundaries = boundaries.found
        self._splices = {splice.start: splice for splice in splices.values() if splice.stop > splice.start}

    def prompt(self, rewritten: tuple[int, ...]) -> Prompt:
        ids = self._tokeniser.opening(self._text)
        positions: dict[int, int] = {}
        sampled: dict[int, int] = {}
        for start, stop in self._pieces():
            splice = self._splices.get(start)
            if splice is None:
                ids.extend(self._piece(start, stop, ids[-1] if ids else None))
            else:
                if splice.in_place:
                    sampled[len(ids)] = len(ids) + splice.answer.fed
                ids.extend(splice.answer.ids)
            positions[stop] = len(ids)
        return Prompt(ids, self._stretches(positions, sampled), rewritten)

    def _piece(self, start: int, stop: int, after: int | None) -> array[int]:
        quoted = [(a - start, b - start) for a, b in self._traced.quoted if a < stop and b > start]
        seams = [end - start for end in self._traced.ends.values() if start < end < stop]
        return self._tokeniser.ids(self._text[start:stop], after=after, quoted=quoted, seams=seams)

    def _pieces(self) -> list[tuple[int, int]]:
        borders = {0, len(self._text)}
        borders.update(boundary.offset for boundary in self._boundaries)
        for splice in self._splices.values():
            # No border may fall into an answer: its ids are spliced in whole.
            borders = {b for b in borders if not splice.start < b < splice.stop}
            borders |= {splice.start, splice.stop}
        return list(itertools.pairwise(sorted(borders)))

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
