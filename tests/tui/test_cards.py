"""Calls of tools on the screen: as they are written, run and end, and as they are stored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skippy_chat.chat.messages import ToolCall
from skippy_chat.events import ToolFinished
from skippy_chat.tui.flow import Text
from skippy_chat.tui.message import MessageView
from skippy_chat.tui.transcript import LIMIT
from tests.fakes.conversation import Call, FakeConversation, Step, Turn
from tests.tui.asking import DIFF, cards, turn_of
from tests.tui.screen import app_on
from tests.tui.test_history import CONTROL, screen_text

pytestmark = pytest.mark.timeout(180)

HOSTILE = "x\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b31my\x85\u202e [bold]z[/bold]"
LISTING = "\n".join(f"file{number}" for number in range(20))
RUNNING = Call("c1", "run_command", ('{"command": "make"}',), output=("one\ntw", "o\n"), endless=True)


async def test_calls_and_results_are_told_in_a_line_each_in_the_order_of_the_history() -> None:
    calls = (
        Call("c1", "calculator", ('{"expression"', ': "6 * 7"}'), result="42"),
        Call("c2", "read_file", ('{"path": "a.txt", "first_line": 3}',), result=LISTING),
        Call(
            "c3", "read_file", ("no json",), status="error", usable=False, result="It was not run.\nWhy: x."
        ),
    )
    turn = Turn(("Done.",), steps=(Step(calls, pieces=("Let me see.",)), Step((replace(calls[0]),))))
    conversation = FakeConversation([turn])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await desk.ready()
        told = [
            "go",
            "Let me see.",
            "calculator 6 * 7\n42",
            "read_file path=a.txt first_line=3 · ▸ 20 lines, 129 B",
            "read_file no json · failed\nIt was not run.\nWhy: x.",
            "",
            "calculator 6 * 7\n42",
            "Done.",
        ]
        assert desk.texts == told
        stored = [message.id for message in conversation.messages()]
        assert [view.message_id for view in desk.transcript.views] == stored
        assert "reused 3,303 of 3,315 tokens" in desk.status
    async with app_on(conversation) as desk:
        assert desk.texts == told
        assert not desk.transcript.views[5].display  # nothing was said there


async def test_a_running_tool_shows_its_last_lines_and_how_it_is_stopped() -> None:
    many = tuple(f"line {number}\n" for number in range(300))
    conversation = FakeConversation([turn_of(replace(RUNNING, output=many)), Turn(("Second.",))])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await desk.wait_until(lambda: "line 299" in desk.texts[-1])
        assert desk.texts[-1] == "run_command make · running · 300 lines\n" + "\n".join(
            f"line {number}" for number in range(294, 300)
        )
        desk.clock[0] += 2
        await desk.wait_until(lambda: "running run_command 2 s · Esc stops" in desk.status)
        await desk.say("next")
        assert "queued: next" in desk.queue
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: "held: next" in desk.queue)
        assert desk.texts[-1] == (
            "run_command make · failed\nThis call was interrupted while it ran; it may have had effects.\n"
            "Stopped; what was done is kept. /continue goes on."
        )
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: desk.texts[-1] == "Second.")


async def test_details_unfold_for_one_card_and_for_the_whole_turn() -> None:
    listing = Call("c1", "read_file", ('{"path": "a.txt"}',), result=LISTING)
    conversation = FakeConversation([turn_of(listing, replace(listing, id="c2"))])
    folded = "read_file a.txt · ▸ 20 lines, 129 B"
    unfolded = f"read_file · ▾ 20 lines, 129 B\na.txt\ngave:\n{LISTING}"
    async with app_on(conversation) as desk:
        await desk.say("go")
        await desk.ready()
        await desk.pilot.press("shift+tab", "up", "r")
        assert desk.texts[-3:] == [folded, unfolded, "Done."]
        await desk.pilot.press("escape", "ctrl+o")
        assert desk.texts[-3:] == [unfolded, unfolded, "Done."]
        await desk.pilot.press("ctrl+o")
        assert desk.texts[-3:] == [folded, folded, "Done."]


async def test_a_running_call_can_be_unfolded_too() -> None:
    async with app_on(FakeConversation([turn_of(RUNNING)])) as desk:
        await desk.say("go")
        await desk.wait_until(lambda: "two" in desk.texts[-1])
        await desk.pilot.press("ctrl+o")
        assert desk.texts[-1] == "run_command · running\nmake\none\ntwo"
        await desk.pilot.press("escape")
        await desk.ready()


async def test_a_write_shows_its_diff_in_the_colours_of_the_theme() -> None:
    call = Call("c1", "edit_file", ('{"path": "a.txt"}',), result="Changed.", detail=DIFF)
    async with app_on(FakeConversation([turn_of(call)])) as desk:
        await desk.say("go")
        await desk.ready()
        card = cards(desk)[0]
        assert card.plain == f"edit_file a.txt · +1 -1\n{DIFF.strip()}"
        styles = {
            each.line.plain: str(each.line.content.spans[0].style)
            for each in card._prose._lines[1:]
            if isinstance(each.line, Text) and each.line.content.spans
        }
        assert (styles["+new"], styles["-old"]) == ("$text-success", "$text-error")
        assert styles["+++ a.txt"] == "dim"


async def test_a_long_diff_is_cut_until_it_is_asked_for() -> None:
    diff = "--- a\n+++ a\n" + "".join(f"+line {number}\n" for number in range(40))
    async with app_on(FakeConversation([turn_of(Call("c1", "write_file", detail=diff))])) as desk:
        await desk.say("go")
        await desk.ready()
        assert "line 9\n▸ 30 more lines · r shows all" in cards(desk)[0].plain
        await desk.pilot.press("ctrl+o")
        assert "+line 39" in cards(desk)[0].plain


async def test_of_a_long_failure_the_end_shows() -> None:
    call = Call("c1", "run_command", status="error", result="one\ntwo\nthree\nfour\n[exit status 2]")
    async with app_on(FakeConversation([turn_of(call)])) as desk:
        await desk.say("go")
        await desk.ready()
        assert cards(desk)[0].plain == (
            "run_command a.txt · failed\n▸ 2 more lines · r shows all\nthree\nfour\n[exit status 2]"
        )


async def test_where_all_of_a_long_output_is_and_how_long_it_took() -> None:
    async with app_on(FakeConversation([turn_of(RUNNING)])) as desk:
        await desk.say("go")
        await desk.wait_until(lambda: "two" in desk.texts[-1])
        card = cards(desk)[0]
        card.start("run_command", '{"command": "make"}', 1_000)
        end = ToolFinished(call="c1", name="run_command", result="short", spilled="/x/c1.txt", at_ms=3_500)
        card.finish(end)
        assert card.plain == "run_command make · 2.5 s\nshort\nAll of it is in /x/c1.txt"
        await desk.pilot.press("escape")
        await desk.ready()


async def test_a_call_that_nothing_answered_shows_under_its_answer() -> None:
    conversation = FakeConversation()
    answer = conversation.add("assistant", "Let me see.", conversation.add("user", "go", None).id)
    call = ToolCall("c1", "read_file", '{"path": "a.txt"}')
    conversation._tree[answer.id] = replace(answer, tool_calls=(call,))
    async with app_on(conversation) as desk:
        assert desk.texts[-1] == "Let me see.\nread_file a.txt · no result"


async def test_nothing_hostile_of_a_call_reaches_the_screen() -> None:
    hostile = Call(
        "c1", HOSTILE, (HOSTILE,), output=(HOSTILE,), result=HOSTILE, detail=f"+{HOSTILE}", spilled=HOSTILE
    )
    calls = (hostile, replace(hostile, id="c2", status="denied"), replace(hostile, id="c3", endless=True))
    async with app_on(FakeConversation([turn_of(*calls)])) as desk:
        await desk.say("go")
        await desk.wait_until(lambda: len(cards(desk)) == 3 and "running" in desk.texts[-1])
        for keys in ((), ("ctrl+o",), ("escape",)):
            await desk.pilot.press(*keys)
            await desk.pilot.pause()
            await desk.wait_until(lambda: screen_text(desk).count("xy [bold]z[/bold]") >= 5)
            painted = screen_text(desk)
            assert not CONTROL.search(painted + desk.status)
            assert "\u202e" not in painted
            assert not any(CONTROL.search(text) for text in desk.texts)
        await desk.ready()


async def test_a_result_of_a_megabyte_is_cut_on_the_screen() -> None:
    call = Call("c1", "read_file", result="x\n" * 500_000)
    async with app_on(FakeConversation([turn_of(call)])) as desk:
        await desk.say("go")
        await desk.ready()
        await desk.pilot.press("ctrl+o")
        assert desk.texts[-2].endswith("x\n… 498,000 more lines are not shown here")
        assert desk.texts[-2].count("\n") < 2_010


async def test_a_long_session_of_calls_opens_in_a_window() -> None:
    conversation = FakeConversation([Turn(("Fresh.",))])
    parent = None
    for number in range(100):
        asked = conversation.add("user", f"question {number}", parent)
        answer = conversation.add("assistant", "", asked.id)
        call = ToolCall(f"c{number}", "read_file", f'{{"path": "{number}.txt"}}')
        conversation._tree[answer.id] = replace(answer, tool_calls=(call,), finish_reason="tool_calls")
        result = conversation.add("tool", LISTING, answer.id)
        conversation._tree[result.id] = replace(result, tool_call_id=call.id, status="ok")
        parent = conversation.add("assistant", f"answer {number}", result.id).id
    async with app_on(conversation) as desk:
        assert desk.texts[-2:] == ["read_file 99.txt · ▸ 20 lines, 129 B", "answer 99"]
        assert len(desk.transcript.views) <= LIMIT
        for _ in range(200):
            if "question 0" in desk.texts:
                break
            await desk.pilot.press("pageup")
            await desk.pilot.pause()
        assert "read_file 0.txt · ▸ 20 lines, 129 B" in desk.texts
        await desk.say("more")
        await desk.ready()
        assert desk.texts[-1] == "Fresh."


async def test_moving_among_messages_skips_what_shows_nothing() -> None:
    conversation = FakeConversation([turn_of(Call("c1"))])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await desk.ready()
        await desk.pilot.press("shift+tab", "up", "up")
        shown = [desk.app.focused]
        for _ in range(3):
            await desk.pilot.press("down")
            shown.append(desk.app.focused)
        views = desk.transcript.views
        assert shown == [views[0], views[2], views[3], desk.composer]


async def test_a_turn_with_calls_is_answered_anew_and_both_ways_stay() -> None:
    conversation = FakeConversation([turn_of(Call("c1")), Turn(("Second.",))])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await desk.ready()
        await desk.pilot.press("ctrl+r")
        await desk.wait_until(lambda: conversation.ended == 2)
        await desk.ready()
        assert desk.texts == ["go", "Second.\n\n◂ 2/2 ▸"]
        await desk.pilot.press("shift+tab", "left")
        await desk.wait_until(lambda: desk.texts[-1] == "Done.")
        assert desk.texts == ["go", "◂ 1/2 ▸", "read_file a.txt\ndone", "Done."]
        assert isinstance(desk.app.focused, MessageView)
        await desk.ready()
        await desk.pilot.press("right")
        await desk.wait_until(lambda: desk.texts[-1] == "Second.\n\n◂ 2/2 ▸")


async def test_an_answer_that_could_not_be_read_shows_what_the_model_was_told() -> None:
    conversation = FakeConversation()
    answer = conversation.add("assistant", "<tool_call>{", conversation.add("user", "go", None).id)
    told = conversation.add("tool", "A call in this answer cannot be read.", answer.id)
    conversation._tree[told.id] = replace(told, tool_call_id="x", status="error")
    async with app_on(conversation) as desk:
        assert desk.texts[1:] == ["<tool_call>{", "a call · failed\nA call in this answer cannot be read."]
