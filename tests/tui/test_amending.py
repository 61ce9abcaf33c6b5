"""What the model said or a tool gave, changed in the box: Enter stores it as a version, and nothing is asked."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from skippy_chat.agent.looking import Checkpoints
from skippy_chat.chat.messages import ToolCall
from skippy_chat.engine.questions import CheckpointTree, EditCost
from skippy_chat.errors import HistoryError
from skippy_chat.tui.message import MessageView
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.kept import edge
from tests.tui.screen import PATIENCE, Desk, app_on
from tests.tui.test_branching import firsts, three_turns

pytestmark = pytest.mark.timeout(180)


async def test_an_answer_is_edited_stored_and_shown_as_a_version() -> None:
    conversation = three_turns(Turn(("Then this.",)))
    async with app_on(conversation) as desk:
        await desk.type("kept")
        await desk.pilot.press("shift+tab", "up", "up", "e")
        await desk.wait_until(lambda: desk.composer.text == "answer 1")
        assert "Editing what the model said · Enter stores your version" in banner(desk)
        await desk.say("my answer")
        await desk.wait_until(lambda: len(desk.texts) == 4)
        await desk.ready()
        assert firsts(desk) == ["question 0", "answer 0", "question 1", "my answer"]
        last = desk.texts[-1]
        assert "\nEdited by you.\n" in last
        assert "The next message goes on from your version. The old branch stays: /back shows it." in last
        assert "◂ 2/2 ▸" in last
        assert desk.composer.text == "kept"
        assert conversation.asked == ["amend M4"]
        desk.composer.text = ""
        await desk.say("And then?")
        await desk.wait_until(lambda: firsts(desk)[-1] == "Then this.")
        await desk.ready()
        assert [each.content for each in conversation.messages()][3:] == [
            "my answer",
            "And then?",
            "Then this.",
        ]


async def test_the_versions_are_gone_through_and_back_goes_back() -> None:
    conversation = three_turns()
    async with app_on(conversation) as desk:
        await desk.pilot.press("shift+tab", "up", "up", "e")
        await desk.wait_until(lambda: desk.composer.text == "answer 1")
        await desk.say("mine")
        await desk.wait_until(lambda: firsts(desk)[-1] == "mine")
        await desk.ready()
        await desk.pilot.press("shift+tab", "left")
        await desk.wait_until(lambda: len(desk.texts) == 6)
        assert firsts(desk)[3] == "answer 1"
        assert "Edited by you" not in desk.texts[3]
        await desk.ready()
        await desk.pilot.press("right")
        await desk.wait_until(lambda: firsts(desk)[-1] == "mine")
        await desk.ready()
        await desk.pilot.press("escape")
        await desk.say("/back")
        await desk.wait_until(lambda: firsts(desk)[-1] == "answer 2")


async def test_an_edit_of_an_answer_that_is_left_or_changes_nothing_stores_nothing() -> None:
    conversation = three_turns()
    async with app_on(conversation) as desk:
        for keys in (("escape",), ("enter",)):
            await desk.pilot.press("shift+tab", "e")
            await desk.wait_until(lambda: desk.composer.text == "answer 2")
            await desk.pilot.press(*keys)
            await desk.wait_until(lambda: desk.composer.text == "")
        assert "The message stays as it was." in desk.status
        assert conversation.asked == []
        assert not desk.app.query(".editing")


def called() -> FakeConversation:
    conversation = FakeConversation()
    asked = conversation.add("user", "look", None)
    answer = conversation.add("assistant", "", asked.id)
    calls = (ToolCall("c1", "find", "{}"), ToolCall("c2", "read", "{}"))
    conversation._tree[answer.id] = replace(answer, tool_calls=calls)
    parent = answer.id
    for call in calls:
        result = conversation.add("tool", f"{call.name} gave this", parent)
        conversation._tree[result.id] = replace(result, tool_call_id=call.id, status="ok")
        parent = result.id
    conversation.add("assistant", "Done.", parent)
    return conversation


async def test_a_result_is_edited_and_the_others_stay() -> None:
    conversation = called()
    async with app_on(conversation) as desk:
        await desk.pilot.press("shift+tab", "up", "up", "e")
        await desk.wait_until(lambda: desk.composer.text == "find gave this")
        assert "Editing what a tool gave" in banner(desk)
        await desk.say("nothing was found")
        await desk.wait_until(lambda: "/continue goes on from your version" in desk.texts[-1])
        await desk.ready()
        assert [each.content for each in conversation.messages()][2:] == [
            "nothing was found",
            "read gave this",
        ]
        card = desk.texts[-2]
        assert "nothing was found" in card
        assert "Edited by you." in card
        assert "Edited by you." not in desk.texts[-1]


async def test_a_text_that_cannot_be_stored_is_back_in_the_box(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_self: FakeConversation, _message: str, _text: str) -> None:
        raise HistoryError("The disk is full.")

    monkeypatch.setattr(FakeConversation, "amend", full)
    conversation = three_turns()
    async with app_on(conversation) as desk:
        await desk.pilot.press("shift+tab", "e")
        await desk.wait_until(lambda: desk.composer.text == "answer 2")
        await desk.say("long work")
        await desk.wait_until(lambda: "The disk is full." in desk.texts[-1])
        await desk.wait_until(lambda: desk.composer.text == "long work")
        assert desk.app.query_one(".editing", MessageView).message_id == "M6"
        await desk.pilot.press("escape")
        assert desk.composer.text == ""


async def test_no_answer_is_edited_while_one_is_written_and_no_system_prompt() -> None:
    conversation = FakeConversation([Turn(("Once",), endless=True)])
    conversation.add("system", "Be brief.", None)
    async with app_on(conversation) as desk:
        await desk.pilot.press("shift+tab", "e")
        await desk.wait_until(lambda: "The system prompt stays what the session began with." in desk.status)
        await desk.pilot.press("escape")
        await desk.say("go")
        await desk.wait_until(lambda: desk.texts[-1] == "Once")
        await desk.pilot.press("shift+tab", "e")
        await desk.wait_until(lambda: "Stop the answer first (Esc), then edit." in desk.status)
        await desk.pilot.press("escape", "escape")
        await desk.ready()
        assert conversation.asked == ["go"]


async def test_the_box_tells_where_the_next_turn_resumes_whatever_the_text() -> None:
    conversation = three_turns()
    tree = CheckpointTree((), (EditCost(5, 1024, 77, 2.0),), 1105, 1117, 0, 0)
    conversation.kept = Checkpoints(tree, (tuple(conversation.messages()),), ())
    told = "changed from its start: the next turn resumes at 1,024 or later"
    async with app_on(conversation) as desk:
        await desk.pilot.press("shift+tab", "e")
        await desk.wait_until(lambda: edge(desk) == told)
        may = threading.Event()

        def checkpoints() -> Checkpoints:
            assert may.wait(PATIENCE)
            return conversation.kept

        # The next look waits, since nothing stands there only until it has come.
        conversation.checkpoints = checkpoints  # type: ignore[method-assign]
        await desk.type("x")
        await desk.wait_until(lambda: edge(desk) == "")
        may.set()
        await desk.wait_until(lambda: edge(desk) == told)
        assert conversation.foreseen == []


def banner(desk: Desk) -> str:
    return str(desk.app.query_one("#banner").render())
