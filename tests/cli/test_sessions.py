"""``skippy-chat sessions``: what is stored is shown clean, and removed only when asked for."""

from __future__ import annotations

import io
import json
import re

import pytest

from skippy_chat.chat.history import History
from skippy_chat.chat.locks import SessionLock
from skippy_chat.chat.messages import ToolCall
from tests.fakes.host import Desk, Terminal

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@pytest.fixture
def stored(desk: Desk) -> str:
    """Store one session here with a hostile message, and one elsewhere."""
    with History.open(desk.root / "data" / "history.db", now=lambda: 1_700_000_000_000) as history:
        elsewhere = history.create_session(folder=desk.root / "else", title="far")
        history.append(elsewhere.id, None, "user", "a distant walrus")
        session = history.create_session(folder=desk.root, title="demo")
        asked = history.append(session.id, None, "user", "hello\x1b]52;c;ZXZpbA==\x07 walrus\x9b2J")
        answer = history.append(
            session.id, asked.id, "assistant", "hi\x1b[31m there\x85", state="interrupted"
        )
        history.set_head(session.id, answer.id)
        return session.id


def test_nothing_is_stored_yet(desk: Desk) -> None:
    assert desk.run("sessions", "list") == 0
    assert desk.out == ""
    assert desk.run("sessions", "list", "--json") == 0
    assert desk.json == {"schema": 1, "sessions": []}
    assert desk.run("sessions", "show") == 1
    assert not (desk.root / "data").exists()


def test_list_is_of_this_folder_or_all(desk: Desk, stored: str) -> None:
    desk.run("sessions", "list")
    assert "demo" in desk.out
    assert "hello walrus" in desk.out
    assert "far" not in desk.out
    assert CONTROL.search(desk.out) is None
    desk.run("sessions", "list", "--all", "--json")
    assert {each["title"] for each in desk.json["sessions"]} == {"demo", "far"}
    mine = next(each for each in desk.json["sessions"] if each["title"] == "demo")
    assert (mine["id"], mine["messages"], mine["folder"]) == (stored, 2, str(desk.root))


def test_list_tells_a_made_title_which_is_no_name(desk: Desk, stored: str) -> None:
    with History.open(desk.root / "data" / "history.db", now=lambda: 1) as history:
        unnamed = history.create_session(folder=desk.root)
        history.append(unnamed.id, None, "user", "what about seals?")
        history.keep_made_title(unnamed.id, "About seals")
        history.keep_made_title(stored, "Made before it was named")
    desk.run("sessions", "list")
    (row,) = [line for line in desk.out.splitlines() if "About seals" in line]
    assert row.startswith(unnamed.id)
    assert "what about seals?" not in desk.out
    assert "Made before" not in desk.out
    desk.run("sessions", "list", "--json")
    told = {each["id"]: (each["name"], each["label"], each["title"]) for each in desk.json["sessions"]}
    assert told[unnamed.id] == (unnamed.id, "About seals", "")
    assert told[stored] == ("demo", "demo", "demo")
    assert desk.run("sessions", "show", "About seals") == 1


def test_show_prints_the_branch_clean(desk: Desk, stored: str) -> None:
    assert desk.run("sessions", "show") == 0
    assert "\nYou:\nhello walrus\n" in desk.out
    assert "\nAssistant [interrupted]:\nhi there\n" in desk.out
    assert CONTROL.search(desk.out) is None


def test_show_draws_calls_and_what_they_gave(desk: Desk) -> None:
    with History.open(desk.root / "data" / "history.db", now=lambda: 1) as history:
        session = history.create_session(folder=desk.root, title="tools")
        asked = history.append(session.id, None, "user", "look")
        long = json.dumps({"path": "x" * 300, "evil": "\x1b[2J"}, ensure_ascii=False)
        calls = (ToolCall("c1", "read_file", long), ToolCall("c2", "write_file", "{"))
        called = history.append(session.id, asked.id, "assistant", "", tool_calls=calls)
        one = history.append(session.id, called.id, "tool", "", tool_call_id="c1")
        history.finish(one.id, "hello\x9b", status="ok")
        two = history.append(session.id, one.id, "tool", "", tool_call_id="c2")
        history.finish(two.id, "No.", status="denied", detail="+new")
        history.set_head(session.id, two.id)
    assert desk.run("sessions", "show") == 0
    assert f'\nAssistant:\n→ read_file {{"path": "{"x" * 300}"' in desk.out
    assert "\n→ write_file {\n" in desk.out
    assert "\nTool read_file ✓:\nhello\n" in desk.out
    assert "\nTool write_file ⊘:\nNo.\n+new\n" in desk.out
    assert CONTROL.search(desk.out) is None
    desk.run("sessions", "show", "--json")
    assert [each["status"] for each in desk.json["messages"]] == [None, None, "ok", "denied"]


