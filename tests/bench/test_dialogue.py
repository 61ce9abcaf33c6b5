from __future__ import annotations

from array import array

from skippy_chat.bench.dialogue import Dialogue
from skippy_chat.bench.texts import Texts
from skippy_chat.engine.protocol import StepReply


def answered(dialogue: Dialogue, text: str) -> Dialogue:
    reply = StepReply(text, "length", array("i", [1, 2, 3, 7, 8]), 3, [(3, False), (1, True)])
    return dialogue.answered(reply)


def talk() -> Dialogue:
    first = answered(Dialogue().said("system", "s").said("user", "a"), "A")
    return answered(first.said("user", "b"), "B").said("user", "c")


def test_an_answer_is_kept_with_its_ids_and_how_many_were_fed() -> None:
    dialogue = talk()
    assert [content for _role, content in dialogue.messages] == ["s", "a", "A", "b", "B", "c"]
    assert {index: (list(answer.ids), answer.fed) for index, answer in dialogue.answers.items()} == {
        2: ([7, 8], 1),
        4: ([7, 8], 1),
    }


def test_a_deleted_turn_takes_its_answer_along_and_moves_the_others() -> None:
    shorter = talk().without(1, 3)
    assert [content for _role, content in shorter.messages] == ["s", "b", "B", "c"]
    assert set(shorter.answers) == {2}


def test_edits_leave_the_original_alone() -> None:
    dialogue = talk()
    assert dialogue.changed(3, "other").messages[3] == ("user", "other")
    assert dialogue.until(3).messages == dialogue.messages[:3]
    assert set(dialogue.until(3).answers) == {2}
    assert dialogue == talk()


def test_texts_are_the_same_for_a_seed_and_unlike_for_others() -> None:
    texts = Texts(by_ids=True)
    assert texts.text(3, 50) == texts.text(3, 50) != texts.text(4, 50)
    assert len(texts.text(3, 50).split()) == 50


def test_words_are_counted_in_tokens_of_the_model() -> None:
    texts = Texts().calibrated(100, 250)
    assert len(texts.text(1, 500).split()) == 200
    assert Texts(by_ids=True).calibrated(100, 250).per_word == 1.0
