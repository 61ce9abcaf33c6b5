"""Answers drawn anew, turns left out, messages edited by number, and the way back."""

from __future__ import annotations

import pytest
from textual.widgets import OptionList

from skippy_chat.agent.protocol import TurnOptions
from skippy_chat.sampling import Sampling
from skippy_chat.tui.branches import BranchPicker
from skippy_chat.tui.composer import Composer
from skippy_chat.tui.message import MessageView
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.screen import Desk, app_on
from tests.tui.test_history import long_talk, screen_text

pytestmark = pytest.mark.timeout(180)


def three_turns(*turns: Turn) -> FakeConversation:
    conversation = FakeConversation(turns)
    parent = None
    for number in range(3):
        parent = conversation.add("user", f"question {number}", parent).id
        parent = conversation.add("assistant", f"answer {number}", parent).id
    return conversation


def firsts(desk: Desk) -> list[str]:
    return [text.split("\n")[0] for text in desk.texts]


async def test_regenerate_with_numbers_is_drawn_so_this_once() -> None:
    conversation = three_turns(Turn(("Wild.",)), Turn(("Plain.",)))
    async with app_on(conversation) as desk:
        await desk.say("/regenerate temperature=1.2 seed=9")
        await desk.wait_until(lambda: "This answer alone with temperature=1.2 seed=9." in desk.status)
        await desk.ready()
        assert conversation.options[-1] == TurnOptions(sampling=Sampling(temperature=1.2, seed=9))
        assert firsts(desk)[-2:] == ["question 2", "Wild."]
        await desk.say("/regenerate temprature=1")
        assert "Did you mean temperature?" in desk.status
        assert desk.composer.text == "/regenerate temprature=1"
        await desk.say("/regenerate")
        await desk.wait_until(lambda: firsts(desk)[-1] == "Plain.")
        assert conversation.options[-1] is None


async def test_a_turn_is_left_out_and_comes_back() -> None:
    conversation = three_turns()
    async with app_on(conversation) as desk:
        await desk.say("/remove 2")
        await desk.wait_until(lambda: firsts(desk) == ["question 0", "answer 0", "question 2", "answer 2"])
        assert "Left out your message 2 and its answer. The old branch stays: /back" in desk.texts[-1]
        assert "◂ 2/2 ▸" in desk.texts[2]
        await desk.say("/back")
        await desk.wait_until(lambda: len(desk.texts) == 6)
        assert firsts(desk)[2:4] == ["question 1", "answer 1"]
        assert "This is the branch that was shown before." in desk.texts[-1]
        await desk.ready()
        await desk.say("/back")
        assert "No other branch was shown before" in desk.status


async def test_the_key_leaves_out_the_turn_of_any_message_of_it() -> None:
    conversation = three_turns()
    async with app_on(conversation) as desk:
        await desk.pilot.press("shift+tab", "x")
        await desk.wait_until(lambda: firsts(desk) == ["question 0", "answer 0", "question 1", "answer 1"])
        await desk.ready()
        assert isinstance(desk.app.focused, Composer)
        await desk.pilot.press("shift+tab", "up", "x")
        await desk.wait_until(lambda: firsts(desk) == ["question 0", "answer 0"])
        await desk.ready()
        await desk.say("/back")
        await desk.wait_until(lambda: len(desk.texts) == 6)
        await desk.ready()
        assert [each.content for each in conversation.messages()] == [
            f"{what} {number}" for number in range(3) for what in ("question", "answer")
        ]


async def test_the_only_turn_is_left_out() -> None:
    conversation = FakeConversation([Turn(("Again.",))])
    user = conversation.add("user", "one", None)
    conversation.add("assistant", "two", user.id)
    async with app_on(conversation) as desk:
        await desk.say("/remove")
        await desk.wait_until(lambda: not desk.texts)
        assert "Left out your message 1" in desk.status
        await desk.ready()
        await desk.say("/back")
        await desk.wait_until(lambda: len(desk.texts) == 2)


