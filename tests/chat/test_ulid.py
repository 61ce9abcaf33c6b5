from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.chat.ulid import LENGTH, UlidSource


def test_the_time_of_the_published_example() -> None:
    assert UlidSource(lambda: 1_469_918_176_385, bytes)() == "01ARYZ6S41" + "0" * 16


@given(
    st.lists(st.integers(0, (1 << 48) - 2), min_size=2, max_size=50),
    st.sampled_from([b"\0", b"\x7f", b"\xff"]),
)
def test_each_is_greater_than_the_one_before_whatever_the_clock_does(times: list[int], byte: bytes) -> None:
    clock = iter(times)
    source = UlidSource(lambda: next(clock), lambda count: byte * count)
    ids = [source() for _ in times]
    assert all(before < after for before, after in pairwise(ids))
    assert {len(each) for each in ids} == {LENGTH}
