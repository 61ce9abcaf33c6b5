"""What is offered for a text and a cursor."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from skippy_chat.completions.source import Offered, Offers, offers, wants_offers

COMMANDS = (
    Offered("export", "write a file", "[md|json] [FILE]", ("md", "json")),
    Offered("continue", "go on"),
    Offered("explain", "your prompt", "TEXT"),
    Offered("regenerate", "answer again"),
)


def files(typed: str) -> Sequence[str]:
    return [each for each in ("src/", "src/main.py", "my notes.md", "my dir/") if each.startswith(typed)]


def offered(text: str, cursor: int | None = None) -> Offers | None:
    return offers(text, len(text) if cursor is None else cursor, COMMANDS, files)


def texts(text: str, cursor: int | None = None) -> list[str]:
    found = offered(text, cursor)
    if found is None:
        return []
    at = len(text) if cursor is None else cursor
    return [text[: found.start] + each.text + text[found.end :] for each in found.offers if found.end == at]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/", ["/export ", "/continue", "/explain ", "/regenerate"]),
        ("/ex", ["/export ", "/explain "]),
        ("/EXPO", ["/export "]),
        ("/gen", ["/regenerate"]),
        ("/export m", ["/export md"]),
        ("/export ", ["/export md", "/export json"]),
        ("/export md", []),
        ("/continue ", []),
        ("/nothing", []),
        ("//ex", []),
        ("say /ex", []),
        ("\n/ex", []),
        ("/usr/bin", []),
        ("see @src", ["see @src/", "see @src/main.py "]),
        ("see @my", ['see @"my notes.md" ', 'see @"my dir/']),
        ('see @"my d', ['see @"my dir/']),
        ("/explain @src/m", ["/explain @src/main.py "]),
        ("a@src", []),
        ("", []),
    ],
)
def test_what_is_offered(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_only_the_part_before_the_cursor_is_replaced() -> None:
    assert texts("see @sr and more", 7) == ["see @src/ and more", "see @src/main.py  and more"]
    assert texts("/ex more", 3) == ["/export  more", "/explain  more"]
    assert texts("/exabc", 3) == []


def test_an_offer_says_what_it_is() -> None:
    found = offered("/expo")
    assert found is not None
    assert [(each.shown, each.about) for each in found.offers] == [
        ("/export [md|json] [FILE]", "write a file")
    ]


@pytest.mark.parametrize("text", ["/", "/ex", "@", "see @x", 'see @"x y'])
def test_looking_is_worth_it(text: str) -> None:
    assert wants_offers(text, len(text))


@pytest.mark.parametrize("text", ["", "hello", "a@b", "//x", "```\n@a"])
def test_looking_is_not_worth_it(text: str) -> None:
    assert not wants_offers(text, len(text))
