"""Finding words in the transcript: counted, gone to wherever they are, marked, unfolded, and left again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.widgets import Input, Static

from skippy_chat.chat.messages import ToolCall
from skippy_chat.tui.composer import Composer
from skippy_chat.tui.finding import FindBar
from skippy_chat.tui.message import MessageView
from skippy_chat.tui.transcript import LIMIT
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.asking import asked_about, has_asked, panel_of, turn_of
from tests.tui.screen import Desk, app_on
from tests.tui.test_history import long_talk, numbers, page_to_the_top, screen_text

pytestmark = pytest.mark.timeout(180)


def is_open(desk: Desk) -> bool:
    return desk.app.screen_stack[0].query_one(FindBar).display


def count(desk: Desk) -> str:
    return str(desk.app.query_one("#find-count", Static).render())


async def find(desk: Desk, words: str) -> None:
    await desk.pilot.press("ctrl+f", *words)
    await desk.wait_until(lambda: desk.app.query_one("#find-words", Input).value == words)


def looked_at(desk: Desk) -> str:
    """Return what is marked as looked at on the screen."""
    height = desk.app.size.height
    strips = desk.app.screen._compositor.render_strips()
    assert len(strips) == height
    return "".join(
        segment.text
        for strip in strips
        for segment in strip
        if segment.style is not None and segment.style.reverse and segment.style.bold
    )


async def test_places_are_counted_and_gone_to_far_above_and_below() -> None:
    async with app_on(long_talk(1000)) as desk:
        await find(desk, "MESSAGE 12")
        # 12, 120 to 129: eleven, and none of them is mounted.
        await desk.wait_until(lambda: count(desk).startswith("11 of 11"))
        await desk.wait_until(lambda: looked_at(desk) == "message 12")
        assert "message 129" in screen_text(desk)
        assert len(desk.texts) <= LIMIT
        shown = numbers(desk)
        assert shown == list(range(shown[0], shown[-1] + 1))
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: count(desk).startswith("10 of 11"))
        for _ in range(9):
            await desk.pilot.press("up")
        await desk.wait_until(lambda: count(desk).startswith("1 of 11"))
        await desk.wait_until(
            lambda: looked_at(desk) == "message 12" and "» message 12 " in screen_text(desk)
        )
        await desk.pilot.press("up")
        await desk.wait_until(lambda: count(desk).startswith("11 of 11"))
        await desk.pilot.press("down")
        await desk.wait_until(lambda: count(desk).startswith("1 of 11"))
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: not is_open(desk))
        focused = desk.app.focused
        assert isinstance(focused, MessageView)
        assert focused.plain.startswith("message 12\n")
        assert looked_at(desk) == ""
        await desk.pilot.press("escape")
        assert isinstance(desk.app.focused, Composer)
        await desk.pilot.press("end")
        await desk.wait_until(lambda: "message 999" in screen_text(desk))


async def test_case_and_accents_do_not_count_and_the_screen_moves_to_the_row() -> None:
    conversation = FakeConversation()
    lines = "\n\n".join(f"line {number}" for number in range(100))
    user = conversation.add("user", "in the cafés", None)
    conversation.add("assistant", lines + "\n\nA **CAFE\u0301** is here.\n\n" + lines, user.id)
    async with app_on(conversation) as desk:
        await find(desk, "cafe")
        await desk.wait_until(lambda: count(desk).startswith("2 of 2"))
        await desk.wait_until(lambda: looked_at(desk) == "CAFE\u0301")
        await desk.pilot.press("up")
        await desk.wait_until(lambda: looked_at(desk) == "café")
        await desk.type(" is")
        await desk.wait_until(lambda: count(desk).startswith("1 of 1"))
        await desk.wait_until(lambda: looked_at(desk) == "CAFE\u0301 is")


async def test_what_is_folded_unfolds_while_it_is_looked_at() -> None:
    conversation = FakeConversation()
    user = conversation.add("user", "go", None)
    answer = conversation.add("assistant", "Done.", user.id)
    conversation._tree[answer.id] = replace(
        answer, reasoning="Let me think.\nAbout\nneedles.", tool_calls=(ToolCall("c1", "sew", '{"a": 1}'),)
    )
    result = conversation.add("tool", "1\n2\n3\n4\nneedle five\n6", answer.id)
    conversation._tree[result.id] = replace(result, tool_call_id="c1", status="ok")
    conversation.add("assistant", "No more.", result.id)
    async with app_on(conversation) as desk:
        assert all("needle" not in text for text in desk.texts)
        await find(desk, "needle")
        await desk.wait_until(lambda: count(desk).startswith("2 of 2") and looked_at(desk) == "needle")
        assert "needle five" in desk.texts[2]
        assert "needles." not in desk.texts[1]
        await desk.pilot.press("up")
        await desk.wait_until(lambda: "needles." in desk.texts[1])
        assert "needle five" not in desk.texts[2]
        await desk.wait_until(lambda: looked_at(desk) == "needle")


async def test_nothing_found_and_an_empty_session() -> None:
    async with app_on(FakeConversation()) as desk:
        await desk.say("/find x")
        assert "nothing to look through" in desk.status
    async with app_on(long_talk(4)) as desk:
        await desk.say("/find nowhere")
        await desk.wait_until(lambda: is_open(desk) and count(desk) == "nothing found")
        await desk.pilot.press("enter", "escape")
        assert isinstance(desk.app.focused, Composer)
        assert desk.composer.text == ""
        await desk.say("/find message 2")
        await desk.wait_until(lambda: count(desk).startswith("1 of 1"))


async def test_while_it_streams_above_is_found_and_the_answer_is_whole() -> None:
    conversation = long_talk(1000, [Turn(("Once\n\n", "upon a time"), endless=True)])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await desk.wait_until(lambda: "upon a time" in desk.texts[-1])
        await find(desk, "message 40")
        await desk.wait_until(
            lambda: count(desk).startswith("11 of 11") and "message 409" in screen_text(desk)
        )
        assert "upon a time" not in screen_text(desk)
        assert len([view for view in desk.transcript.views if view.display]) <= LIMIT
        await desk.pilot.press("escape", "escape", "end")
        await desk.wait_until(lambda: "upon a time" in screen_text(desk))
        await find(desk, "message 40")
        await desk.pilot.press("escape", "escape", "escape")
        await desk.ready()
        await desk.wait_until(lambda: "message 409" in screen_text(desk))
        await desk.pilot.press("end")
        await desk.wait_until(lambda: "upon a time" in screen_text(desk) and "Stopped" in screen_text(desk))
        shown = [view.message_id for view in desk.transcript.views]
        assert shown == [each.id for each in conversation.messages()[-len(shown) :]]
        await find(desk, "upon")
        await desk.wait_until(lambda: count(desk).startswith("1 of 1"))


async def test_what_is_typed_there_answers_no_question() -> None:
    conversation = long_talk(40, [turn_of(asked_about())])
    async with app_on(conversation) as desk:
        await find(desk, "message")
        await desk.pilot.press("escape", "escape")
        await desk.say("go")
        await desk.pilot.press("ctrl+f")
        await has_asked(desk)
        await desk.wait_until(lambda: panel_of(desk)._quiet is None)  # the silence it waits for is over
        await desk.type("yyy")
        assert panel_of(desk).call == "c1"
        assert not conversation.decisions
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: panel_of(desk).has_class("asking"))
        await desk.pilot.press("n")
        await desk.ready()
        assert [each.allowed for each in conversation.decisions] == [False]


async def test_finding_from_the_top_begins_there() -> None:
    async with app_on(long_talk(300)) as desk:
        await page_to_the_top(desk)
        await desk.pilot.press("pageup", "pageup")
        await find(desk, "paragraphs")
        await desk.wait_until(lambda: "of 300" in count(desk))
        assert int(count(desk).split()[0]) < 60