def test_show_as_json_keeps_the_text_escaped(desk: Desk, stored: str) -> None:
    desk.run("sessions", "show", stored.lower(), "--json")
    assert CONTROL.search(desk.out) is None
    assert desk.json["messages"][0]["content"] == "hello\x1b]52;c;ZXZpbA==\x07 walrus\x9b2J"
    assert desk.json["session"]["name"] == "demo"


def test_show_of_an_unknown_name_tells_the_closest(desk: Desk, stored: str) -> None:
    assert desk.run("sessions", "show", "dmo") == 1
    assert "demo" in desk.err


def test_search(desk: Desk, stored: str) -> None:
    desk.run("sessions", "search", "walr", "--json")
    assert [hit["session"] for hit in desk.json["hits"]] == [stored]
    desk.run("sessions", "search", "walrus", "--all", "--json")
    assert len(desk.json["hits"]) == 2
    assert desk.run("sessions", "search", "unicorn") == 0
    assert desk.out == ""


def test_rename(desk: Desk, stored: str) -> None:
    assert desk.run("sessions", "rename", "demo", "walrus talk") == 0
    desk.run("sessions", "list", "--json")
    assert desk.json["sessions"][0]["title"] == "walrus talk"
    assert desk.run("sessions", "rename", "walrus talk", "far") == 1
    assert desk.run("sessions", "rename", "walrus talk", "demo", "--json") == 0
    assert desk.json["session"]["name"] == "demo"


def test_fork_copies_the_branch_even_of_a_session_in_use(desk: Desk, stored: str) -> None:
    with SessionLock(desk.root / "data" / "locks", stored):
        assert desk.run("sessions", "fork", "demo", "my copy") == 0
    assert desk.out == "Copied 2 messages of demo.\nGo on: skippy-chat --session 'my copy'\n"
    desk.run("sessions", "show", "demo", "--json")
    before = [(each["role"], each["content"], each["state"]) for each in desk.json["messages"]]
    desk.run("sessions", "show", "my copy", "--json")
    assert [(each["role"], each["content"], each["state"]) for each in desk.json["messages"]] == before
    assert desk.json["session"]["id"] != stored


def test_fork_without_a_name_prints_the_id(desk: Desk, stored: str) -> None:
    assert desk.run("sessions", "fork", stored.lower(), "--json") == 0
    forked = desk.json["session"]
    assert desk.json["messages"] == 2
    assert forked["name"] == forked["id"] != stored
    assert desk.run("sessions", "fork", "demo", "demo") == 1
    assert "'demo' exists" in desk.err
    assert len(titles(desk)) == 2


def titles(desk: Desk) -> list[str]:
    desk.run("sessions", "list", "--json")
    return [each["title"] for each in desk.json["sessions"]]


def test_rm_never_asks_without_a_terminal(desk: Desk, stored: str) -> None:
    desk.stdin = io.StringIO("y\n")
    assert desk.run("sessions", "rm", "demo") == 2
    assert "--yes" in desk.err
    assert titles(desk) == ["demo"]
    assert desk.run("sessions", "rm", "demo", "--yes", "--json") == 0
    assert desk.json == {"schema": 1, "removed": stored, "messages": 2, "freed_bytes": 0}
    assert titles(desk) == []


@pytest.mark.parametrize(("reply", "code", "left"), [("n", 1, ["demo"]), ("", 1, ["demo"]), ("y", 0, [])])
def test_rm_asks_on_a_terminal(desk: Desk, stored: str, reply: str, code: int, left: list[str]) -> None:
    desk.stdin, desk.stdout = Terminal(f"{reply}\n"), Terminal()
    assert desk.run("sessions", "rm", "demo") == code
    assert "its 2 messages" in desk.err
    assert titles(desk) == left


def test_rm_takes_the_output_of_its_tools_along(desk: Desk, stored: str) -> None:
    folder = desk.root / "cache" / "tool-output"
    for name in (stored, "another"):
        (folder / name).mkdir(parents=True)
        (folder / name / "call.txt").write_text("long")
    assert desk.run("sessions", "rm", "demo", "--yes") == 0
    assert [each.name for each in folder.iterdir()] == ["another"]


def test_rm_of_a_session_in_use_is_refused(desk: Desk, stored: str) -> None:
    with SessionLock(desk.root / "data" / "locks", stored):
        assert desk.run("sessions", "rm", "demo", "--yes") == 1
    assert titles(desk) == ["demo"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--session", "a\udcff", "hello"),
        ("repl", "--session", "a\udcff"),
        ("sessions", "show", "a\udcff"),
        ("sessions", "rename", "demo", "a\udcff"),
        ("sessions", "fork", "demo", "a\udcff"),
    ],
)
def test_a_name_of_bytes_that_are_no_text_is_refused(
    desk: Desk, stored: str, arguments: tuple[str, ...]
) -> None:
    assert desk.run(*arguments) == 1
    assert desk.err == (
        "skippy-chat: That cannot be the name of a session. Use up to 200 printable characters.\n"
    )
    assert desk.opened == []
