"""Turn a page into plain text: title, headings, paragraphs, list items. It runs as a script, bounded from outside.

Reads HTML from standard input. A process of its own, since a page is foreign and its parser cannot be interrupted.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

_UNSEEN = frozenset({"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select"})
_BLOCKS = (
    "address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header"
    " hr li main nav ol p pre section table title tr ul"
)
_BREAKS = frozenset(_BLOCKS.split())
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}


class _Text(HTMLParser):
    """Collects what a reader would see."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._unseen = 0
        self._exact = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag in _BREAKS:
            self.pieces.append("\n")
        elif tag in ("td", "th"):
            self.pieces.append("\t")
        if tag in _HEADINGS:
            self.pieces.append(f"\n{_HEADINGS[tag]} ")
        elif tag == "li":
            self.pieces.append("- ")
        elif tag == "pre":
            self._exact += 1

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag in _BREAKS:
            self.pieces.append("\n")
        if tag == "pre":
            self._exact = max(0, self._exact - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if tag in _BREAKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.pieces.append(data if self._exact else re.sub(r"\s+", " ", data))


def page_text(html: str) -> str:
    """Return the text of a page, without blank runs."""
    parser = _Text()
    parser.feed(html)
    parser.close()
    lines = [each.rstrip() for each in "".join(parser.pieces).split("\n")]
    kept: list[str] = []
    for line in lines:
        # Outside of <pre> runs of spaces are one already, and one at the start says nothing.
        shown = line[1:] if line.startswith(" ") and not line.startswith("  ") else line
        if shown or (kept and kept[-1]):
            kept.append(shown)
    return "\n".join(kept).strip("\n")


if __name__ == "__main__":
    source = sys.stdin.buffer.read().decode(sys.argv[1], "replace")
    sys.stdout.buffer.write(page_text(source).encode("utf-8", "replace"))
