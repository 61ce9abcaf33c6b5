"""How an answer was drawn, as the ledger keeps it."""

from __future__ import annotations

import pytest

from skippy_chat.sampling import Sampling, drawn_from_json, drawn_to_json

DRAWN = Sampling(0.5, 10, 0.9, 0.1, 2**32 - 1)


@pytest.mark.parametrize("redrawn", [(), (0,), (3, 7, 100)])
def test_what_is_kept_is_read_again(redrawn: tuple[int, ...]) -> None:
    assert drawn_from_json(drawn_to_json(DRAWN, redrawn)) == (DRAWN, redrawn)


def test_a_ledger_of_an_earlier_version_is_read() -> None:
    assert drawn_to_json(DRAWN, ()) == DRAWN.to_json()
    assert drawn_from_json(DRAWN.to_json()) == (DRAWN, ())


@pytest.mark.parametrize("text", ["", "[]", "1", '{"temperature": 1, "heat": 2}', '{"redrawn": 3}', "{"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  the decoder's own message is as good
        drawn_from_json(text)
