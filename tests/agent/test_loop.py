"""The agent loop with real tools: order, what is stored, what the model is asked, approvals, limits, faults."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skippy_chat.agent.approvals.values import Rule
from skippy_chat.agent.protocol import TurnOptions
from skippy_chat.agent.toolbox import LoopLimits
from skippy_chat.agent.tools.function import tool
from skippy_chat.engine.protocol import AnsweredCall, StepRequest
from skippy_chat.errors import ContextFull, TemplateRefused, UndoRefused, UsageError
from skippy_chat.events import (
    ApprovalNeeded,
    Notice,
    StepFinished,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
)
from tests.agent.loops import YES, Place, branch, follow, results, shapes
from tests.fakes.engine import Said, call

CALL = call("c1", "calculator", expression="6*7")
STEP = ["step_finished", "tool_started", "tool_finished"]


def roles(request: StepRequest) -> list[str]:
    return [str(each["role"]) for each in request.messages]


def test_a_call_is_run_and_its_result_goes_back(place: Place) -> None:
    conversation, engine = place.open([Said("I'll see.", (CALL,)), Said("It is 42.")], place.box())
    events = follow(conversation, conversation.send("What is six times seven?"))

    assert shapes(events) == ["turn_started", *STEP, "step_finished", "turn_finished"]
    assert [each.seq for each in events] == list(range(1, len(events) + 1))
    assert len({(each.turn, each.session) for each in events if each.turn}) == 1
    finished = next(each for each in events if isinstance(each, ToolFinished))
    assert (finished.call, finished.name, finished.status, finished.result) == (
        "c1",
        "calculator",
        "ok",
        "42",
    )
    stored = conversation.messages()
    assert [(each.role, each.content) for each in stored] == [
        ("user", "What is six times seven?"),
        ("assistant", "I'll see."),
        ("tool", "42"),
        ("assistant", "It is 42."),
    ]
    assert stored[1].tool_calls[0].arguments == CALL.arguments
    assert (stored[2].tool_call_id, stored[2].status, stored[2].state) == ("c1", "ok", "complete")
    assert finished.message == stored[2].id
    assert {each.turn for each in stored[1:]} == {events[0].turn}
    last = events[-1]
    assert isinstance(last, TurnFinished)
    assert (last.message, last.finish_reason) == (stored[3].id, "stop")

    first, second = engine.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert second.messages[1]["tool_calls"][0]["function"] == {
        "name": "calculator",
        "arguments": CALL.arguments,
    }
    assert second.messages[2] == {"role": "tool", "content": "42", "tool_call_id": "c1"}
    assert second.tools == first.tools
    assert [each["function"]["name"] for each in first.tools] == sorted(
        each["function"]["name"] for each in first.tools
    )
    assert list(second.answers) == [1]  # the first answer's own ids


def test_every_step_has_its_ledger(place: Place) -> None:
    conversation, engine = place.open([Said("a", (CALL,)), Said("b")], place.box())
    follow(conversation, conversation.send("Go."))
    history = conversation._history
    for message, request in zip(conversation.messages()[1::2], engine.requests, strict=True):
        ledger = history.ledger(message.id, "fake-identity")
        assert ledger is not None
        assert bytes(ledger.ids[: ledger.prompt_tokens]) == json.dumps(request.messages).encode()


def test_a_step_is_told_to_be_over_when_its_answer_is_stored(place: Place) -> None:
    conversation, _ = place.open([Said("a", (CALL,)), Said("b")], place.box())
    found = []
    for event in conversation.send("Go."):
        if isinstance(event, StepFinished):
            last = conversation.messages()[-1]
            found.append((last.content, last.state, conversation._history.ledger(last.id, "fake-identity")))
    assert [each[:2] for each in found] == [("a", "complete"), ("b", "complete")]
    assert all(ledger is not None for _, _, ledger in found)


def test_the_answer_is_durable_before_its_tool_runs(place: Place) -> None:
    found: list[list[tuple[str, str, str]]] = []

    @tool(read_only=True)
    def look() -> str:
        """Look."""
        found.append(branch(conversation))
        return "seen"

    said = Said("I look.", (AnsweredCall("c1", "look", "{}"),))
    conversation, _ = place.open([said, Said("Done.")], place.box(tools=[look]))
    follow(conversation, conversation.send("Look."))
    assert found == [
        [
            ("user", "complete", "Look."),
            ("assistant", "complete", "I look."),
            ("tool", "interrupted", "This call was interrupted while it ran; it may have had effects."),
        ]
    ]


def test_without_a_toolbox_a_turn_is_one_step(place: Place) -> None:
    conversation, engine = place.open([Said("Hi."), Said("Again.")])
    assert shapes(follow(conversation, conversation.send("Hello."))) == [
        "turn_started",
        "step_finished",
        "turn_finished",
    ]
    assert engine.requests[0].tools == []
    assert conversation.tools == ()


def test_a_session_goes_on_without_the_tools_it_had(place: Place) -> None:
    conversation, _ = place.open([Said("", (CALL,)), Said("42.")], place.box())
    follow(conversation, conversation.send("Count."))
    conversation.close()
    again, engine = place.open([Said("Sure.")])
    follow(again, again.send("Thanks."))
    assert roles(engine.requests[0]) == ["user", "assistant", "tool", "assistant", "user"]
    assert engine.requests[0].tools == []


def test_a_call_of_tools_that_are_not_offered_ends_the_turn(place: Place) -> None:
    conversation, _ = place.open([Said("", (CALL,))])
    follow(conversation, conversation.send("Count."))
    assert [each.content for each in results(conversation)] == [
        "This call was not run: no tools are offered."
    ]


def test_approval_allows_once(place: Place) -> None:
    said = Said("", (call("c1", "write_file", path="a.txt", content="hello\n"),))
    conversation, _ = place.open([said, Said("Written.")], place.box(approve="ask"))
    events = follow(conversation, conversation.send("Write."), YES)
    assert shapes(events) == [
        "turn_started",
        "step_finished",
        "approval_needed",
        "tool_started",
        "tool_finished",
        "step_finished",
        "turn_finished",
    ]
    asked = next(each for each in events if isinstance(each, ApprovalNeeded))
    assert (asked.call, asked.name, asked.scopes) == ("c1", "write_file", ("once", "session", "always"))
    assert "+hello" in asked.diff
    assert asked.rules == ("write_file a.txt",)
    assert (place.workspace / "a.txt").read_text() == "hello\n"
    (result,) = results(conversation)
    assert "+hello" in result.detail
    finished = next(each for each in events if isinstance(each, ToolFinished))
    assert finished.detail == result.detail


def test_a_denied_call_tells_the_model_why(place: Place) -> None:
    said = Said("", (call("c1", "write_file", path="a.txt", content="x"), CALL))
    conversation, engine = place.open([said, Said("All right.")], place.box(approve="ask"))
    events = follow(conversation, conversation.send("Write."), (False, "once", "Not there."))
    assert shapes(events)[2:5] == ["approval_needed", "tool_finished", "tool_started"]
    assert [(each.status, each.content) for each in results(conversation)] == [
        ("denied", "The person said no to this call: Not there."),
        ("ok", "42"),
    ]
    assert not (place.workspace / "a.txt").exists()
    assert "Not there." in engine.requests[1].messages[2]["content"]


def test_a_path_that_leads_elsewhere_by_the_time_of_the_answer_is_refused(place: Place) -> None:
    for name in ("asked", "other"):
        (place.workspace / name).mkdir()
    said = Said("", (call("c1", "write_file", path="asked/a.txt", content="x"),))
    conversation, _ = place.open([said, Said("Well.")], place.box(approve="ask"))
    for event in conversation.send("Write."):
        if isinstance(event, ApprovalNeeded):
            (place.workspace / "asked").rename(place.workspace / "gone")
            (place.workspace / "asked").symlink_to("other")
            conversation.decide(event.call, allowed=True)
    assert results(conversation)[0].status == "error"
    assert not (place.workspace / "other" / "a.txt").exists()


def test_an_answer_for_the_session_is_remembered(place: Place) -> None:
    def said(number: int) -> Said:
        return Said("", (call(f"c{number}", "write_file", path="a.txt", content=f"{number}"),))

    conversation, _ = place.open([said(1), said(2), Said("Done.")], place.box(approve="ask"))
    events = follow(conversation, conversation.send("Write."), (True, "session", ""))
    assert shapes(events).count("approval_needed") == 1
    assert (place.workspace / "a.txt").read_text() == "2"


def test_always_is_kept_for_other_sessions(place: Place) -> None:
    said = Said("", (call("c1", "run_command", command="echo hi"),))
    conversation, _ = place.open([said, Said("Done.")], place.box(approve="ask"))
    follow(conversation, conversation.send("Run."), (True, "always", ""))
    assert "run_command" in (place.root / "approvals.toml").read_text()


def test_always_that_cannot_be_written_is_told_and_counts_for_now(place: Place) -> None:
    (place.root / "approvals.toml").mkdir()
    said = Said("", (call("c1", "run_command", command="echo hi"),))
    conversation, _ = place.open([said, said, Said("Done.")], place.box(approve="ask"))
    events = follow(conversation, conversation.send("Run."), (True, "always", ""))
    assert [each.level for each in events if isinstance(each, Notice)] == ["warning"]
    assert shapes(events).count("tool_started") == 2


def test_nobody_to_ask_means_no(place: Place) -> None:
    said = Said("", (call("c1", "run_command", command="echo hi"),))
    box = place.box(approve="auto-read", can_ask=False)
    conversation, _ = place.open([said, Said("Well.")], box)
    events = follow(conversation, conversation.send("Run."))
    assert "approval_needed" not in shapes(events)
    (result,) = results(conversation)
    assert result.status == "denied"
    assert "nobody can be asked" in result.content


def test_a_rule_denies(place: Place) -> None:
    rules = [Rule("run_command", "rm *", "deny")]
    said = Said("", (call("c1", "run_command", command="rm x"),))
    conversation, _ = place.open([said, Said("Well.")], place.box(approve="all", rules=rules))
    events = follow(conversation, conversation.send("Run."))
    assert "tool_started" not in shapes(events)
    assert results(conversation)[0].status == "denied"


def test_live_output_comes_before_the_result(place: Place) -> None:
    said = Said("", (call("c1", "run_command", command="echo one; echo two >&2"),))
    conversation, _ = place.open([said, Said("Done.")], place.box())
    events = follow(conversation, conversation.send("Run."))
    names = shapes(events)
    assert names.index("tool_started") < names.index("tool_output") < names.index("tool_finished")
    told = "".join(each.text for each in events if isinstance(each, ToolOutput))
    assert sorted(told.split()) == ["one", "two"]


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("no_such_tool", '{"a": 1}', 'There is no tool "no_such_tool"'),
        ("calculator", '{"expr": 1}', '"expression"'),
        ("calculator", "{", "not valid JSON"),
        ("calculator", "", "not valid JSON"),
        ("calculator", '"6*7"', "not a JSON object"),
        ("calculator", '{"expression": NaN}', "no JSON number"),
    ],
)
def test_a_call_that_does_not_fit_is_never_run(place: Place, name: str, arguments: str, wanted: str) -> None:
    script = [Said("", (AnsweredCall("c1", name, arguments),)), Said("Sorry.")]
    conversation, engine = place.open(script, place.box())
    events = follow(conversation, conversation.send("Go."))
    assert "tool_started" not in shapes(events)
    (result,) = results(conversation)
    assert result.status == "error"
    assert wanted in result.content
    assert conversation.messages()[1].tool_calls[0].arguments == arguments  # kept as it was written
    sent = engine.requests[1].messages[1]["tool_calls"][0]["function"]["arguments"]
    assert isinstance(json.loads(sent), dict)


def test_an_answer_whose_call_cannot_be_read_goes_back_with_the_schema(place: Place) -> None:
    raw = '<tool_call>{"name": "calculator", "arguments": {"expression": '
    script = [Said(raw, malformed="the call ends in the middle"), Said("Sorry.")]
    conversation, engine = place.open(script, place.box())
    events = follow(conversation, conversation.send("Go."))
    assert shapes(events) == [
        "turn_started",
        "step_finished",
        "tool_finished",
        "step_finished",
        "turn_finished",
    ]
    stored = conversation.messages()
    assert stored[1].content == raw
    assert stored[1].tool_calls == ()
    assert stored[2].role == "tool"
    assert stored[2].status == "error"
    for wanted in ("the call ends in the middle", "nothing was run", '"expression"'):
        assert wanted in stored[2].content
    assert "edit_file" not in stored[2].content
    # No call stands before it, so the template is told as by the user.
    assert roles(engine.requests[1]) == ["user", "assistant", "user"]
    assert "tool_call_id" not in engine.requests[1].messages[2]


def test_no_call_of_an_answer_that_cannot_be_read_is_run(place: Place) -> None:
    whole, half = call("c1", "calculator", expression="1"), AnsweredCall("c2", "calculator", '{"expr')
    raw = "<tool_call>whole</tool_call><tool_call>half"
    script = [Said(raw, (whole,), malformed="it ends too soon", begun=(half,)), Said("Sorry.")]
    conversation, engine = place.open(script, place.box())
    events = follow(conversation, conversation.send("Go."))
    assert "tool_started" not in shapes(events)
    stored = conversation.messages()
    assert (stored[1].content, stored[1].tool_calls) == (raw, ())
    told = [each for each in events if isinstance(each, ToolFinished)]
    assert [(each.call, each.name, each.status) for each in told] == [
        ("c1", "calculator", "error"),
        ("c2", "calculator", "error"),
    ]
    assert {each.message for each in told} == {stored[2].id}
    assert roles(engine.requests[1]) == ["user", "assistant", "user"]


def test_a_call_that_stays_denied_ends_the_turn_where_nobody_is_asked(place: Place) -> None:
    write = Said("", (call("c1", "write_file", path="a.txt", content="x"),))
    other = Said("", (call("c2", "write_file", path="b.txt", content="x"),))
    script = [write, other, write, write, Said("At last.")]
    conversation, engine = place.open(script, place.box(approve="auto-read", can_ask=False))
    events = follow(conversation, conversation.send("Go."))
    assert len(engine.requests) == 4
    assert "3 times although it was denied" in next(each.text for each in events if isinstance(each, Notice))
    assert isinstance(events[-1], TurnFinished)
    assert events[-1].finish_reason == "tool_calls"


def test_a_denied_call_that_one_answer_holds_again_and_again_counts_once(place: Place) -> None:
    many = tuple(call(f"c{number}", "write_file", path="a.txt", content="x") for number in range(5))
    script = [Said("", many), Said("", many), Said("I see.")]
    conversation, engine = place.open(script, place.box(approve="auto-read", can_ask=False, parallel=True))
    events = follow(conversation, conversation.send("Go."))
    assert len(engine.requests) == 3
    assert isinstance(events[-1], TurnFinished)
    assert events[-1].finish_reason == "stop"


def test_a_person_may_say_no_as_often_as_they_like(place: Place) -> None:
    write = Said("", (call("c1", "write_file", path="a.txt", content="x"),))
    conversation, engine = place.open([write] * 4 + [Said("At last.")], place.box(approve="ask"))
    follow(conversation, conversation.send("Go."), *[(False, "once", "")] * 4)
    assert len(engine.requests) == 5


def test_calls_that_cannot_be_used_three_times_in_a_row_end_the_turn(place: Place) -> None:
    bad = Said("<tool_call>", malformed="nothing follows")
    unknown = Said("", (AnsweredCall("c1", "nothing", "{}"),))
    conversation, engine = place.open([bad, unknown, bad, Said("At last.")], place.box())
    events = follow(conversation, conversation.send("Go."))
    assert len(engine.requests) == 3
    assert "3 times in a row" in next(each.text for each in events if isinstance(each, Notice))
    assert isinstance(events[-1], TurnFinished)
    assert events[-1].finish_reason == "tool_calls"
    follow(conversation, conversation.go_on())
    assert branch(conversation)[-1] == ("assistant", "complete", "At last.")


def test_a_usable_call_in_between_starts_the_count_anew(place: Place) -> None:
    bad, good = Said("<tool_call>", malformed="nothing follows"), Said("", (CALL,))
    conversation, _ = place.open([bad, bad, good, bad, bad, Said("Done.")], place.box())
    events = follow(conversation, conversation.send("Go."))
    assert not [each for each in events if isinstance(each, Notice)]


def test_the_step_limit_ends_the_turn_and_it_can_go_on(place: Place) -> None:
    script = [*[Said("", (call(f"c{n}", "calculator", expression=f"{n}"),)) for n in range(5)], Said("End.")]
    conversation, engine = place.open(script, place.box(limits=LoopLimits(steps=2)))
    events = follow(conversation, conversation.send("Go."))
    assert len(engine.requests) == 2
    (notice,) = [each for each in events if isinstance(each, Notice)]
    assert "2 steps" in notice.text
    assert "max_steps" in notice.hint
    assert isinstance(events[-1], TurnFinished)
    assert events[-1].finish_reason == "tool_calls"
    assert results(conversation)[-1].content == "1"
    again = follow(conversation, conversation.go_on())
    assert len(engine.requests) == 4
    assert again[0].turn == events[0].turn
    follow(conversation, conversation.go_on())
    assert branch(conversation)[-1] == ("assistant", "complete", "End.")
    assert len([each for each in conversation.messages() if each.role == "user"]) == 1


def test_the_token_limit_bounds_answers_and_ends_the_turn(place: Place) -> None:
    script = [Said("ten chars!", (CALL,)), Said("some words", (CALL,)), Said("End.")]
    conversation, engine = place.open(script, place.box(limits=LoopLimits(tokens=15)))
    events = follow(conversation, conversation.send("Go."))
    assert [each.max_tokens for each in engine.requests] == [15, 5]
    assert "15 generated tokens" in next(each.text for each in events if isinstance(each, Notice))
    assert results(conversation)[-1].status == "ok"


def test_an_answer_cut_by_the_token_limit_says_so(place: Place) -> None:
    script = [Said("ten chars!", (CALL,)), Said("five.", finish_reason="length")]
    conversation, _ = place.open(script, place.box(limits=LoopLimits(tokens=15)))
    events = follow(conversation, conversation.send("Go."))
    assert shapes(events)[-3:] == ["step_finished", "notice", "turn_finished"]
    assert isinstance(events[-1], TurnFinished)
    assert events[-1].finish_reason == "length"


def test_calls_of_an_answer_that_was_cut_short_are_not_run(place: Place) -> None:
    conversation, _ = place.open([Said("", (CALL,), finish_reason="length"), Said("Then.")], place.box())
    events = follow(conversation, conversation.send("Go."))
    assert "tool_started" not in shapes(events)
    assert [each.content for each in results(conversation)] == [
        "This call was not run: the answer was cut short."
    ]
    follow(conversation, conversation.go_on())
    assert branch(conversation)[-1] == ("assistant", "complete", "Then.")


def test_results_that_no_longer_fit_end_the_turn_cleanly(place: Place) -> None:
    script = [Said("", (CALL,)), Said(raises=ContextFull("Full by 12 tokens.", "Use --ctx.")), Said("Fits.")]
    conversation, _ = place.open(script, place.box())
    events = follow(conversation, conversation.send("Go."))
    assert shapes(events)[-2:] == ["notice", "turn_finished"]
    assert isinstance(events[-1], TurnFinished)
    assert events[-1].finish_reason == "context_full"
    assert [each[0] for each in branch(conversation)] == ["user", "assistant", "tool"]
    assert conversation.messages()[0].state == "complete"
    follow(conversation, conversation.go_on())
    assert branch(conversation)[-1][2] == "Fits."


def test_the_same_call_with_the_same_result_three_times_asks(place: Place) -> None:
    said = [Said("", (call(f"c{n}", "calculator", expression="1+1"),)) for n in range(5)]
    conversation, _ = place.open([*said, Said("Enough.")], place.box())
    events = follow(conversation, conversation.send("Go."), (False, "once", "Stop that."), YES)
    assert shapes(events).count("approval_needed") == 2
    assert [each.status for each in results(conversation)] == ["ok", "ok", "ok", "denied", "ok"]


def test_the_same_call_three_times_is_denied_where_nobody_can_be_asked(place: Place) -> None:
    said = [Said("", (call(f"c{n}", "calculator", expression="1+1"),)) for n in range(5)]
    conversation, _ = place.open([*said, Said("Enough.")], place.box(can_ask=False))
    follow(conversation, conversation.send("Go."))
    assert [each.status for each in results(conversation)] == ["ok", "ok", "ok", "denied", "denied"]


def test_a_circle_is_noticed_across_a_restart(place: Place) -> None:
    def said(number: int) -> Said:
        return Said("", (call(f"c{number}", "calculator", expression="1+1"),))

    conversation, _ = place.open([said(1), said(2), said(3)], place.box(limits=LoopLimits(steps=3)))
    follow(conversation, conversation.send("Go."))
    conversation.close()
    again, _ = place.open([said(4), Said("Enough.")], place.box(can_ask=False))
    follow(again, again.go_on())
    assert [each.status for each in results(again)] == ["ok", "ok", "ok", "denied"]


def test_a_copy_that_ends_in_calls_is_mended_when_it_is_opened(place: Place) -> None:
    conversation, _ = place.open([Said("", (CALL,)), Said("42.")], place.box())
    follow(conversation, conversation.send("Count."))
    asked = conversation.messages()[1]
    copy = conversation._history.fork(conversation.session.id, "copy", at=asked.id)
    conversation.close()
    again, engine = place.open([Said("Then.")], place.box())
    assert again.session.id == copy.id
    assert [each.content for each in results(again)] == ["This call was interrupted before it ran."]
    follow(again, again.go_on())
    assert roles(engine.requests[0]) == ["user", "assistant", "tool"]


def test_long_output_reaches_the_model_cut_and_is_kept_whole(place: Place) -> None:
    said = Said("", (call("c1", "run_command", command="seq 1 400000"),))
    conversation, _ = place.open([said, Said("Long.")], place.box())
    events = follow(conversation, conversation.send("Run."))
    finished = next(each for each in events if isinstance(each, ToolFinished))
    assert len(results(conversation)[0].content.encode()) < 42 * 1024
    assert "left out" in finished.result
    assert Path(finished.spilled).stat().st_size > 2_000_000


def test_a_required_call_is_required_of_the_first_step_only(place: Place) -> None:
    conversation, engine = place.open([Said("", (CALL,)), Said("42."), Said("Hi.")], place.box())
    follow(conversation, conversation.send("Go.", TurnOptions(tool_choice="required")))
    follow(conversation, conversation.send("Hello."))
    assert [each.tool_choice for each in engine.requests] == ["required", "auto", "auto"]


def test_a_session_that_requires_calls_requires_one_a_turn(place: Place) -> None:
    conversation, engine = place.open([Said("", (CALL,)), Said("42.")], place.box(tool_choice="required"))
    follow(conversation, conversation.send("Go."))
    assert [each.tool_choice for each in engine.requests] == ["required", "auto"]


def test_a_json_schema_turns_tools_off_but_keeps_the_prompt(place: Place) -> None:
    schema = {"type": "object"}
    conversation, engine = place.open([Said("{}"), Said("Hi.")], place.box())
    follow(conversation, conversation.send("Go.", TurnOptions(json_schema=schema, max_tokens=7)))
    follow(conversation, conversation.send("Hello."))
    first, second = engine.requests
    assert (first.tool_choice, first.json_schema, first.max_tokens) == ("none", schema, 7)
    assert (second.tool_choice, second.json_schema, second.max_tokens) == ("auto", None, 64)
    assert first.tools == second.tools


def test_undo_puts_back_what_the_newest_turn_wrote(place: Place) -> None:
    (place.workspace / "a.txt").write_text("old\n")
    script = [
        Said("", (call("c1", "write_file", path="a.txt", content="one\n"),)),
        Said("Done."),
        Said("", (call("c2", "write_file", path="b.txt", content="two\n"),)),
        Said("Done."),
        Said("Hi."),
    ]
    conversation, _ = place.open(script, place.box())
    for text in ("Write a.", "Write b.", "Hello."):
        follow(conversation, conversation.send(text))
    conversation.close()
    again, _ = place.open([], place.box())  # which turn wrote is known after a restart
    assert again.undo().removed == ("b.txt",)
    assert again.undo().restored == ("a.txt",)
    assert (place.workspace / "a.txt").read_text() == "old\n"
    with pytest.raises(UndoRefused):
        again.undo()


def test_a_turn_that_goes_on_is_undone_as_a_whole(place: Place) -> None:
    writes = [Said("", (call(f"c{n}", "write_file", path=f"{n}.txt", content="x"),)) for n in range(2)]
    conversation, _ = place.open([*writes, Said("Done.")], place.box(limits=LoopLimits(steps=1)))
    follow(conversation, conversation.send("Write."))
    follow(conversation, conversation.go_on())
    assert conversation.undo().removed == ("0.txt", "1.txt")


def test_a_turn_that_goes_on_after_an_undo_can_be_undone_again(place: Place) -> None:
    writes = [Said("", (call(f"c{n}", "write_file", path=f"{n}.txt", content="x"),)) for n in range(2)]
    conversation, _ = place.open([*writes, Said("Done.")], place.box(limits=LoopLimits(steps=1)))
    follow(conversation, conversation.send("Write."))
    assert conversation.undo().removed == ("0.txt",)
    follow(conversation, conversation.go_on())
    assert conversation.undo().removed == ("1.txt",)


def test_a_turn_is_not_undone_while_it_runs(place: Place) -> None:
    writes = [Said("", (call(f"c{n}", "write_file", path=f"{n}.txt", content="x"),)) for n in range(2)]
    conversation, _ = place.open([*writes, Said("Done.")], place.box())
    events = conversation.send("Write.")
    next(each for each in events if isinstance(each, ToolFinished))
    with pytest.raises(UndoRefused):
        conversation.undo()
    follow(conversation, events)
    assert conversation.undo().removed == ("0.txt", "1.txt")


def test_nothing_to_undo_without_tools(place: Place) -> None:
    conversation, _ = place.open([Said("Hi.")])
    follow(conversation, conversation.send("Hello."))
    with pytest.raises(UndoRefused):
        conversation.undo()


def test_regenerate_answers_the_last_question_again_beside_its_calls(place: Place) -> None:
    script = [Said("", (CALL,)), Said("42."), Said("", (CALL,)), Said("Forty-two.")]
    conversation, engine = place.open(script, place.box())
    follow(conversation, conversation.send("Count."))
    first = conversation.messages()
    follow(conversation, conversation.regenerate())
    second = conversation.messages()
    assert first[0] == second[0]
    assert [each.id for each in conversation.siblings(second[1].id)] == [first[1].id, second[1].id]
    assert engine.requests[2].messages == engine.requests[0].messages
    conversation.switch(first[1].id)
    assert conversation.messages() == first


def test_an_edit_of_a_question_after_calls_keeps_what_stands_before(place: Place) -> None:
    script = [Said("", (CALL,)), Said("42."), Said("Bye."), Said("Hm.")]
    conversation, engine = place.open(script, place.box())
    follow(conversation, conversation.send("Count."))
    follow(conversation, conversation.send("Thanks."))
    follow(conversation, conversation.edit(conversation.messages()[4].id, "Are you sure?"))
    assert roles(engine.requests[3]) == ["user", "assistant", "tool", "assistant", "user"]
    assert engine.requests[3].messages[:4] == engine.requests[2].messages[:4]


def test_a_finished_turn_does_not_go_on(place: Place) -> None:
    conversation, _ = place.open([Said("Hi.")], place.box())
    with pytest.raises(UsageError):
        conversation.go_on()
    follow(conversation, conversation.send("Hello."))
    with pytest.raises(UsageError):
        conversation.go_on()


def test_reasoning_is_kept_apart(place: Place) -> None:
    script = [Said("", (CALL,), reasoning="I should count"), Said("42.")]
    conversation, engine = place.open(script, place.box())
    follow(conversation, conversation.send("Go."))
    assert conversation.messages()[1].reasoning == "I should count"
    assert engine.requests[1].messages[1]["reasoning_content"] == "I should count"


def test_a_tool_that_raises_is_a_result(place: Place) -> None:
    @tool
    def bad() -> str:
        """Fail."""
        raise RuntimeError("no luck")

    script = [Said("", (AnsweredCall("c1", "bad", "{}"),)), Said("Well.")]
    conversation, _ = place.open(script, place.box(tools=[bad]))
    events = follow(conversation, conversation.send("Go."))
    assert [(each.status, "no luck" in each.content) for each in results(conversation)] == [("error", True)]
    assert [each.name for each in events if isinstance(each, ToolStarted)] == ["bad"]


def test_what_a_template_refuses_is_asked_in_another_form(place: Place) -> None:
    """Several calls at once are taken apart, and past answers that need no change keep their own ids."""
    script = iter(
        [
            Said("One.", (CALL,)),
            Said("Both.", (CALL, call("c2", "calculator", expression="2"))),
            Said("Done."),
        ]
    )

    def said(request: StepRequest) -> Said:
        if any(len(each.get("tool_calls", ())) > 1 for each in request.messages):
            raise TemplateRefused("The chat template refused the conversation: one call at a time.")
        return next(script)

    conversation, engine = place.open(said, place.box())
    events = follow(conversation, conversation.send("Go."))
    assert "notice" not in shapes(events)
    assert [each[2] for each in branch(conversation)] == ["Go.", "One.", "42", "Both.", "42", "2", "Done."]
    assert len(engine.requests) == 4
    assert roles(engine.requests[3]) == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    assert engine.requests[3].messages[:3] == engine.requests[2].messages[:3]
    assert list(engine.requests[2].answers) == [1, 3]
    assert list(engine.requests[3].answers) == [1]


def test_a_conversation_that_no_form_helps_is_refused(place: Place) -> None:
    def said(_request: StepRequest) -> Said:
        raise TemplateRefused("The chat template refused the conversation: no.")

    conversation, engine = place.open(said, place.box())
    with pytest.raises(TemplateRefused):
        follow(conversation, conversation.send("Go."))
    assert len(engine.requests) == 1  # no form says it otherwise


def test_the_list_of_tools_says_what_really_becomes_of_calls(tmp_path: Path) -> None:
    asking = {each.name: each.approval for each in Place(tmp_path / "a").box(approve="ask").infos()}
    alone = {
        each.name: each.approval for each in Place(tmp_path / "b").box(approve="ask", can_ask=False).infos()
    }
    assert (asking["calculator"], asking["run_command"]) == ("allow", "ask")
    assert (alone["calculator"], alone["run_command"]) == ("allow", "deny")
