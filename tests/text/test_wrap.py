from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skippy_chat.text.wrap import WordWrap, cells, wrapped


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three four", 9, ["one two", "three", "four"]),
        ("one two", 7, ["one two"]),
        ("one  two   three", 8, ["one  two", "three"]),
        ("  indented words here", 12, ["  indented", "words here"]),
        ("a\n\nb", 3, ["a", "", "b"]),
        ("incomprehensibilities", 5, ["incomprehensibilities"]),
        ("so incomprehensibilities go", 5, ["so", "incomprehensibilities go"]),
        ("日本語の文章", 5, ["日本", "語の", "文章"]),
        ("see 日本語", 6, ["see 日", "本語"]),
        ("Cafe\u0301 no", 8, ["Cafe\u0301 no"]),
        ("ab\tcd ef", 10, ["ab\tcd", "ef"]),
        ("plain words\n```py\nlong code line stays\n```\nplain words", 6, [
            "plain", "words", "```py", "long code line stays", "```", "plain", "words",
        ]),
    ],
)  # fmt: skip
def test_lines_end_between_words(text: str, width: int, lines: list[str]) -> None:
    assert wrapped(text, width).split("\n") == lines


def test_without_a_width_nothing_changes() -> None:
    text = "one  two \n\n  three" * 50
    assert wrapped(text, None) == text


def test_what_streams_shows_at_once_but_near_the_end_of_a_line() -> None:
    wrap = WordWrap(lambda: 60)
    assert [wrap.feed(piece) for piece in ("Once", " upon", " a", " ti", "me")] == [
        "Once",
        " upon",
        " a",
        " ti",
        "me",
    ]
    assert wrap.feed(" there was a lighthouse") == " there was a lighthouse"
    assert wrap.feed(" keeper") == ""
    assert wrap.feed("s of the sea a") == " keepers of the sea"
    assert wrap.feed("nd mo") == "\nand mo"
    assert wrap.feed("re") == "re"
    assert wrap.feed("\nx") == "\nx"


def test_a_flush_gives_the_word_that_is_held() -> None:
    wrap = WordWrap(lambda: 11)
    assert wrap.feed("one two th") == "one two"
    assert wrap.flush() == " th"


def test_a_long_word_stays_where_it_begins() -> None:
    address = f"https://example.org/{'x' * 80}"
    assert wrapped(f"See {address} for more", 60) == f"See {address} for more"


def test_the_width_is_asked_for_every_line() -> None:
    widths = iter((5, 9, None))
    wrap = WordWrap(lambda: next(widths))
    assert (
        wrap.feed("aa bb cc\naa bb cc\n") + wrap.feed("aa bb cc dd ee")
        == "aa bb\ncc\naa bb cc\naa bb cc dd ee"
    )


WORDS = st.text(st.sampled_from("ab日e\u0301 \t\n`-"), max_size=80)


@given(WORDS, st.integers(1, 40), st.lists(st.integers(0, 80)))
@settings(deadline=None)
def test_the_same_however_it_is_split(text: str, width: int, cuts: list[int]) -> None:
    wrap = WordWrap(lambda: width)
    at = 0
    out = ""
    for cut in sorted(each for each in cuts if each <= len(text)):
        out += wrap.feed(text[at:cut])
        at = cut
    assert out + wrap.feed(text[at:]) + wrap.flush() == wrapped(text, width)


@given(WORDS, st.integers(1, 40))
@settings(deadline=None)
def test_only_spaces_are_changed(text: str, width: int) -> None:
    assert "".join(wrapped(text, width).split()) == "".join(text.split())


@given(st.lists(st.text("abc", min_size=1, max_size=9), min_size=1), st.integers(9, 40))
@settings(deadline=None)
def test_lines_are_full_and_never_too_long(words: list[str], width: int) -> None:
    lines = wrapped(" ".join(words), width).split("\n")
    assert all(cells(line) <= width for line in lines)
    for line, after in itertools.pairwise(lines):
        assert cells(f"{line} {after.split(' ')[0]}") > width
    assert " ".join(lines) == " ".join(words)
