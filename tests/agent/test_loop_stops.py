"""Stopped at any point, a turn leaves a branch that can be shown, asked about and gone on from."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator

import pytest

from skippy_chat.agent.conversation import EngineConversation
from skippy_chat.agent.tools.function import tool
from skippy_chat.agent.tools.protocol import Tool
from skippy_chat.chat.pairing import CUT_OFF, NOT_RUN, unanswered
from skippy_chat.engine.protocol import AnsweredCall
from skippy_chat.errors import EngineDied, UsageError
from skippy_chat.events import ApprovalNeeded, Event, StepFinished, ToolFinished, TurnFinished
from tests.agent.loops import YES, Place, branch, follow, results, shapes
from tests.fakes.engine import FakeEngine, Said, call

CALLS = (
    call("c1", "calculator", expression="1"),
    call("c2", "run_command", command="echo begun; sleep 60"),
    call("c3", "write_file", path="a.txt", content="x"),
)


def ended(events: list[Event]) -> str:
    last = events[-1]
    assert isinstance(last, TurnFinished)
    return last.finish_reason


def stopping_at(conversation: EngineConversation, events: Iterator[Event], name: str) -> list[Event]:
    """Read a turn to its end, and stop it in another thread when the first such event came."""
    seen: list[Event] = []
    for event in events:
        seen.append(event)
        if event.type == name and [each.type for each in seen].count(name) == 1:
            thread = threading.Thread(target=conversation.cancel)
            thread.start()
            thread.join()
        elif isinstance(event, ApprovalNeeded):
            conversation.decide(event.call, allowed=True)
    return seen


def check_goes_on(conversation: EngineConversation, engine: FakeEngine) -> None:
    """Whatever was stored can be asked about: once by going on, once by saying something new."""
    assert unanswered(conversation.messages()) == ()
    follow(conversation, conversation.go_on(), YES, YES, YES)
    follow(conversation, conversation.send("And now?"), YES, YES, YES)
    for request in engine.requests:
        check_prompt(request.messages)


def check_prompt(messages: list[dict[str, object]]) -> None:
    """What every template takes: results behind their calls, and users and answers by turns."""
    expected: list[str] = []
    before = "assistant"
    for message in messages:
        role = message["role"]
        if role == "tool":
            assert message["tool_call_id"] in expected
            expected.remove(str(message["tool_call_id"]))
            continue
        assert expected == []
        if role != "system":
            assert {role, before} == {"user", "assistant"} or (role == before == "assistant")
            before = str(role)
        calls = message.get("tool_calls", [])
        assert isinstance(calls, list)
        expected = [each["id"] for each in calls]
    assert expected == []


def test_in_the_answer(place: Place) -> None:
    conversation, engine = place.open(
        [Said("I will", waits=True), Said("Gone on."), Said("Now.")], place.box()
    )
    events = stopping_at(conversation, conversation.send("Go."), "text_delta")
    assert ended(events) == "cancelled"
    assert branch(conversation)[-1] == ("assistant", "interrupted", "I will")
    check_goes_on(conversation, engine)
    assert [each[2] for each in branch(conversation)] == ["Go.", "Gone on.", "And now?", "Now."]


def test_before_the_first_word(place: Place) -> None:
    conversation, engine = place.open([Said("", waits=True), Said("Here."), Said("Now.")], place.box())
    events = stopping_at(conversation, conversation.send("Go."), "prefill_started")
    assert ended(events) == "cancelled"
    assert [each[0] for each in branch(conversation)] == ["user"]
    follow(conversation, conversation.send("Anybody?"))
    assert [each["role"] for each in engine.requests[1].messages] == ["user", "assistant", "user"]
    check_prompt(engine.requests[1].messages)


def test_an_answer_stopped_behind_its_calls_keeps_them_unrun(place: Place) -> None:
    conversation, engine = place.open(
        [Said("", CALLS[:2], waits=True), Said("On."), Said("Now.")], place.box()
    )
    events = stopping_at(conversation, conversation.send("Go."), "tool_call_delta")
    assert ended(events) == "cancelled"
    assert "tool_started" not in shapes(events)
    assert [each.content for each in results(conversation)] == [NOT_RUN, NOT_RUN]
    check_goes_on(conversation, engine)


def test_while_it_asks(place: Place) -> None:
    conversation, engine = place.open([Said("", CALLS), Said("On."), Said("Now.")], place.box(approve="ask"))
    events = stopping_at(conversation, conversation.send("Go."), "approval_needed")
    assert ended(events) == "cancelled"
    assert [each.content for each in results(conversation)] == ["1", NOT_RUN, NOT_RUN]
    assert [each.status for each in results(conversation)] == ["ok", "error", "error"]
    assert [each.call for each in events if isinstance(each, ToolFinished)] == ["c1", "c2", "c3"]
    check_goes_on(conversation, engine)


def test_while_it_asks_from_the_thread_that_reads(place: Place) -> None:
    conversation, _ = place.open([Said("", CALLS)], place.box(approve="ask"))
    events: list[Event] = []
    for event in conversation.send("Go."):
        events.append(event)
        if isinstance(event, ApprovalNeeded):
            conversation.cancel()
    assert ended(events) == "cancelled"


def test_a_stop_is_over_with_its_turn(place: Place) -> None:
    said = Said("", (call("c1", "run_command", command="echo hi"),))
    conversation, _ = place.open([said, said, Said("Done.")], place.box(approve="ask"))
    stopping_at(conversation, conversation.send("Go."), "approval_needed")
    events = follow(conversation, conversation.send("Do run it."), YES)
    assert ended(events) == "stop"
    assert [each.content for each in results(conversation)] == [NOT_RUN, "hi"]


def test_an_answer_from_another_thread_lets_it_go_on(place: Place) -> None:
    said = Said("", (call("c1", "run_command", command="echo hi"),))
    conversation, _ = place.open([said, Said("Done.")], place.box(approve="ask"))
    asked = threading.Event()
    faults: list[UsageError] = []

    def answer() -> None:
        assert asked.wait(30)
        for name, scope in (("c9", "once"), ("c1", "forever")):
            with pytest.raises(UsageError) as fault:
                conversation.decide(name, allowed=True, scope=scope)
            faults.append(fault.value)
        conversation.decide("c1", allowed=True)

    thread = threading.Thread(target=answer)
    thread.start()
    for event in conversation.send("Go."):
        if isinstance(event, ApprovalNeeded):
            asked.set()
    thread.join()
    assert len(faults) == 2
    assert results(conversation)[0].content == "hi"
    with pytest.raises(UsageError):
        conversation.decide("c1", allowed=True)


def test_while_a_tool_runs(place: Place) -> None:
    conversation, engine = place.open([Said("", CALLS), Said("On."), Said("Now.")], place.box())
    events = stopping_at(conversation, conversation.send("Go."), "tool_output")
    assert ended(events) == "cancelled"
    one, two, three = results(conversation)
    assert (one.content, one.state) == ("1", "complete")
    assert two.content.startswith("begun\n[cancelled")
    assert two.content.endswith(CUT_OFF)
    assert (two.state, two.status) == ("interrupted", "error")
    assert three.content == NOT_RUN
    assert not (place.workspace / "a.txt").exists()
    check_goes_on(conversation, engine)


def test_between_two_steps(place: Place) -> None:
    conversation, engine = place.open([Said("", CALLS[:1]), Said("On."), Said("Now.")], place.box())
    events = stopping_at(conversation, conversation.send("Go."), "tool_finished")
    assert ended(events) == "cancelled"
    assert len(engine.requests) == 1
    assert shapes(events).count("step_finished") == 1
    assert branch(conversation)[-1] == ("tool", "complete", "1")
    check_goes_on(conversation, engine)
    assert [each[2] for each in branch(conversation)][-3:] == ["On.", "And now?", "Now."]


def test_in_a_later_answer(place: Place) -> None:
    script = [Said("", CALLS[:1]), Said("It is", waits=True), Said("On."), Said("Now.")]
    conversation, engine = place.open(script, place.box())
    events = stopping_at(conversation, conversation.send("Go."), "text_delta")
    assert [each.finish_reason for each in events if isinstance(each, StepFinished)] == [
        "tool_calls",
        "cancelled",
    ]
    check_goes_on(conversation, engine)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("text_delta", []),
        ("step_finished", [NOT_RUN, NOT_RUN, NOT_RUN]),  # told when its answer is stored
        ("tool_started", [NOT_RUN, NOT_RUN, NOT_RUN]),
        ("tool_finished", ["1", NOT_RUN, NOT_RUN]),
        ("tool_output", ["1", CUT_OFF, NOT_RUN]),
    ],
)
def test_a_reader_that_goes_away(place: Place, name: str, wanted: list[str]) -> None:
    conversation, engine = place.open(
        [Said("Look", CALLS), Said("On."), Said("Now."), Said("Later.")], place.box()
    )
    events = conversation.send("Go.")
    assert isinstance(events, Generator)
    next(each for each in events if each.type == name)
    events.close()
    assert [each.content for each in results(conversation)] == wanted  # at once, not with the next turn
    follow(conversation, conversation.send("Still there?"))
    assert [each.content for each in results(conversation)] == wanted
    check_prompt(engine.requests[-1].messages)


def test_a_reader_that_still_holds_on_is_ended_by_the_next_turn(place: Place) -> None:
    conversation, engine = place.open([Said("", CALLS), Said("On.")], place.box())
    events = conversation.send("Go.")
    next(each for each in events if each.type == "tool_output")
    follow(conversation, conversation.send("Next."))
    assert list(events) == []
    assert [each.content for each in results(conversation)] == ["1", CUT_OFF, NOT_RUN]
    assert [each[2] for each in branch(conversation)][-2:] == ["Next.", "On."]
    check_prompt(engine.requests[-1].messages)


def test_a_running_turn_is_not_built_over(place: Place) -> None:
    faults: list[str] = []

    def during() -> None:
        for ask in (conversation.go_on, lambda: conversation.send("More."), conversation.regenerate):
            with pytest.raises(UsageError) as fault:
                ask()
            faults.append(fault.value.message)

    conversation, _ = place.open([Said("Some words.", during=during)], place.box())
    follow(conversation, conversation.send("Go."))
    assert faults == ["A turn of this session is still running."] * 3
    assert [each[2] for each in branch(conversation)] == ["Go.", "Some words."]


def test_closing_stops_a_tool_that_runs(place: Place) -> None:
    conversation, _ = place.open([Said("", CALLS)], place.box())
    events = conversation.send("Go.")
    next(each for each in events if each.type == "tool_output")
    conversation.close()
    again, engine = place.open([Said("On."), Said("Now.")], place.box())
    assert [each.content for each in results(again)] == ["1", CUT_OFF, NOT_RUN]
    check_goes_on(again, engine)


def test_a_death_in_a_later_step_keeps_what_was_done(place: Place) -> None:
    script = [
        Said("", CALLS[:1]),
        Said("Ha", raises=EngineDied("It died.", "Again.")),
        Said("On."),
        Said("Now."),
    ]
    conversation, engine = place.open(script, place.box())
    with pytest.raises(EngineDied):
        follow(conversation, conversation.send("Go."))
    assert [each[:2] for each in branch(conversation)] == [
        ("user", "complete"),
        ("assistant", "complete"),
        ("tool", "complete"),
        ("assistant", "interrupted"),
    ]
    check_goes_on(conversation, engine)


def wait_for(stop: threading.Event) -> Tool:
    @tool
    def deaf() -> str:
        """Hear nothing."""
        stop.wait(30)
        return "late"

    return deaf


def test_a_stop_hears_no_tool_that_is_deaf(place: Place) -> None:
    release = threading.Event()
    said = Said("", (AnsweredCall("c1", "deaf", "{}"),))
    conversation, engine = place.open(
        [said, Said("On."), Said("Now.")],
        place.box(tools=[wait_for(release)]),
    )
    events = stopping_at(conversation, conversation.send("Go."), "tool_started")
    release.set()
    assert ended(events) == "cancelled"
    assert results(conversation)[0].content.endswith(CUT_OFF)
    check_goes_on(conversation, engine)
