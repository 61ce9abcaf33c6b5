"""A session as Markdown for people: answers as they were written, thoughts, calls and results folded.

Invariant: only this module writes headings of level 1 and 2, and no text of a conversation opens or closes anything
around it: a fence is longer than any in it, and what would reach beyond itself is shown as its source, in a fence.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping

from markdown_it import MarkdownIt

from skippy_chat.chat.export_words import (
    about_section,
    about_session,
    arguments_of,
    clean,
    moment,
    names_of_calls,
    one_clean_line,
    result_of,
    role_of,
)
from skippy_chat.chat.messages import Message
from skippy_chat.chat.trees import OnProgress, SessionTree

_INLINE = re.compile(r"([\\`*_{}\[\]<>()#&~|$!^=])")
_RUNS = re.compile(r"`+|~+")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_DEEPEST = 6
_ENDED = frozenset({"paragraph_close", "heading_close", "table_close", "hr"})  # by the blank line behind them
_LONGEST = (
    40_000  # characters of one message that are looked at as Markdown; hostile text takes quadratic time
)
_TITLE_ROOM = 200


def markdown_export(tree: SessionTree, on_progress: OnProgress | None = None) -> str:
    """Return a session as Markdown text; ``on_progress`` gets messages (done, total)."""
    names = names_of_calls(tree)
    sections = list(tree.sections())
    blocks = [f"# {_inline(one_clean_line(tree.session.label, _TITLE_ROOM))}"]
    blocks.append(" · ".join(map(_inline, about_session(tree))))
    for place, section in enumerate(sections, 1):
        if len(sections) > 1:
            blocks.append("---")
            blocks.append(f"**{about_section(place, section)}**")
        for number, message in section.messages:
            blocks += _message(number, message, names)
            if on_progress is not None:
                on_progress(number, len(tree.messages))
    return "\n\n".join(blocks) + "\n"


def _message(number: int, message: Message, names: Mapping[str, str]) -> Iterator[str]:
    at = moment(message.created)
    yield f"## {number} · {role_of(message)}" + (f" · {at}" if at else "")
    if message.reasoning and message.reasoning.strip():
        yield from _folded("Reasoning", fenced(clean(message.reasoning)))
    if message.role == "tool":
        body = [fenced(clean(message.content))]
        if message.detail:
            body.append(fenced(clean(message.detail), "diff"))
        yield from _folded(result_of(message, names.get(message.id, "")), *body)
    elif message.content.strip():
        yield contained(clean(message.content))
    for call in message.tool_calls:
        yield from _folded(f"→ {one_clean_line(call.name)}", fenced(arguments_of(call.arguments)))


def fenced(text: str, language: str = "") -> str:
    """Return a text as a code block that nothing in it can close."""
    longest = max((len(run) for run in _RUNS.findall(text) if run[0] == "`"), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.removesuffix(chr(10))}\n{fence}"


def contained(text: str) -> str:
    """Return a message's own Markdown if it ends where it ends, its headings two levels down; else its source."""
    if len(text) > _LONGEST:
        return fenced(text)
    env: dict[str, object] = {}
    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(text, env)
    inline = [child for token in tokens for child in token.children or ()]
    if env.get("references") or any(
        each.type in ("html_block", "html_inline") for each in (*tokens, *inline)
    ):
        return fenced(text)
    lines = text.split("\n")
    for token in tokens:
        if token.type == "heading_open" and token.map is not None:
            if token.level or not token.markup.startswith("#"):
                return fenced(text)  # in a list or a quote, or underlined: seldom, and not worth rewriting
            line = token.map[0]
            lines[line] = _HEADING.sub(lambda found: "#" * min(_DEEPEST, len(found[1]) + 2), lines[line])
    lowered = "\n".join(lines).strip("\n")
    if tokens and tokens[-1].type in _ENDED:
        return lowered
    # Whatever else is at the end might take in what follows: a heading behind it tells.
    probe = parser.parse(f"{lowered}\n\n## probe\n", {})
    ends = [token for token in probe if token.type == "heading_open" and token.markup == "##"]
    if len(ends) != 1 or ends[0].level or ends[0].map is None:
        return fenced(text)
    return lowered


def _folded(summary: str, *body: str) -> Iterator[str]:
    # Between blank lines Markdown is read inside; the summary is HTML, where only entities have a meaning.
    yield f"<details>\n<summary>{html.escape(summary)}</summary>"
    yield from body
    yield "</details>"


def _inline(text: str) -> str:
    return _INLINE.sub(r"\\\1", text)
