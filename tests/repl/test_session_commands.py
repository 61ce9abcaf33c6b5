"""/rename and /export on the line face, and the title that comes by itself."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from skippy_chat.agent.protocol import Fork
from skippy_chat.chat.messages import Session
from skippy_chat.repl.going import GoOn
from skippy_chat.repl.plain import PlainFace
from tests.fakes.conversation import FakeConversation, Turn
from tests.repl import chatting
from tests.repl.chatting import Person

pytestmark = pytest.mark.timeout(60)


def chat(
    conversation: FakeConversation, text: str, folder: Path, kind: type[PlainFace] = PlainFace
) -> tuple[str, str, GoOn | int]:
    chatted = chatting.chat(conversation, text, chatting.services(folder), kind)
    return chatted.out, chatted.err, chatted.ended


def test_rename(tmp_path: Path) -> None:
    conversation = FakeConversation()
    out, _, code = chat(conversation, "/rename My own words\n/session\n", tmp_path)
    assert "This session is My own words now.\n" in out
    assert "Session: My own words\n" in out
    assert conversation.session.title == "My own words"
    assert code == 0


def test_rename_refused(tmp_path: Path) -> None:
    conversation = FakeConversation()
    conversation.taken = "Mine"
    _, err, code = chat(conversation, "/rename\n/rename Mine\n", tmp_path)
    assert "A session's name is missing. Give one: /rename TITLE\n" in err
    assert "A session named 'Mine' exists already. Choose another name.\n" in err
    assert conversation.session.title == "demo"
    assert code == 1


def test_export(tmp_path: Path) -> None:
    conversation = FakeConversation([Turn(("First.",))])
    out, err, code = chat(
        conversation, "/export\nhello\n/export\n/export md\n/export my notes.html\n", tmp_path
    )
    assert "There is nothing to export yet." in err
    assert f"Wrote 2 messages to {tmp_path.resolve() / 'demo.md'}.\n" in out
    assert f"{tmp_path.resolve() / 'demo.md'} is there already. Name another file: /export" in err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["demo.md", "my notes.html"]
    assert code == 1
    assert conversation.asked == ["hello"]


def test_a_title_is_asked_for_where_somebody_is(tmp_path: Path) -> None:
    named = threading.Event()

    def made() -> str:
        named.set()
        return "About greetings"

    conversation = FakeConversation(
        [Turn(("First.",)), Turn(("Second.",))], session=Session("01FAKE", "", "/work", 0, 0, "m")
    )
    conversation.naming = made
    out, _, _ = chat(conversation, "hello\nmore\n", tmp_path, Person)
    assert named.wait(20)
    assert "About greetings" not in out
    assert conversation.asked == ["hello", "more"]


def test_a_pipe_is_over_before_there_is_a_title(tmp_path: Path) -> None:
    conversation = FakeConversation([Turn(("First.",))], session=Session("01FAKE", "", "/work", 0, 0, "m"))
    conversation.naming = lambda: "Never"
    chat(conversation, "hello\n", tmp_path)
    assert conversation.naming is not None


def test_fork_goes_on_in_a_copy_of_this_branch(tmp_path: Path) -> None:
    conversation = FakeConversation([Turn(("First.",))])
    _, err, going = chat(conversation, "/fork\nhello\n/fork  My copy \nnever\n", tmp_path)
    assert going == GoOn(fork=Fork("01FAKE", conversation.messages()[-1].id, "My copy"), code=2)
    assert "There is nothing to copy yet. Write a message first.\n" in err
    assert conversation.asked == ["hello"]
