"""Sampling in words: what a line changes, and what it says of a mistake."""

from __future__ import annotations

import pytest

from skippy_chat.errors import UsageError
from skippy_chat.sampling import Sampling
from skippy_chat.sampling_words import read_sampling, sampling_told, sampling_with

pytestmark = pytest.mark.timeout(30)


def test_a_line_changes_what_it_names() -> None:
    changes = read_sampling("temperature=1.2, seed=7 top_k=0")
    assert sampling_with(Sampling(top_p=0.5), changes) == Sampling(1.2, 0, 0.5, 0.05, 7)
    assert read_sampling("") == {}
    assert read_sampling("0") == {"temperature": 0.0}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("temprature=1", "Did you mean temperature?"),
        ("hot", "There are: temperature, top_k, top_p, min_p, seed."),
        ("temperature=warm", "a number is wanted"),
        ("temperature=9", "it must be from 0 to 5"),
        ("seed=none", "seed: a number is wanted"),
        ("seed=-1", "it must be from 0"),
        ("top_k=1.5", "a whole number is wanted"),
        ("seed=", "a"),
    ],
)
def test_a_mistake_is_told(line: str, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_sampling(line)
    assert told in str(refused.value)


def test_what_is_told_can_be_typed() -> None:
    sampling = Sampling(1.25, 3, 0.5, 0.01, 4_000_000_000)
    assert sampling_with(Sampling(), read_sampling(sampling_told(sampling))) == sampling
