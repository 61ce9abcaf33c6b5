from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.text.sanitise import Sanitiser, sanitise


def stream(pieces: list[str], *, strip_format: bool = False) -> str:
    sanitiser = Sanitiser(strip_format=strip_format)
    return "".join([*map(sanitiser.feed, pieces), sanitiser.flush()])


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain\ttext\nand naïve 😀", "plain\ttext\nand naïve 😀"),
        ("a\rb\x00c\x07d\x08e\x0bf\x0cg\x7fh", "abcdefgh"),
        ("a\x85b\x8dc", "abc"),
        ("a\x1b[31;1mred\x1b[0m b", "ared b"),
        ("a\x1b[?25lb\x1b[2 qc\x9b2Jd", "abcd"),
        ("a\x1b]0;title\x07b\x1b]52;c;aGk=\x1b\\c\x9d8;;u\x9cd", "abcd"),
        ("a\x1bP1$r0m\x1b\\b\x1b_G...\x1b\\c\x1b^pm\x1b\\d\x1bXsos\x9ce\x90q\x9cf", "abcdef"),
        ("a\x1bcb\x1b7c\x1b(Bd\x1b#8e\x1b=f", "abcdef"),
        ("a\x1b]0;no end", "a]0;no end"),
        ("a\x1b[12", "a[12"),
        ("a\x1b", "a"),
        ("a\x1b\x1b[1mb", "ab"),
        ("a\x1b]0;x\x1b[1my\x07z", "a]0;xyz"),
        ("a\x1b]0;x\nshows\x07z", "a]0;x\nshowsz"),
        ("a\x1b[é", "a[é"),
        ("a\ud800b", "a\ufffdb"),
        ("a\x1b]" + "x" * 5000 + "\x07b", "a]" + "x" * 5000 + "b"),
    ],
)
def test_removes_control_characters_and_complete_sequences(text: str, clean: str) -> None:
    assert sanitise(text) == clean
    assert stream(list(text)) == clean


def test_text_of_an_unfinished_sequence_is_not_held_for_long() -> None:
    sanitiser = Sanitiser()
    assert sanitiser.feed("a\x1b]0;title") == "a"
    assert sanitiser.feed(" and\nmore") == "]0;title and\nmore"


def test_format_characters_go_only_when_asked() -> None:
    text = "rm \u202egnp.x\u2066 \u200bdone\ufeff\u2028\u3164\U000e0041é👩‍🔬"
    assert sanitise(text) == text
    assert sanitise(text, strip_format=True) == "rm gnp.x doneé👩🔬"


_text = st.text(
    st.one_of(
        st.sampled_from("\x1b[]P_^X\\0;9?m (\x07\n\t\r\x18\x9b\x9d\x9c\x90\x80\u202e"),
        st.characters(),
        st.just("\ud83d"),
    )
)


@given(st.lists(_text), st.booleans())
def test_does_not_depend_on_how_the_text_was_split(pieces: list[str], strip_format: bool) -> None:
    assert stream(pieces, strip_format=strip_format) == sanitise("".join(pieces), strip_format=strip_format)


@given(_text)
def test_nothing_dangerous_is_left_and_a_second_time_changes_nothing(text: str) -> None:
    clean = sanitise(text)
    assert not any((ord(each) < 32 and each not in "\n\t") or 127 <= ord(each) < 160 for each in clean)
    assert sanitise(clean) == clean
    clean.encode()


def test_cost_grows_with_the_text_only() -> None:
    text = ("\x1b]" * 50 + "\x1b[" * 50 + "\x9d;" * 50 + "\x1b[" + "1" * 100) * 200
    began = time.perf_counter()
    sanitise(text)
    stream([text[at : at + 16] for at in range(0, len(text), 16)])
    assert time.perf_counter() - began < 5
