from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.text.sizes import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 0),
        ("1048576", 1 << 20),
        ("2GiB", 2 << 30),
        ("2 gib", 2 << 30),
        ("2G", 2 << 30),
        ("500MB", 500_000_000),
        ("1.5KiB", 1536),
        ("3b", 3),
        ("1TiB", 1 << 40),
    ],
)
def test_reads_sizes(text: str, count: int) -> None:
    assert parse_size(text) == count


@pytest.mark.parametrize("text", ["", "GiB", "-1", "1e9", "1 2", "2XB", "inf", "٣", "1.GiB", "2GiB!"])
def test_refuses_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (200 << 20, "200 MiB"),
        (3 << 40, "3.0 TiB"),
    ],
)
def test_writes_sizes(count: int, text: str) -> None:
    assert format_size(count) == text


@given(st.integers(0, 1 << 50))
def test_what_is_written_can_be_read(count: int) -> None:
    assert abs(parse_size(format_size(count)) - count) <= max(count // 10, 1)
