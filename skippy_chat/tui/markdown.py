"""Markdown to lines: headings, lists, quotes, code, tables; HTML is text like any other.

The same lines serve while an answer streams and when it is frozen, so nothing jumps when it ends.
Invariant: every character of the source's text shows; a link shows where it leads, and is never an escape sequence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token
from textual.content import Content, Span

from skippy_chat.tui.code import coloured
from skippy_chat.tui.flow import Line, Row, Text

_MARK = "dim"
_INLINE = {
    "strong_open": "bold",
    "em_open": "italic",
    "s_open": "strike",
    "link_open": "underline",
}
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_BAR = Content.styled("▎ ", _MARK)
_EMPTY = Content("")


def split_lines(source: str) -> tuple[list[Line], int, list[Line]]:
    """Return the lines of all finished blocks, the source line where the last block begins, and that block's lines.

    The last block may still grow, so its code has no colours yet. What is finished begins no line of its own when the
    last block is the first.
    """
    tokens = _PARSER.parse(source)
    begins = [at for at, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0]
    if len(begins) < 2:
        return [], 0, _lines(tokens, colours=False)
    last = begins[-1]
    where = tokens[last].map
    assert where is not None
    return _lines(tokens[:last], colours=True), where[0], _lines(tokens[last:], colours=False)


def markdown_lines(source: str, *, colours: bool) -> list[Line]:
    """Return a text's lines; ``colours`` highlights code, which is not worth its cost while it still grows."""
    return _lines(_PARSER.parse(source), colours=colours)


def _lines(tokens: Sequence[Token], *, colours: bool) -> list[Line]:
    builder = _Builder(colours=colours)
    builder.blocks(tokens)
    return builder.lines


def plain_lines(source: str, mark: Content, style: str = "") -> list[Line]:
    """Return a text as it stands, the mark before its first line and as much room before the others."""
    indent = Content(" " * mark.cell_length)
    return [
        Text(Content.styled(line, style) if style else Content(line), indent if number else mark, indent)
        for number, line in enumerate(source.split("\n"))
    ]


class _Builder:
    """Walks block tokens; ``marks`` and ``indents`` are what open lists and quotes put before a line."""

    def __init__(self, *, colours: bool) -> None:
        self.lines: list[Line] = []
        self._colours = colours
        self._indents: list[Content] = []
        self._mark: Content | None = None
        self._numbers: list[int | None] = []
        self._tight = 0
        self._style = ""
        self._fresh = False

    def blocks(self, tokens: Sequence[Token]) -> None:
        """Add the lines of all tokens."""
        walk = iter(tokens)
        for token in walk:
            handler = getattr(self, f"_{token.type}", None)
            if handler is not None:
                handler(token)
            elif token.type == "table_open":
                self._gap()
                self._table(walk)
            elif token.type in {"fence", "code_block"}:
                self._code(token)

    def _gap(self) -> None:
        """Leave an empty line before a block, unless it is the first, or in a tight list."""
        if self.lines and self._mark is None and not self._tight and not self._fresh:
            self._put(_EMPTY)

    def _put(self, content: Content, *, folded: bool = False, extra: Content = _EMPTY) -> None:
        indent = _EMPTY.join([*self._indents, extra])
        mark = indent
        if self._mark is not None:
            mark = _EMPTY.join([*self._indents[:-1], self._mark, extra])
            self._mark = None
        self._fresh = False
        self.lines.append(Text(content, mark, indent, folded))

    def _inline(self, token: Token) -> None:
        for line in _inline_lines(token.children or [], self._style):
            self._put(line)

    def _paragraph_open(self, token: Token) -> None:
        if not token.hidden:
            self._gap()

    def _heading_open(self, token: Token) -> None:
        self._gap()
        self._style = "bold $text-primary" if token.tag in {"h1", "h2"} else "bold"

    def _heading_close(self, _token: Token) -> None:
        self._style = ""

    def _hr(self, _token: Token) -> None:
        self._gap()
        self._put(Content.styled("─" * 24, _MARK))

    def _blockquote_open(self, _token: Token) -> None:
        self._gap()
        self._pending()
        self._indents.append(_BAR)
        self._fresh = True

    def _blockquote_close(self, _token: Token) -> None:
        if self._fresh:
            self._put(_EMPTY)  # an empty one still is one
        self._indents.pop()

    def _bullet_list_open(self, token: Token) -> None:
        self._list(token, None)

    def _ordered_list_open(self, token: Token) -> None:
        self._list(token, int(token.attrGet("start") or 1))

    def _list(self, _token: Token, first: int | None) -> None:
        if not self._numbers:
            self._gap()
        self._pending()
        self._numbers.append(first)
        self._tight += 1

    def _bullet_list_close(self, _token: Token) -> None:
        self._numbers.pop()
        self._tight -= 1

    _ordered_list_close = _bullet_list_close

    def _list_item_open(self, _token: Token) -> None:
        number = self._numbers[-1]
        label = "• " if number is None else f"{number}. "
        if number is not None:
            self._numbers[-1] = number + 1
        self._pending()
        self._mark = Content.styled(label, _MARK)
        self._indents.append(Content(" " * len(label)))

    def _list_item_close(self, _token: Token) -> None:
        self._pending()
        self._indents.pop()

    def _pending(self) -> None:
        """Give a list item that begins with no text of its own a line for its mark."""
        if self._mark is not None:
            self._put(_EMPTY)

    def _code(self, token: Token) -> None:
        self._gap()
        self._pending()
        code = token.content.removesuffix("\n")
        language = token.info.split()[0] if token.info.split() else ""
        content = coloured(code, language) if self._colours else Content(code)
        for line in content.split("\n", allow_blank=True):
            self._put(line, folded=True, extra=_BAR)

    def _table(self, walk: Iterator[Token]) -> None:
        rows: list[list[Content]] = []
        heads = 0
        for token in walk:
            if token.type == "table_close":
                break
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                style = "" if heads else "bold"
                rows[-1].append(Content(" ").join(_inline_lines(token.children or [], style)))
            elif token.type == "thead_close":
                heads = len(rows)
        columns = max(len(row) for row in rows)
        widths = tuple(
            max(1, *(row[at].cell_length for row in rows if at < len(row))) for at in range(columns)
        )
        self._pending()
        self._fresh = False
        indent = _EMPTY.join(self._indents)
        for number, row in enumerate(rows):
            self.lines.append(Row(tuple(row), widths, number == heads - 1, indent))


def _inline_lines(tokens: Sequence[Token], base: str) -> list[Content]:
    """Return inline tokens as one content per line: a break that was written is a break that shows."""
    text = ""
    spans: list[Span] = []
    open_styles: list[tuple[int, str, str]] = []
    for token in tokens:
        if token.type in _INLINE:
            open_styles.append((len(text), _INLINE[token.type], str(token.attrGet("href") or "")))
        elif token.type.endswith("_close"):
            start, style, target = open_styles.pop()
            spans.append(Span(start, len(text), style))
            if target and target != text[start:]:
                spans.append(Span(len(text), len(text) + len(target) + 3, _MARK))
                text += f" ({target})"
        elif token.type in {"softbreak", "hardbreak"}:
            text += "\n"
        elif token.type == "code_inline":
            spans.append(Span(len(text), len(text) + len(token.content), "$text-accent"))
            text += token.content
        elif token.type == "image":
            text += f"{token.content} ({token.attrGet('src')})"
        else:
            text += token.content
    if base:
        spans.insert(0, Span(0, len(text), base))
    return Content(text, spans).split("\n", allow_blank=True)
