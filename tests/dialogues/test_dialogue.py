from __future__ import annotations

from array import array

from skippy_chat.dialogues.dialogue import Dialogue
from skippy_chat.engine.protocol import AnsweredCall, StepReply


def answered(dialogue: Dialogue, text: str) -> Dialogue:
    reply = StepReply(text, "length", array("i", [1, 2, 3, 7, 8]), 3, [(3, False), (1, True)])
    return dialogue.answered(reply)


def talk() -> Dialogue:
    first = answered(Dialogue().said("system", "s").said("user", "a"), "A")
    return answered(first.said("user", "b"), "B").said("user", "c")


def test_an_answer_is_kept_with_its_ids_and_how_many_were_fed() -> None:
    dialogue = talk()
    assert [message["content"] for message in dialogue.messages] == ["s", "a", "A", "b", "B", "c"]
    assert {index: (list(answer.ids), answer.fed) for index, answer in dialogue.answers.items()} == {
        2: ([7, 8], 1),
        4: ([7, 8], 1),
    }


def test_a_deleted_turn_takes_its_answer_along_and_moves_the_others() -> None:
    shorter = talk().without(1, 3)
    assert [message["content"] for message in shorter.messages] == ["s", "b", "B", "c"]
    assert set(shorter.answers) == {2}


def test_edits_leave_the_original_alone() -> None:
    dialogue = talk()
    assert dialogue.changed(3, "other").messages[3] == {"role": "user", "content": "other"}
    assert dialogue.until(3).messages == dialogue.messages[:3]
    assert set(dialogue.until(3).answers) == {2}
    assert dialogue == talk()


def test_an_answer_keeps_its_thoughts_and_calls() -> None:
    calls = (AnsweredCall("c1", "look_up", '{"entry": "a"}'),)
    reply = StepReply("", "tool_calls", array("i", [1, 2]), 1, [(2, False)], reasoning="Hm.", calls=calls)
    message = Dialogue().said("user", "a").answered(reply).said("tool", "b", tool_call_id="c1").messages[1]
    assert message["reasoning_content"] == "Hm."
    assert message["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"entry": "a"}'}}
    ]
