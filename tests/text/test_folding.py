"""Folding: what people type finds what was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.text.folding import Folded, fold

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("cafe", "Café"),
        ("cafe", "CAFE\u0301"),
        ("STRASSE", "Straße"),
        ("file", "\ufb01le"),
        ("a b", "a\u00a0b"),
        ("a b", "a\nb"),
        ("naive", "na\u00efve"),
        ("naive", "na\u00adive"),
        ("ελλαδα", "Ελλάδα"),
    ],
)
def test_what_is_the_same_to_a_person_folds_to_the_same(typed: str, written: str) -> None:
    assert fold(typed) == fold(written)


@pytest.mark.parametrize(("one", "other"), [("की", "क"), ("a", "b"), ("ab", "a b")])
def test_what_is_not_the_same_stays_apart(one: str, other: str) -> None:
    assert fold(one) != fold(other)


def test_spans_are_those_of_the_source() -> None:
    source = "Ein Café, ein cafe\u0301, ein CAFE."
    assert [source[start:end] for start, end in Folded(source).spans("cafe")] == [
        "Café",
        "cafe\u0301",
        "CAFE",
    ]
    assert Folded("Straße").spans("ss") == [(4, 5)]
    assert Folded("aaa").spans("aa") == [(0, 2)]
    assert Folded("abc").spans("") == []


@given(st.text(max_size=40), st.text(max_size=3))
def test_what_is_counted_is_found(source: str, words: str) -> None:
    wanted = fold(words)
    folded = Folded(source)
    if wanted:
        assert len(folded.spans(wanted)) == fold(source).count(wanted)
    for start, end in folded.spans(wanted):
        assert 0 <= start < end <= len(source)
