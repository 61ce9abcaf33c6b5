"""Titles: a session is named after its first exchange, by the model where it can and by its first words where not.

The question stands behind the very prompt that was answered, so what it costs to read is the question. It is asked
aside: the conversation never waits for a title, and nothing of it is kept.

Invariant: a title is one line without control or invisible characters, at most ``MOST_COLUMNS`` wide.
"""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Generator
from dataclasses import replace
from typing import Protocol

from skippy_chat.engine.protocol import StepReply, StepRequest
from skippy_chat.errors import SkippyError
from skippy_chat.events import Event
from skippy_chat.sampling import Sampling
from skippy_chat.text.sanitise import sanitise
from skippy_chat.text.wrap import cells

MOST_COLUMNS = 60
MOST_TOKENS = 16
QUESTION = (
    "Give this conversation a title of at most six words, in its own language. Answer with the title alone."
)

_MARKS = "*_`#\"'“”„«»‘’「」『』 "  # noqa: RUF001 - quotation marks of several languages
_ENDS = ".,;:!… "
_LABEL = re.compile(r"title\s*[:：]\s*", re.IGNORECASE)  # noqa: RUF001 - as above
_MORE_THAN_ONE_SENTENCE = re.compile(r"[.!?]\s+\S|[。！？].", re.DOTALL)  # noqa: RUF001 - as above


class SideEngine(Protocol):
    """What a title is asked of: ``engine.supervisor.Supervisor``, or what behaves like it."""

    def aside(self, request: StepRequest) -> Generator[Event | StepReply, None, None]:
        """Run a side request; the reply comes last."""


def make_title(engine: SideEngine, answered: StepRequest, *, turn: str) -> str:
    """Return a title for a conversation; it may take as long as the conversation keeps the model busy.

    Args:
        engine: is asked aside; whatever goes wrong there leads to the first words.
        answered: a request for the conversation, with the answer it got behind its messages and in its answers.
        turn: a name for the side request's own turn.

    Returns:
        A title; empty only where the user said nothing that can be shown.
    """
    with (
        contextlib.suppress(SkippyError),
        contextlib.closing(engine.aside(title_request(answered, turn))) as items,
    ):
        for item in items:
            if isinstance(item, StepReply) and (title := title_of(item)):
                return title
    said = next((each["content"] for each in answered.messages if each.get("role") == "user"), "")
    return first_words(said if isinstance(said, str) else "")


def title_request(answered: StepRequest, turn: str) -> StepRequest:
    """Return the request for a title: greedy, short, on the same prefix, and leaving nothing behind."""
    return replace(
        answered,
        turn=turn,
        messages=[*answered.messages, {"role": "user", "content": QUESTION}],
        sampling=Sampling(temperature=0.0),
        max_tokens=MOST_TOKENS,
        thinking=False,
        replay=False,
        tool_choice="none",
        json_schema=None,
        record=False,
    )


def title_of(reply: StepReply) -> str:
    """Return the title that a reply gives; empty when it is none: unfinished, prose, or without a word."""
    if reply.malformed or reply.calls:
        return ""
    lines = [line for line in sanitise(reply.text).splitlines() if line.strip()]
    bare = [_bare(line) for line in lines]
    at = next((index for index, line in enumerate(bare) if line), None)
    if at is None or (at == len(lines) - 1 and reply.finish_reason != "stop"):
        return ""  # nothing, or still at it
    title = bare[at]
    if not any(each.isalnum() for each in title) or _MORE_THAN_ONE_SENTENCE.search(title):
        return ""
    return _cut(title)


def first_words(text: str) -> str:
    """Return the beginning of what was said, as much of its first line with a word as a title may have."""
    lines = (_clean(line) for line in sanitise(text).splitlines())
    return _cut(next((line for line in lines if any(each.isalnum() for each in line)), ""))


def _bare(line: str) -> str:
    """Return a line without quotation marks, markup, a label before it and a full stop behind it."""
    line = _clean(line).strip(_MARKS)
    if label := _LABEL.match(line):
        line = line[label.end() :].strip(_MARKS)
    return line.rstrip(_ENDS).rstrip(_MARKS)


def _clean(line: str) -> str:
    """Return a line without characters that do not show, its spaces single."""
    spaced = "".join(" " if each.isspace() else each for each in line)
    return " ".join(
        "".join(each for each in spaced if not unicodedata.category(each).startswith("C")).split()
    )


def _cut(line: str) -> str:
    """Return as much of a line as fits, at a word where one ends in its second half, with an ellipsis."""
    if cells(line) <= MOST_COLUMNS:
        return line
    kept = line
    while cells(kept) >= MOST_COLUMNS:
        kept = kept[:-1]
    if not line[len(kept)].isspace() and (space := kept.rfind(" ")) > len(kept) // 2:
        kept = kept[:space]
    return f"{kept.rstrip(_ENDS)}…"
