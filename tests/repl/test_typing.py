"""Completion, files by @name, prompts of one's own, and the search in what was typed, in the REPL."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from skippy_chat.chat.history import History
from skippy_chat.completions.aids import TypingAids
from skippy_chat.paths import Paths
from skippy_chat.repl.services import Services
from skippy_chat.typed_history import TypedHistory
from tests.fakes.conversation import COLD, FakeConversation, Turn
from tests.repl import chatting
from tests.repl.chatting import Person, chat
from tests.repl.conftest import Open
from tests.repl.screen import ROOT

pytestmark = pytest.mark.timeout(180)

CTRL_R = "\x12"


@pytest.fixture
def services(tmp_path: Path) -> Services:
    """A workspace with a file and a prompt, and a history of its own."""
    (tmp_path / "notes.md").write_text("Monday\x1b[2J\n")
    paths = Paths.resolve(
        data_dir=tmp_path / "data",
        cache_dir=tmp_path / "cache",
        env={"SKIPPY_CONFIG_DIR": str(tmp_path / "config"), "HOME": str(tmp_path)},
    )
    paths.prompts_dir.mkdir(parents=True)
    (paths.prompts_dir / "explain.md").write_text(
        '+++\ndescription = "Explain a word"\n+++\nExplain $ARGUMENTS briefly.'
    )
    paths.data_dir.mkdir(mode=0o700)
    typed = TypedHistory(paths.history_db, now=lambda: 1)
    return replace(chatting.services(tmp_path), aids=TypingAids(paths, tmp_path, typed))


def test_a_named_file_goes_along(services: Services) -> None:
    conversation = FakeConversation([Turn()])
    out = chat(conversation, "What is in @notes.md?\n", services).out
    assert "With notes.md.\n" in out
    assert conversation.asked[0].startswith("What is in @notes.md?\n\nFile notes.md:\n```")
    assert "Monday" in conversation.asked[0]
    assert "\x1b" not in out


def test_a_file_that_cannot_go_along_keeps_the_message_back(services: Services) -> None:
    (services.folder / "data.bin").write_bytes(b"\0\1")
    conversation = FakeConversation([Turn()])
    chatted = chat(conversation, "What is @data.bin?\n", services)
    assert "Not sent: data.bin (2 B) is binary" in chatted.err
    assert conversation.asked == []
    assert chatted.ended != 0


def test_files_go_along_with_an_edit(services: Services) -> None:
    conversation = FakeConversation([Turn(), COLD])
    chat(conversation, "hello\n/edit\nread @notes.md\n", services)
    assert "File notes.md:" in conversation.messages()[0].content


def test_a_prompt_of_ones_own(services: Services) -> None:
    conversation = FakeConversation([Turn()])
    chatted = chat(conversation, "/explain the sea\n/help\n/explian\n", services)
    assert conversation.asked == ["Explain the sea briefly."]
    assert "/explain TEXT" in chatted.out
    tabbed = FakeConversation([Turn()])
    chat(tabbed, "/explain\tthe  moon\n", services)
    assert tabbed.asked == ["Explain the  moon briefly."]
    assert "Explain a word" in chatted.out
    assert "There is no command /explian." in chatted.err
    assert "/explain  Explain a word\n" in chat(FakeConversation(), "/prompts\n", services).out


@pytest.mark.parametrize("aided", [True, False])
def test_what_begins_with_a_slash_is_a_command_unless_it_is_a_path(
    services: Services, *, aided: bool
) -> None:
    given = services if aided else replace(services, aids=None)
    conversation = FakeConversation([Turn(), Turn()])
    chatted = chat(conversation, "/etc/hosts is what?\n//etc\n/\n/ etc\n/\x1b[2Jx\n/histroy 2\n", given)
    assert conversation.asked == ["/etc/hosts is what?", "/etc"]
    assert chatted.err.count("There is no command /") == 4
    assert "Did you mean /history?" in chatted.err


def test_what_a_person_types_is_kept_and_what_a_pipe_says_is_not(services: Services) -> None:
    assert services.aids is not None
    chat(FakeConversation([Turn()]), "from a pipe\n", services)
    assert services.aids.typed.newest() == []
    chat(FakeConversation([Turn(), COLD]), "by hand\n secret\n/history\n", services, Person)
    assert services.aids.typed.newest() == ["by hand"]


def test_ctrl_r_searches_what_was_typed_in_another_session(terminal: Open) -> None:
    screen = terminal("answers", "repl", "--session", "one")
    screen.wait_for_prompt(1)
    screen.type("the lighthouse\r")
    screen.wait_for("First answer.")
    screen.wait_for_prompt(2)
    screen.type("\x04")
    assert screen.ended() == 0
    screen = terminal("answers", "repl", "--session", "two")
    screen.wait_for_prompt(1)
    screen.type("something else\r")
    screen.wait_for("First answer.")
    screen.wait_for_prompt(2)
    screen.type(f"{CTRL_R}lightho")
    screen.wait_for("the lighthouse")
    screen.type("\r\r")
    screen.wait_for("Cold.")
    screen.wait_for_prompt(3)
    screen.type("/history\r")
    screen.wait_for("You 2: the lighthouse")


def test_tab_completes_files_and_arguments(terminal: Open, tmp_path: Path) -> None:
    (tmp_path / "harbour.txt").write_text("south")
    screen = terminal("answers", "repl", "--workspace", str(tmp_path))
    screen.wait_for_prompt(1)
    screen.type("see @harb\t")
    screen.wait_for("> see @harbour.txt")
    screen.type("\x03/export js\t")
    screen.wait_for("> /export json")


def test_tab_completes_the_names_of_models_and_sessions(terminal: Open, folders: dict[str, str]) -> None:
    models = Path(folders["SKIPPY_CACHE_DIR"]) / "models"
    models.mkdir(parents=True)
    Path(folders["SKIPPY_DATA_DIR"]).mkdir(mode=0o700)
    (models / "tiny-one.gguf").write_bytes(b"GGUF")
    with History.open(Path(folders["SKIPPY_DATA_DIR"]) / "history.db", now=lambda: 1) as history:
        history.create_session(folder=ROOT, title="harbour")
    screen = terminal("answers")
    screen.wait_for_prompt(1)
    screen.type("/model ti\t")
    screen.wait_for("> /model tiny-one")
    screen.type("\x03/sessions har\t")
    screen.wait_for("> /sessions harbour")


def test_a_plain_terminal_takes_the_tab_as_it_is(terminal: Open) -> None:
    screen = terminal("answers", "repl", "--plain")
    screen.wait_for("You:")
    screen.type("/his\t\n")
    screen.wait_for("There is no command")
    assert b"\x1b" not in screen.raw
