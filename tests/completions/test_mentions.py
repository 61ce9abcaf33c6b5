"""What names a file in a text, and what only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.completions.mentions import Partial, can_be_written, mentions, partial, written


def named(text: str) -> list[tuple[str, ...]]:
    return [each.paths for each in mentions(text) if not each.escaped]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("@notes.md", ("notes.md",)),
        ("see @src/main.py, please", ("src/main.py",)),
        ("see\n@a", ("a",)),
        ("(@a.md)", ("a.md)", "a.md")),
        ("Read @a.md.", ("a.md.", "a.md")),
        ("Is it @a.md?!", ("a.md?!", "a.md?", "a.md")),
        ('read @"my notes.md"now', ("my notes.md",)),
        ("@a@b", ("a@b",)),
        ("@Ärger/ü.md", ("Ärger/ü.md",)),
    ],
)
def test_a_mention(text: str, paths: tuple[str, ...]) -> None:
    assert named(text) == [paths]


@pytest.mark.parametrize(
    "text",
    [
        "mail a@b.c today",
        "@",
        "a @ b",
        "@@",
        'import x from "@/components"',
        "`@a.md`",
        "```\n@a.md\n```",
        "~~~py\n@dataclass\n~~~",
        "```\nnever closed\n@a.md",
        "````\n```\n@a.md\n````",
        "```\ncode\n``` no end\n@a.md\n```",
        "\\@a.md",
    ],
)
def test_no_mention(text: str) -> None:
    assert named(text) == []


def test_text_around_code_has_mentions() -> None:
    assert named("@a\n```\n@b\n```\n@c") == [("a",), ("c",)]


def test_a_backslash_is_told_with_its_place() -> None:
    (found,) = mentions("see \\@a.md")
    assert (found.start, found.end, found.escaped) == (4, 10, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@", Partial(0, "")),
        ("see @src/m", Partial(4, "src/m")),
        ('see @"my no', Partial(4, "my no")),
        ("two\nlines @x", Partial(10, "x")),
        ("a@b", None),
        ("@a b", None),
        ("\\@a", None),
        ("```\n@a", None),
        ("```\n```\n@a", Partial(8, "a")),
        ('@"a" ', None),
    ],
)
def test_what_is_being_typed(text: str, expected: Partial | None) -> None:
    assert partial(text, len(text)) == expected


def test_only_what_stands_before_the_cursor_counts() -> None:
    assert partial("see @srcmore", 8) == Partial(4, "src")


@given(st.text(min_size=1).filter(can_be_written))
def test_what_is_written_is_read_back(path: str) -> None:
    for text in (written(path), f"see ({written(path)} and more", f"{written(path)}\n"):
        assert named(text) == [(path,)]


@given(st.text(alphabet='@\\"`~ab./ \n', max_size=40), st.integers(0, 40))
def test_any_text_can_be_read(text: str, cursor: int) -> None:
    for each in mentions(text):
        assert text[each.start : each.end].lstrip("\\").startswith("@")
        assert all(each.paths)
    found = partial(text, min(cursor, len(text)))
    assert found is None or text[found.start] == "@"


@pytest.mark.parametrize(
    "text", ["@a" + "." * 200_000, "(@" * 100_000, '@"' * 100_000, "@" * 200_000, "(@" * 100_000 + '"']
)
@pytest.mark.timeout(60)
def test_a_hostile_text_takes_no_time_and_no_room(text: str) -> None:
    assert sum(len(path) for each in mentions(text) for path in each.paths) < 10 * len(text)
    partial(text, len(text))
