"""Room in words: figures add up, and a larger context is offered only where it helps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from skippy_chat.agent.protocol import LoadedModel
from skippy_chat.agent.room import Dropped, Room
from skippy_chat.room_wording import context_meant, dropped_text, larger_context, room_text

MODEL = LoadedModel("m", "ab" * 32, "hybrid", "falcon-h1", 4096, 32768)
ROOM = Room(5000, 4096, 100, 0, 3900, 1000)


def test_only_what_takes_room_is_told() -> None:
    assert room_text(ROOM).split("\n") == [
        "5,000 of 4,096 tokens in use (122 %).",
        "905 tokens too many to answer.",
        "system prompt 100 · messages 3,900 · tool output 1,000",
    ]
    assert room_text(Room(0, 4096, 0, 0, 0, 0)) == "0 of 4,096 tokens in use (0 %)."
    assert "1 token too many" in room_text(replace(ROOM, used=4096))


def test_what_was_dropped_is_counted() -> None:
    assert dropped_text(Dropped(1, 1)).startswith("Left out 1 result of tools: 1 token less.")
    assert dropped_text(Dropped(12, 3456)).startswith("Left out 12 results of tools: 3,456 tokens less.")


@given(used=some.integers(0, 200_000), size=some.integers(256, 100_000), trained=some.integers(0, 200_000))
def test_a_larger_context_is_larger_fits_and_is_no_longer_than_the_model_knows(
    used: int, size: int, trained: int
) -> None:
    found = larger_context(
        replace(ROOM, used=used, context_size=size), replace(MODEL, trained_context=trained)
    )
    helps = trained > max(used, size)
    assert (found is not None) == helps
    if found is not None:
        assert max(used, size) < found <= trained
        assert found in (trained, *(size * 2**times for times in range(1, 12)))


@pytest.mark.parametrize(
    ("text", "size"),
    [("4096", 4096), ("16,384", 16384), ("16_384", 16384), ("32768", 32768), ("256", 256)],
)
def test_a_number_of_tokens(text: str, size: int) -> None:
    assert context_meant(text, MODEL) == size


@pytest.mark.parametrize("text", ["", "255", "32769", "-1", "4k", "٤٠٩٦", "²", "9" * 5000, "4 096", ","])
def test_no_number_of_tokens(text: str) -> None:
    assert context_meant(text, MODEL) is None


def test_where_the_model_does_not_say_any_size_is_tried() -> None:
    assert context_meant("999999", replace(MODEL, trained_context=0)) == 999999
