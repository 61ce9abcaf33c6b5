from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.chat.ledger import (
    Ledger,
    Run,
    pack_ids,
    pack_schedule,
    shared_prefix,
    unpack_ids,
    unpack_schedule,
)

_id = st.integers(-(1 << 31), (1 << 31) - 1)
_runs = st.lists(st.builds(Run, st.integers(1, 1 << 20), st.booleans()), max_size=40).map(tuple)


def test_counts() -> None:
    ledger = Ledger(
        "m", (5, 6, 7, 8, 9), 3, (Run(2, single=False), Run(1, single=False), Run(1, single=True))
    )
    assert (ledger.answer_ids, ledger.fed, ledger.answer_fed) == ((8, 9), 4, 1)


def test_an_interrupted_prefill_has_fed_nothing_of_the_answer() -> None:
    assert Ledger("m", (5, 6, 7), 3, (Run(2, single=False),)).answer_fed == 0


@pytest.mark.parametrize(
    ("prompt", "schedule"),
    [
        (4, ()),
        (-1, ()),
        (2, (Run(4, single=False),)),
        (2, (Run(0, single=True),)),
        (2, (Run(-1, single=True),)),
    ],
)
def test_parts_that_contradict_each_other_are_refused(prompt: int, schedule: tuple[Run, ...]) -> None:
    with pytest.raises(ValueError, match="token"):
        Ledger("m", (1, 2, 3), prompt, schedule)


@given(st.lists(_id))
def test_ids_round_trip(ids: list[int]) -> None:
    assert unpack_ids(pack_ids(ids)) == tuple(ids)
    assert len(pack_ids(ids)) == 4 * len(ids)


def test_ids_are_little_endian() -> None:
    assert pack_ids([1, -2]) == b"\x01\0\0\0\xfe\xff\xff\xff"


@given(_runs)
def test_schedule_round_trip(runs: tuple[Run, ...]) -> None:
    assert unpack_schedule(*pack_schedule(runs)) == runs


def test_a_long_schedule_is_small() -> None:
    cuts, sampled = pack_schedule([Run(256, single=False)] * 500 + [Run(1000, single=True)])
    assert len(cuts) + len(sampled) <= 1010


@pytest.mark.parametrize(
    ("cuts", "sampled"), [(b"\x80", b""), (b"\x01", b"\x01"), (b"", b"\x00"), (b"\x01", b"\xff")]
)
def test_a_damaged_schedule_is_refused(cuts: bytes, sampled: bytes) -> None:
    with pytest.raises(ValueError, match=r"cut off|beyond"):
        unpack_schedule(cuts, sampled)


def test_damaged_ids_are_refused() -> None:
    with pytest.raises(ValueError, match="length"):
        unpack_ids(b"\x01\0\0")


@given(st.lists(_id, max_size=40), st.lists(_id, max_size=40), st.lists(_id, max_size=40))
def test_shared_prefix(common: list[int], first: list[int], second: list[int]) -> None:
    one, other = common + first, common + second
    expected = next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    assert shared_prefix(pack_ids(one), pack_ids(other)) == expected
