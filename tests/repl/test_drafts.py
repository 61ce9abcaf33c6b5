"""What is typed at the prompt and not sent: kept, offered again, and gone once it is sent."""

from __future__ import annotations

import asyncio
import signal

import pytest
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

from skippy_chat.repl import drafts
from skippy_chat.repl.drafts import Drafts
from tests.fakes.conversation import FakeConversation, Turn
from tests.repl.chatting import Person, chat
from tests.repl.conftest import Open

pytestmark = pytest.mark.timeout(180)


def test_a_draft_is_offered_and_an_empty_line_sends_it() -> None:
    conversation = FakeConversation([Turn(), Turn()])
    conversation.draft = "half a thought"
    out = chat(conversation, "\nmore\n", kind=Person).out
    assert out.count("Typed before, and not sent: half a thought\n") == 1
    assert conversation.asked == ["half a thought", "more"]
    assert conversation.draft == ""


def test_another_text_takes_its_place() -> None:
    conversation = FakeConversation([Turn()])
    conversation.draft = "half a thought"
    chat(conversation, "something else\n", kind=Person)
    assert conversation.asked == ["something else"]
    assert conversation.draft == ""


def test_a_pipe_neither_gets_nor_loses_a_draft() -> None:
    conversation = FakeConversation([Turn()])
    conversation.draft = "half a thought"
    assert "half a thought" not in chat(conversation, "hello\n").out
    assert conversation.draft == "half a thought"


def test_a_text_is_kept_a_moment_after_the_last_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "_AFTER", 0.01)

    async def type_some() -> list[str]:
        kept: list[str] = []
        buffer, there = Buffer(), asyncio.Event()
        watching = Drafts(buffer)

        def keep(text: str) -> None:
            kept.append(text)
            there.set()

        watching.keep = keep
        buffer.document = Document("not yet watched")
        watching.pause(paused=False)
        buffer.document = Document("half")
        buffer.document = Document("half a thought")
        await there.wait()
        buffer.document = Document("an edit")
        watching.pause(paused=True)
        watching.keep_now()
        return kept

    assert asyncio.run(type_some()) == ["half a thought"]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_terminal_that_is_closed_loses_no_draft(terminal: Open, number: signal.Signals) -> None:
    screen = terminal("drafting")
    screen.wait_for_prompt(1)
    screen.type("half a thought")
    screen.wait_for("half a thought")
    screen.kill(number)
    assert screen.ended() == 128 + number
    assert "kept: half a thought" in screen.text
