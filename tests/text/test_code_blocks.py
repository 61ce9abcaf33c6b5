"""Code out of Markdown, as it was written."""

from __future__ import annotations

import pytest

from skippy_chat.text.code_blocks import CodeBlock, code_blocks

pytestmark = pytest.mark.timeout(30)


def test_blocks_of_every_kind_in_their_order() -> None:
    text = (
        "Run:\n\n```sh -x\nmake\tall\n```\n\n1. Then\n\n   ~~~python\n   def f():\n       return 1\n   ~~~\n\n"
        "> ```\n> quoted\n> ```\n\n    indented\n      more\n\n`not one`\n"
    )
    assert code_blocks(text) == [
        CodeBlock("sh", "make\tall"),
        CodeBlock("python", "def f():\n    return 1"),
        CodeBlock("", "quoted"),
        CodeBlock("", "indented\n  more"),
    ]


def test_an_open_fence_counts_and_fences_inside_stay() -> None:
    assert code_blocks("````md\n```py\nx\n```\n") == [CodeBlock("md", "```py\nx\n```")]
    assert code_blocks("none here") == []


def test_lines_are_counted() -> None:
    assert [CodeBlock("", code).lines for code in ("", "a", "a\n\nb")] == [0, 1, 3]
