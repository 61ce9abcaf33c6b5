"""How turns are followed, on a scripted conversation."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from skippy_chat import Skippy, Stream, Verdict
from skippy_chat.api.schemas import schema_of
from skippy_chat.errors import AnswerUnfit, EngineDied, UndoRefused, UsageError
from skippy_chat.events import ApprovalNeeded, TextDelta
from tests.fakes.conversation import Call, FakeConversation, Question, Step, Turn


class Town(BaseModel):
    name: str
    people: int


def over(*turns: Turn) -> tuple[Skippy, FakeConversation]:
    conversation = FakeConversation(turns)
    return Skippy.over(conversation), conversation


def test_a_turn_that_dies_is_told_and_the_next_one_goes_on() -> None:
    chat, conversation = over(Turn(("Half",), dies=EngineDied("It ended.")), Turn(("Whole.",)))
    with pytest.raises(EngineDied, match="It ended"):
        chat.ask("One?")
    assert chat.ask("Two?").content == "Whole."
    chat.close()
    chat.close()
    assert conversation.closed >= 1


def test_reasoning_is_apart_from_the_answer() -> None:
    chat, _ = over(Turn(("So: 4.",), reasoning=("Two and", " two.")))
    reply = chat.ask("2 + 2?")
    assert (reply.content, reply.reasoning) == ("So: 4.", "Two and two.")


def test_what_the_script_raises_stops_the_turn() -> None:
    chat, conversation = over(Turn(("Once", " upon"), endless=True), Turn(("Next.",)))

    def leave(stream: Stream) -> None:
        with stream:
            for event in stream:
                if isinstance(event, TextDelta):
                    raise RuntimeError

    with pytest.raises(RuntimeError):
        leave(chat.stream("A story?"))
    assert conversation.messages()[-1].state == "interrupted"
    assert conversation.ended == 1
    assert chat.ask("And?").content == "Next."


def asking(*turns: Turn) -> tuple[Skippy, FakeConversation, list[ApprovalNeeded]]:
    """Return a chat whose script says yes to everything, and what it was asked."""
    asked: list[ApprovalNeeded] = []

    def agree(each: ApprovalNeeded) -> bool:
        asked.append(each)
        return True

    conversation = FakeConversation(turns)
    return Skippy.over(conversation, on_approval=agree), conversation, asked


def calling(*calls: Call) -> Turn:
    return Turn(("Done.",), steps=(Step(calls),))


def test_the_script_is_asked_before_a_call_runs() -> None:
    chat, conversation, asked = asking(calling(Call("c1", question=Question("make test"))))
    reply = chat.ask("Test it.")
    assert [each.text for each in asked] == ["make test"]
    assert [each.allowed for each in conversation.decisions] == [True]
    (call,) = reply.tool_calls
    assert (call.id, call.name, call.arguments, call.status, call.result) == (
        "c1",
        "read_file",
        {"path": "a.txt"},
        "ok",
        "done",
    )
    assert [len(step.tool_calls) for step in reply.steps] == [1, 0]
    assert reply.content == "Done."


@pytest.mark.parametrize("given", [False, None, 0, "yes", 1, Verdict(allowed=False, reason="Not now.")])
def test_whatever_is_not_a_plain_yes_denies(given: Any) -> None:
    conversation = FakeConversation([calling(Call("c1", question=Question()))])
    chat = Skippy.over(conversation, on_approval=lambda _: given)
    reply = chat.ask("Test it.")
    assert [call.status for call in reply.tool_calls] == ["denied"]
    assert conversation.decisions[0].reason == getattr(given, "reason", "")


def test_a_verdict_may_count_for_the_session() -> None:
    conversation = FakeConversation([calling(Call("c1", question=Question()))])
    chat = Skippy.over(conversation, on_approval=lambda _: Verdict(allowed=True, scope="session"))
    assert [call.status for call in chat.ask("Test it.").tool_calls] == ["ok"]
    assert conversation.decisions[0].scope == "session"


@pytest.mark.parametrize("scope", ["always", "for ever"])
def test_a_scope_that_was_not_offered_ends_the_turn(scope: str) -> None:
    question = Question(scopes=("once",))
    conversation = FakeConversation([calling(Call("c1", question=question)), Turn(("Next.",))])
    chat = Skippy.over(conversation, on_approval=lambda _: Verdict(allowed=True, scope=scope))
    with pytest.raises(UsageError):
        chat.ask("Test it.")
    assert [message.status for message in chat.messages if message.role == "tool"] == ["error"]
    assert chat.ask("And?").content == "Next."


def test_a_script_that_fails_while_it_is_asked_runs_nothing() -> None:
    def fail(_: ApprovalNeeded) -> bool:
        raise RuntimeError("my fault")

    conversation = FakeConversation([calling(Call("c1", question=Question())), Turn(("Next.",))])
    chat = Skippy.over(conversation, on_approval=fail)
    with pytest.raises(RuntimeError, match="my fault"):
        chat.ask("Test it.")
    assert [message.status for message in chat.messages if message.role == "tool"] == ["error"]
    assert chat.ask("And?").content == "Next."


def test_a_turn_at_its_limit_goes_on() -> None:
    limited = Turn(steps=(Step((Call("c1"),)),), limited=True)
    chat, _ = over(limited, Turn(("At last.",)))
    assert chat.ask("Look.").finish_reason == "tool_calls"
    assert chat.go_on().content == "At last."


def test_undo_is_the_conversations() -> None:
    chat, conversation = over()
    with pytest.raises(UndoRefused):
        chat.undo()
    assert conversation.undos == 1


@pytest.mark.parametrize(
    ("wanted", "parsed"),
    [(Town, Town(name="Ulm", people=12)), ({"type": "object"}, {"name": "Ulm", "people": 12})],
)
def test_an_answer_by_a_schema_is_read(wanted: Any, parsed: object) -> None:
    chat, _ = over(Turn(('{"name": "Ulm", ', '"people": 12}')))
    assert chat.ask("Where?", json_schema=wanted).parsed == parsed


def test_an_answer_that_was_cut_off_is_not_read() -> None:
    chat, _ = over(Turn(('{"name": "U',), finish_reason="length"))
    reply = chat.ask("Where?", json_schema=Town)
    assert (reply.parsed, reply.content) == (None, '{"name": "U')


def test_an_answer_that_does_not_fit_is_told_and_stays() -> None:
    chat, _ = over(Turn(('{"name": "Ulm", "people": "many"}',)))
    with pytest.raises(AnswerUnfit, match="people"):
        chat.ask("Where?", json_schema=Town)
    assert "many" in chat.messages[-1].content


def test_only_what_is_a_schema_is_taken_for_one() -> None:
    assert schema_of(Town)["required"] == ["name", "people"]
    chat, conversation = over()
    with pytest.raises(UsageError, match="JSON Schema"):
        chat.ask("Where?", json_schema=int)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="JSON Schema, at type"):
        chat.ask("Where?", json_schema={"type": "town"})
    assert conversation.messages() == []
