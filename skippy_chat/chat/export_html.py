"""A session as one HTML page: no script, nothing fetched, light or dark as the reader's system is, fit for paper.

Invariant: every text of a conversation is escaped on its way in, answers by a Markdown renderer that knows no HTML and
draws no images; and the page's own policy forbids a browser to run or fetch anything, should that ever fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from skippy_chat.chat.export_style import STYLE
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
from skippy_chat.chat.trees import OnProgress, Section, SessionTree

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_LONGEST = 40_000  # characters of one answer that are drawn as Markdown; hostile text takes quadratic time
_TITLE_ROOM = 200


def html_export(tree: SessionTree, on_progress: OnProgress | None = None) -> str:
    """Return a session as the text of an HTML page; ``on_progress`` gets messages (done, total)."""
    title = escape(one_clean_line(tree.session.label, _TITLE_ROOM))
    head = (
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="referrer" content="no-referrer">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{title}</title>",
        f"<style>\n{STYLE}</style>",
        "</head>",
        "<body>",
        f"<header><h1>{title}</h1><p>{escape(' · '.join(about_session(tree)))}</p></header>",
    )
    return "\n".join([*head, *_body(tree, on_progress), "</body>", "</html>"]) + "\n"


def _body(tree: SessionTree, on_progress: OnProgress | None) -> Iterator[str]:
    names = names_of_calls(tree)
    renderer = _renderer()
    sections = list(tree.sections())
    if len(sections) > 1:
        yield "<nav>" + "".join(map(_link, range(1, len(sections) + 1), sections)) + "</nav>"
    yield "<main>"
    for place, section in enumerate(sections, 1):
        if len(sections) > 1:
            yield f'<h2 id="branch{place}">{_heading(place, section)}</h2>'
        for number, message in section.messages:
            yield from _message(number, message, names, renderer)
            if on_progress is not None:
                on_progress(number, len(tree.messages))
    yield "</main>"


def _link(place: int, section: Section) -> str:
    return f'<a href="#branch{place}">{escape(about_section(place, section))}</a>'


def _heading(place: int, section: Section) -> str:
    words = escape(about_section(place, section))
    if section.after is None:
        return words
    return words.replace(
        f"message {section.after}", f'<a href="#m{section.after}">message {section.after}</a>'
    )


def _message(number: int, message: Message, names: Mapping[str, str], renderer: MarkdownIt) -> Iterator[str]:
    at = moment(message.created)
    time = f"<time>{at}</time>" if at else ""
    yield f'<article id="m{number}" class="{message.role}">'
    yield f"<h3>{escape(role_of(message))} <small>{number} {time}</small></h3>"
    if message.reasoning and message.reasoning.strip():
        yield _card("reasoning", "Reasoning", _plain(message.reasoning))
    if message.role == "tool":
        body = _plain(message.content) + (_diff(message.detail) if message.detail else "")
        summary = result_of(message, names.get(message.id, ""))
        yield _card(f"result {message.status or 'none'}", summary, body)
    elif message.content.strip():
        yield _text(message, renderer)
    for call in message.tool_calls:
        yield _card("call", f"→ {one_clean_line(call.name)}", _plain(arguments_of(call.arguments)))
    yield "</article>"


def _text(message: Message, renderer: MarkdownIt) -> str:
    # What people type is no Markdown to them: its line breaks are meant.
    if message.role != "assistant" or len(message.content) > _LONGEST:
        return _plain(message.content)
    rendered: str = renderer.render(clean(message.content))
    return f'<div class="text" dir="auto">{rendered}</div>'


def _plain(text: str) -> str:
    # A line break right behind <pre> would be dropped.
    return f'<pre dir="auto">\n{escape(clean(text))}</pre>'


def _diff(detail: str) -> str:
    lines = []
    for line in clean(detail).split("\n"):
        kind = {"+": "ins", "-": "del"}.get(line[:1], "span")
        lines.append(f"<{kind}>{escape(line)}</{kind}>")
    return '<pre class="diff">\n' + "\n".join(lines) + "</pre>"


def _card(kind: str, summary: str, body: str) -> str:
    return f'<details class="{kind}"><summary>{escape(summary)}</summary>{body}</details>'


def _renderer() -> MarkdownIt:
    # The preset's own bound on nesting holds. HTML in an answer is text.
    renderer = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    renderer.add_render_rule("image", _image)
    renderer.add_render_rule("link_open", _link_open)
    return renderer


def _image(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    """Tell of an image in words: fetching it would tell somebody that this page is read."""
    token = tokens[index]
    source = one_clean_line(str(token.attrGet("src") or ""))
    return f"<em>[image: {escape(one_clean_line(token.content))} {escape(source)}]</em>"


def _link_open(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    return renderer.renderToken(tokens, index, options, env)
