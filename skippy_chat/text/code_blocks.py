"""The code in a Markdown text, as its author wrote it: no fences, no gutters, no breaks that a screen needed."""

from __future__ import annotations

from dataclasses import dataclass

from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark", {"html": False})


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A block of code; ``language`` is the first word behind its fence, empty where none is said."""

    language: str
    code: str

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return len(self.code.splitlines())


def code_blocks(markdown: str) -> list[CodeBlock]:
    """Return the blocks of code of a text, in their order, those in lists and quotes included.

    A fence that is still open counts as a block up to the end. The last line break belongs to the fence.
    """
    return [
        CodeBlock(token.info.split()[0] if token.info.split() else "", token.content.removesuffix("\n"))
        for token in _PARSER.parse(markdown)
        if token.type in ("fence", "code_block")
    ]