async def test_back_returns_from_an_edit_and_from_another_answer() -> None:
    conversation = three_turns(Turn(("Other.",)), Turn(("Edited.",)))
    async with app_on(conversation) as desk:
        await desk.pilot.press("ctrl+r")
        await desk.wait_until(lambda: firsts(desk)[-1] == "Other.")
        await desk.ready()
        await desk.say("/edit 1")
        await desk.wait_until(lambda: desk.composer.text == "question 0")
        await desk.say("changed")
        await desk.wait_until(lambda: firsts(desk) == ["changed", "Edited."])
        await desk.ready()
        await desk.say("/back")
        await desk.wait_until(lambda: firsts(desk)[-1] == "Other.")
        await desk.ready()
        await desk.say("/back")
        await desk.wait_until(lambda: firsts(desk)[-1] == "answer 2")


async def test_edit_means_the_last_the_numbered_or_the_one_with_the_focus() -> None:
    async with app_on(long_talk(300)) as desk:
        await desk.say("/edit")
        assert desk.composer.text.startswith("message 298")
        await desk.pilot.press("escape")
        assert desk.composer.text == ""
        await desk.say("/edit 3")
        assert desk.composer.text.startswith("message 4\n")
        await desk.wait_until(lambda: "» message 4 " in screen_text(desk))
        assert desk.app.query_one(".editing", MessageView).plain.startswith("message 4\n")
        await desk.pilot.press("escape")
        await desk.pilot.press("shift+tab", "e")
        await desk.wait_until(lambda: desk.composer.text)
        answer = desk.app.query_one(".editing", MessageView).message
        assert answer is not None
        assert (answer.role, answer.content) == ("assistant", desk.composer.text)
        await desk.pilot.press("escape")
        await desk.say("/edit 151")
        assert "151 is none of your 150 messages." in desk.status
        assert desk.composer.text == "/edit 151"


async def test_nothing_is_changed_while_an_answer_is_written() -> None:
    conversation = three_turns(Turn(("Once",), endless=True))
    async with app_on(conversation) as desk:
        await desk.say("go")
        await desk.wait_until(lambda: desk.texts[-1] == "Once")
        for command in ("/remove 1", "/edit 1", "/regenerate", "/back", "/editor 1"):
            await desk.say(command)
            assert "Stop the answer first (Esc)" in desk.status
            assert desk.composer.text == command
        desk.composer.text = ""
        await desk.pilot.press("escape")
        await desk.ready()
        assert conversation.asked == ["go"]


async def test_every_branch_is_listed_and_gone_to() -> None:
    conversation = three_turns(Turn(("Changed\x1b[2J.",)))
    async with app_on(conversation) as desk:
        await desk.say("/edit 2")
        await desk.say("another way")
        await desk.wait_until(lambda: firsts(desk)[-1] == "Changed.")
        await desk.ready()
        await desk.say("/branch")
        picker = await desk.over(BranchPicker)
        told = [str(each.prompt) for each in picker.query_one(OptionList).options]
        assert told == [
            "●   1 another way\n      4 messages · ends: Changed.",
            "    2 question 1\n      6 messages · ends: answer 2",
        ]
        await desk.pilot.press("down", "enter")
        await desk.wait_until(lambda: firsts(desk)[-1] == "answer 2")
        await desk.ready()
        assert desk.composer.has_focus
        await desk.say("/remove")
        await desk.wait_until(lambda: firsts(desk)[-1] == "answer 1")
        await desk.ready()
        await desk.say("/branch")
        picker = await desk.over(BranchPicker)
        told = [str(each.prompt).split("\n")[0] for each in picker.query_one(OptionList).options]
        assert told == ["●   1 question 1", "    2 another way", "    3 question 2"]
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: "This is that branch." in desk.texts[-1])
        assert firsts(desk)[-1] == "answer 1"
        await desk.ready()
        await desk.say("/branch 3")
        await desk.wait_until(lambda: len(desk.texts) == 6)
        assert "This is another branch now. /back goes back." in desk.texts[-1]
        await desk.ready()
        await desk.say("/branch 9")
        await desk.wait_until(lambda: "There is no branch 9." in desk.texts[-1])
        await desk.ready()
        await desk.say("/branch x")
        assert "Give a number from the list" in desk.status


async def test_an_empty_session_has_no_branch() -> None:
    async with app_on(FakeConversation()) as desk:
        await desk.say("/branch")
        await desk.wait_until(lambda: "There is no branch yet." in desk.status)
