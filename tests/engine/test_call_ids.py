"""Ids of calls: never empty, never twice, always the same for the same conversation."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.engine.call_ids import CallIds


def made(*ids: str) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "x"},
        {"role": "assistant", "tool_calls": [{"id": each} for each in ids]},
    ]


def test_the_model_s_own_id_stands_and_another_has_nine_letters_and_digits() -> None:
    ids = CallIds([])
    assert ids.give("functions.read:0") == "functions.read:0"
    given_here = ids.give()
    assert (len(given_here), given_here.isalnum()) == (9, True)


def test_an_id_that_is_taken_is_not_given_again() -> None:
    ids = CallIds(made("call00001", "call00002", "own"))
    assert ids.give("own") == "call00003"
    assert CallIds(made("call00001")).give() == "call00002"


@given(
    st.lists(st.sampled_from(["", "a", "call00000", "call00003"]), max_size=5),
    st.lists(st.sampled_from(["", "a", "b"])),
)
def test_ids_are_unique_and_follow_from_the_conversation(before: list[str], own: list[str]) -> None:
    first, second = CallIds(made(*before)), CallIds(made(*before))
    ids = [first.give(each) for each in own]
    assert ids == [second.give(each) for each in own]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    assert not set(ids) & set(before)
