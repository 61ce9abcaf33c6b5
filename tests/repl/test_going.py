"""What a command goes on with, as the command line opens it; and what cannot be opened, which ends no chat."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Session
from skippy_chat.errors import ModelFileError
from tests.fakes.conversation import FakeConversation, Turn
from tests.fakes.host import Desk

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def other(tmp_path: Path) -> Session:
    """A stored session of this folder, with something said in it."""
    (tmp_path / "data").mkdir(mode=0o700)
    with History.open(tmp_path / "data" / "history.db", now=lambda: 1_700_000_000_000) as history:
        session = history.create_session(folder=tmp_path, title="other")
        history.append(session.id, None, "user", "Before.")
        return session


def desk(root: Path, typed: str, opening: Callable[[], None] = lambda: None) -> Desk:
    conversation = FakeConversation([Turn(), Turn()])
    return Desk(root, conversation, stdin=io.StringIO(typed), opening=opening)


def test_another_session_and_a_new_one(tmp_path: Path, other: Session) -> None:
    there = desk(tmp_path, "/sessions other\n/new fresh\n/new\n/sessions other\nhello\n")
    assert there.run("repl", "--session", "first") == 0
    asked = [(each["session"], each["new"]) for each in there.opened]
    assert asked == [("first", False), (other.id, False), ("fresh", True), (None, True), (other.id, False)]
    assert len({id(each["seat"]) for each in there.opened}) == 1
    assert there.conversation.closed == 5
    assert there.conversation.asked == ["hello"]


def test_changes_go_to_the_session_that_keeps_them(tmp_path: Path, other: Session) -> None:
    there = desk(tmp_path, "/context 4096\n/model default\n")
    assert there.run("repl", "--session", "other", "--temperature", "0.1", "--ctx", "512") == 0
    first, second, third = there.opened
    assert (first["changes"], second["changes"], third["changes"]) == (
        {},
        {"ctx": 4096},
        {"model": "default"},
    )
    assert second["settings"].ctx == 4096
    assert third["settings"].model == "default"
    assert third["settings"].temperature == 0.1


def test_what_cannot_be_opened_leads_back(tmp_path: Path, other: Session) -> None:
    tries = iter([None, ModelFileError("bad.gguf is truncated.", "Fetch it again."), None])

    def opening() -> None:
        if (error := next(tries)) is not None:
            raise error

    (tmp_path / "bad.gguf").write_bytes(b"GGUF")
    there = desk(tmp_path, f"hello\n/model {tmp_path / 'bad.gguf'}\nmore\n", opening)
    assert there.run("repl", "--session", "other") == 3
    assert there.conversation.asked == ["hello", "more"]
    assert "bad.gguf is truncated. Fetch it again." in there.err
    assert [each["changes"] for each in there.opened] == [{}, {"model": str(tmp_path / "bad.gguf")}, {}]


def test_what_cannot_be_opened_at_first_ends_the_program(tmp_path: Path) -> None:
    def opening() -> None:
        raise ModelFileError("bad.gguf is truncated.", "Fetch it again.")

    assert desk(tmp_path, "hello\n", opening).run("repl") == 3


def test_a_name_that_is_taken_leads_back(tmp_path: Path, other: Session) -> None:
    there = desk(tmp_path, "/new other\nhello\n")
    assert there.run("repl", "--session", "first") == 2
    assert "A session named other exists." in there.err
    assert there.conversation.asked == ["hello"]
