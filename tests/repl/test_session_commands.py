"""/rename and /export on the line face, and the title that comes by itself."""

from __future__ import annotations

import io
import threading
from pathlib import Path

import pytest

from skippy_chat.chat.messages import Session
from skippy_chat.repl.loop import run_repl
from skippy_chat.repl.plain import PlainFace
from skippy_chat.talk import Talk
from tests.fakes.conversation import FakeConversation, Turn

pytestmark = pytest.mark.timeout(60)


class Person(PlainFace):
    """Somebody is there."""

    @property
    def can_ask(self) -> bool:
        return True


def chat(
    conversation: FakeConversation, text: str, folder: Path, kind: type[PlainFace] = PlainFace
) -> tuple[str, str, int]:
    out, err = io.StringIO(), io.StringIO()
    face = kind(io.StringIO(text), out, lambda: 0.0)
    code = run_repl(conversation, face, talk=Talk(err, lambda: 0.0, plain=True), folder=folder)
    return out.getvalue(), err.getvalue(), code


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
