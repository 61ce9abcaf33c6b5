"""Texts are the same everywhere, and as long as they are asked to be."""

from __future__ import annotations

from skippy_chat.dialogues.texts import Ids, Words


def test_ids_have_the_length_asked_for_and_fit_the_smallest_vocabulary() -> None:
    ids = [int(each) for each in Ids().text(3, 500).split()]
    assert len(ids) == 500
    assert all(10 <= each <= 127 for each in ids)
    assert Ids().text(3, 500) == Ids().text(3, 500) != Ids().text(4, 500)


def test_words_follow_the_tokenizer() -> None:
    assert len(Words(2.0).text(1, 100).split()) == 50
    assert len(Words(0.5).text(1, 100).split()) == 200
    assert Words(9.0).text(1, 1)
    assert Words(1.0).text(5, 12) == Words(1.0).text(5, 12)
