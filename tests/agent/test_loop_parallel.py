"""Several calls in one answer: those that only read run side by side when that was asked for, others by turns."""

from __future__ import annotations

import json
import threading

import pytest

from skippy_chat.agent.tools.function import tool
from skippy_chat.agent.tools.protocol import Limits, Tool
from skippy_chat.engine.protocol import AnsweredCall
from skippy_chat.events import ToolFinished, ToolStarted
from tests.agent.loops import YES, Place, follow, results, shapes
from tests.fakes.engine import Said, call


def meeting(*, read_only: bool, number: int) -> tuple[Tool, list[int]]:
    """A tool whose calls wait for each other, and how many were there at the same moment."""
    barrier = threading.Barrier(number)
    lock = threading.Lock()
    inside = [0, 0]

    @tool(read_only=read_only)
    def meet(name: str) -> str:
        """Meet the others."""
        with lock:
            inside[0] += 1
            inside[1] = max(inside)
        try:
            barrier.wait(30.0 if number > 1 else None)
        except threading.BrokenBarrierError:
            return f"{name} was alone"
        finally:
            with lock:
                inside[0] -= 1
        return f"{name} met"

    return meet, inside


def calls(*names: str, of: str = "meet") -> tuple[AnsweredCall, ...]:
    return tuple(AnsweredCall(name, of, json.dumps({"name": name})) for name in names)


def test_reading_calls_run_side_by_side_in_their_order(place: Place) -> None:
    meet, inside = meeting(read_only=True, number=3)
    conversation, engine = place.open(
        [Said("", calls("a", "b", "c")), Said("Done.")], place.box(tools=[meet], parallel=True)
    )
    events = follow(conversation, conversation.send("Meet."))
    assert inside[1] == 3
    assert shapes(events)[2:5] == ["tool_started"] * 3
    assert [each.call for each in events if isinstance(each, ToolStarted)] == ["a", "b", "c"]
    assert sorted(each.call for each in events if isinstance(each, ToolFinished)) == ["a", "b", "c"]
    assert [each.content for each in results(conversation)] == ["a met", "b met", "c met"]
    assert [each["tool_call_id"] for each in engine.requests[1].messages[2:]] == ["a", "b", "c"]
    assert engine.requests[0].parallel_tool_calls


@pytest.mark.parametrize(("read_only", "parallel"), [(True, False), (False, True)])
def test_others_run_by_turns(place: Place, read_only: bool, parallel: bool) -> None:
    meet, inside = meeting(read_only=read_only, number=1)
    conversation, engine = place.open(
        [Said("", calls("a", "b")), Said("Done.")], place.box(tools=[meet], parallel=parallel)
    )
    events = follow(conversation, conversation.send("Meet."))
    assert inside[1] == 1
    assert shapes(events)[2:6] == ["tool_started", "tool_finished"] * 2
    assert engine.requests[0].parallel_tool_calls is parallel


def test_a_call_that_changes_something_parts_those_that_read(place: Place) -> None:
    (place.workspace / "a.txt").write_text("old")
    read, write = call("r", "read_file", path="a.txt"), call("w", "write_file", path="a.txt", content="new")
    again = AnsweredCall("r2", "read_file", read.arguments)
    conversation, _ = place.open([Said("", (read, write, again)), Said("Done.")], place.box(parallel=True))
    follow(conversation, conversation.send("Go."))
    assert "old" in results(conversation)[0].content
    assert "new" in results(conversation)[2].content


def test_a_call_that_is_asked_about_waits_its_turn(place: Place) -> None:
    (place.workspace / "a.txt").write_text("old")
    read, run = call("r", "calculator", expression="1"), call("c", "run_command", command="echo hi")
    again = AnsweredCall("r2", "calculator", read.arguments)
    conversation, _ = place.open(
        [Said("", (read, again, run)), Said("Done.")], place.box(approve="auto-read", parallel=True)
    )
    events = follow(conversation, conversation.send("Go."), YES)
    names = shapes(events)
    assert names[2:4] == ["tool_started"] * 2
    assert names.index("approval_needed") > max(
        n for n, each in enumerate(names[:6]) if each == "tool_finished"
    )
    assert [each.content for each in results(conversation)] == ["1", "1", "hi"]


def test_unusable_calls_between_good_ones_have_their_place(place: Place) -> None:
    good = [call(f"g{n}", "calculator", expression=str(n)) for n in range(3)]
    bad = AnsweredCall("x", "nothing", "{}")
    conversation, _ = place.open(
        [Said("", (good[0], bad, good[1], good[2])), Said("Done.")], place.box(parallel=True)
    )
    follow(conversation, conversation.send("Go."))
    assert [each.tool_call_id for each in results(conversation)] == ["g0", "x", "g1", "g2"]
    assert [each.status for each in results(conversation)] == ["ok", "error", "ok", "ok"]


def test_a_stop_reaches_all_that_run(place: Place) -> None:
    @tool(read_only=True)
    def wait(name: str) -> str:
        """Wait long."""
        threading.Event().wait(60)
        return name

    conversation, _ = place.open(
        [Said("", calls("a", "b", "c", of="wait"))],
        place.box(tools=[wait], parallel=True, bounds=Limits(function_seconds=60)),
    )
    events = []
    for event in conversation.send("Go."):
        events.append(event)
        if shapes(events).count("tool_started") == 3 and isinstance(event, ToolStarted):
            conversation.cancel()
    assert [each.state for each in results(conversation)] == ["interrupted"] * 3
