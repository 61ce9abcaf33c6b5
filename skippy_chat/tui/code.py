"""Colours for finished code blocks, from the theme's own variables; what has no known language stays plain."""

from __future__ import annotations

from functools import lru_cache

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, String, _TokenType
from pygments.util import ClassNotFound
from textual.content import Content, Span

_STYLES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "dim italic"),
    (Keyword, "$text-accent"),
    (Name.Builtin, "$text-secondary"),
    (Name.Function, "$text-primary"),
    (Name.Class, "$text-primary"),
    (Name.Decorator, "$text-secondary"),
    (Name.Tag, "$text-primary"),
    (Number, "$text-warning"),
    (String, "$text-success"),
)
# Colouring is quadratic in some lexers; beyond this a block is data rather than something to read.
_LONGEST = 60_000


def coloured(code: str, language: str) -> Content:
    """Return code with styles for its language; the text is exactly ``code``."""
    lexer = _lexer(language.lower()) if language and len(code) <= _LONGEST else None
    if lexer is None:
        return Content(code)
    spans = []
    for at, kind, value in lexer.get_tokens_unprocessed(code):
        style = _style(kind)
        if style and value:
            spans.append(Span(at, at + len(value), style))
    return Content(code, spans)


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    try:
        found: Lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return None
    return found


@lru_cache(maxsize=512)
def _style(kind: _TokenType) -> str:
    return next((style for each, style in _STYLES if kind in each), "")
