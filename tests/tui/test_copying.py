"""Copying: which text, which way, and what is said about it."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest
from textual.drivers.headless_driver import HeadlessDriver

from skippy_chat.tui.copying import CodePicker
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.screen import Desk, app_on

pytestmark = pytest.mark.timeout(180)

ONE = "Run:\n\n```sh\nmake\tall\n```\n"
TWO = "First\n\n```python\ndef f():\n    return 1\n```\n\nthen\n\n```sh\nmake *all*\n```\n"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was put into the terminal's clipboard."""
    texts: list[str] = []

    def write(_driver: HeadlessDriver, data: str) -> None:
        if data.startswith("\x1b]52;c;"):
            texts.append(base64.b64decode(data[7:-1]).decode())

    monkeypatch.setattr(HeadlessDriver, "write", write)
    return texts


def talk(*answers: str, turns: list[Turn] | None = None) -> FakeConversation:
    conversation = FakeConversation(turns or [])
    parent = None
    for number, answer in enumerate(answers):
        parent = conversation.add("user", f"ask\t*{number}*", parent).id
        parent = conversation.add("assistant", answer, parent).id
    return conversation


async def told(desk: Desk, words: str) -> None:
    await desk.wait_until(lambda: words in desk.status)


async def test_the_last_answer_is_copied_as_it_was_written(sent: list[str]) -> None:
    async with app_on(talk(TWO, "# *Bold*\x1b[31m\n\nlong " + "word " * 40)) as desk:
        await desk.say("/copy")
        await told(desk, "Sent to the terminal's clipboard: the answer: 3 lines, 215 characters.")
        assert sent == ["# *Bold*\n\nlong " + "word " * 40]
        assert desk.composer.text == ""


async def test_code_is_taken_from_the_last_answer_that_has_any(sent: list[str]) -> None:
    async with app_on(talk(TWO, ONE, "no code")) as desk:
        await desk.say("/copy code")
        await told(desk, "the code: 1 line, 8 characters.")
        assert sent == ["make\tall"]
        await desk.say("/copy code 2")
        assert "There are 1 block of code in it." in desk.status
        await desk.say("/copy cod")
        assert "Say /copy, /copy code, or /copy code N." in desk.status
        assert desk.composer.text == "/copy cod"


async def test_several_blocks_are_chosen_from(sent: list[str]) -> None:
    async with app_on(talk(TWO)) as desk:
        await desk.say("/copy code 1")
        await told(desk, "code 1 of 2: 2 lines")
        await desk.say("/copy code")
        await desk.over(CodePicker)
        await desk.pilot.press("enter")
        await told(desk, "code 2 of 2: 1 line, 10 char")
        await desk.pilot.press("shift+tab", "c")
        await desk.over(CodePicker)
        await desk.pilot.press("3", "1")
        await told(desk, "code 1 of 2")
        assert sent == ["def f():\n    return 1", "make *all*", "def f():\n    return 1"]
        await desk.pilot.press("c")
        await desk.over(CodePicker)
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: not isinstance(desk.app.screen, CodePicker))
        assert len(sent) == 3


async def test_keys_on_a_message_copy_that_one(sent: list[str]) -> None:
    conversation = talk("An answer.")
    result = conversation.add("tool", "given\n" * 5, conversation.messages()[-1].id)
    conversation._tree[result.id] = replace(result, status="ok")
    async with app_on(conversation) as desk:
        await desk.pilot.press("shift+tab", "y")
        await told(desk, "what the tool gave: 5 lines")
        await desk.pilot.press("c")
        assert "There is no code in it." in desk.status
        await desk.pilot.press("up", "up", "y")
        await told(desk, "your message: 1 line, 7 characters")
        assert sent == ["given\n" * 5, "ask\t*0*"]


async def test_what_is_not_there_is_said(sent: list[str]) -> None:
    async with app_on(talk("plain", turns=[Turn(("Once",), endless=True)])) as desk:
        await desk.say("/copy code")
        assert "There is no code in any answer." in desk.status
        await desk.say("go")
        await desk.wait_until(lambda: desk.texts[-1] == "Once")
        await desk.pilot.press("shift+tab", "y")
        assert "It is still being written." in desk.status
        assert not sent
        await desk.pilot.press("escape", "escape")
        await desk.ready()
    async with app_on(FakeConversation()) as desk:
        await desk.say("/copy")
        assert "There is no answer yet." in desk.status
