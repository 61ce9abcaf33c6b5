from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.text.stops import StopMatcher


def run(stops: list[str], pieces: list[str]) -> tuple[str, str | None]:
    matcher = StopMatcher(stops)
    shown = "".join([*map(matcher.feed, pieces), matcher.flush()])
    return shown, matcher.matched


def expected(stops: list[str], text: str) -> tuple[str, str | None]:
    """Look after each character whether the text ends with a stop, the longest first."""
    for end in range(1, len(text) + 1):
        for stop in sorted(stops, key=len, reverse=True):
            if stop and text[:end].endswith(stop):
                return text[: end - len(stop)], stop
    return text, None


def test_shows_no_part_of_a_stop_and_nothing_after_it() -> None:
    matcher = StopMatcher(["</s>"])
    assert [matcher.feed(each) for each in ("one <", "/", "s", "> two", "three")] == ["one ", "", "", "", ""]
    assert matcher.matched == "</s>"
    assert matcher.flush() == ""


def test_holds_back_only_what_may_become_a_stop() -> None:
    matcher = StopMatcher(["User:"])
    assert matcher.feed("a Us") == "a "
    assert matcher.feed("ed U") == "Used "
    assert matcher.flush() == "U"
    assert matcher.matched is None


def test_a_stop_that_begins_again_within_itself_is_found() -> None:
    assert run(["aab"], ["aa", "ab"]) == ("a", "aab")


@pytest.mark.parametrize("stops", [[], [""]])
def test_without_stops_all_text_passes_at_once(stops: list[str]) -> None:
    assert StopMatcher(stops).feed("abc") == "abc"


_letters = st.text("ab<", max_size=4)


@given(st.lists(_letters, max_size=4), st.lists(_letters, max_size=12))
def test_does_not_depend_on_how_the_text_was_split(stops: list[str], pieces: list[str]) -> None:
    assert run(stops, pieces) == expected(stops, "".join(pieces))


@given(st.lists(_letters, min_size=1, max_size=4), st.lists(_letters, max_size=12))
def test_what_is_held_is_a_proper_beginning_of_a_stop(stops: list[str], pieces: list[str]) -> None:
    matcher = StopMatcher(stops)
    shown = "".join(map(matcher.feed, pieces))
    held = matcher.flush()
    if matcher.matched is None:
        assert shown + held == "".join(pieces)
        assert not held or any(stop.startswith(held) and stop != held for stop in stops)
