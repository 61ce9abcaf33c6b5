"""What a terminal sends: pastes cleaned, everything else as it came."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START

from skippy_chat.tui.pasting import CleanPastes, PasteFilter

PIECES = st.sampled_from(
    [BRACKETED_PASTE_START, BRACKETED_PASTE_END, "\x1b", "\x1b[A", "a", "\r", "\x1b[2", "00~"]
)


@given(st.lists(PIECES, max_size=12), st.lists(st.integers(0, 60), max_size=6))
def test_how_the_input_is_split_makes_no_difference(pieces: list[str], cuts: list[int]) -> None:
    text = "".join(pieces)
    whole = PasteFilter().feed(text)
    parts = PasteFilter()
    ends = [*sorted(min(cut, len(text)) for cut in cuts), len(text)]
    given_back = "".join(parts.feed(text[start:end]) for start, end in zip([0, *ends], ends, strict=False))
    assert given_back == whole


@given(st.text(alphabet="\x1b[]A;~09ab\r", max_size=40))
def test_what_is_no_paste_passes_as_it_came_and_at_once(text: str) -> None:
    if BRACKETED_PASTE_START in text:
        return
    assert PasteFilter().feed(text) == text


@given(st.text())
def test_a_paste_is_one_event_without_control_characters(text: str) -> None:
    parser = CleanPastes()
    if BRACKETED_PASTE_END in text:
        return
    found = list(parser.feed(f"a{BRACKETED_PASTE_START}{text}{BRACKETED_PASTE_END}b"))
    pasted = [event.text for event in found if isinstance(event, events.Paste)]
    keys = [event.key for event in found if isinstance(event, events.Key)]
    assert keys == ["a", "b"]
    assert len(pasted) <= 1
    assert not any(each < " " and each not in "\n\t" for each in "".join(pasted))


def test_an_escape_in_a_paste_presses_no_key() -> None:
    parser = CleanPastes()
    assert list(parser.feed(f"{BRACKETED_PASTE_START}one\x1b")) == []
    (paste,) = list(parser.feed(f"foo\rtwo\x1b[31m\x1b[A\r\nthree{BRACKETED_PASTE_END}x"))[:1]
    assert isinstance(paste, events.Paste)
    assert paste.text == "oneoo\ntwo\nthree"
