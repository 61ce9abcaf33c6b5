"""``skippy-chat sessions export|import|branches``: where the text goes, and what is told of it."""

from __future__ import annotations

import io
import json
import re
import stat

import pytest

from skippy_chat.chat.history import History
from skippy_chat.chat.ledger import Ledger, Run
from skippy_chat.chat.locks import SessionLock
from tests.fakes.host import Broken, Desk, Terminal

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
NOW = 1_700_000_000_000


@pytest.fixture
def stored(desk: Desk) -> dict[str, str]:
    """Store a session of two branches, with hostile text; return the ids of its messages."""
    with History.open(desk.root / "data" / "history.db", now=lambda: NOW) as history:
        made = history.create_session(folder=desk.root, title="demo", settings={"temperature": 0.5})
        asked = history.append(made.id, None, "user", "hello\x1b]52;c;ZXZpbA==\x07 walrus")
        old = history.append(made.id, asked.id, "assistant", "first\x9b31m")
        history.save_ledger(old.id, Ledger("m", (1, 2, 3), 2, (Run(2, single=False),), "{}"))
        new = history.append(made.id, asked.id, "assistant", "second")
        return {"session": made.id, "asked": asked.id, "old": old.id, "new": new.id}


def titles(desk: Desk) -> list[str]:
    desk.run("sessions", "list", "--all", "--json")
    return [each["title"] for each in desk.json["sessions"]]


def test_a_pipe_gets_the_text_alone(desk: Desk, stored: dict[str, str]) -> None:
    assert desk.run("sessions", "export", "demo") == 0
    assert desk.out.startswith("# demo\n")
    assert "second" in desk.out
    assert "first" not in desk.out
    assert desk.err == ""
    assert [each.name for each in desk.root.iterdir() if each.suffix == ".md"] == []


@pytest.mark.parametrize("form", ["md", "json", "html"])
def test_nothing_that_a_terminal_acts_on_is_written(desk: Desk, stored: dict[str, str], form: str) -> None:
    desk.stdout = Terminal()
    assert desk.run("sessions", "export", "--format", form, "--all-branches", "-o", "-") == 0
    assert "walrus" in desk.out
    assert CONTROL.search(desk.out) is None


def test_a_terminal_gets_a_file_called_like_the_session(desk: Desk, stored: dict[str, str]) -> None:
    desk.stdout = Terminal()
    assert desk.run("sessions", "export") == 0
    path = desk.root / "demo.md"
    assert desk.out == f"Wrote 2 messages of demo to {path}.\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert desk.run("sessions", "export") == 1
    assert "there already" in desk.err
    assert desk.run("sessions", "export", "--force") == 0


def test_the_ending_of_the_file_tells_the_format(desk: Desk, stored: dict[str, str]) -> None:
    assert desk.run("sessions", "export", "demo", "-o", "out.html") == 0
    assert (desk.root / "out.html").read_text().startswith("<!doctype html>")
    assert desk.run("sessions", "export", "demo", "-o", "out.json") == 0
    assert desk.out.startswith("Wrote 3 messages of demo to ")
    assert json.loads((desk.root / "out.json").read_text())["format"] == "skippy-chat session"
    assert desk.run("sessions", "export", "demo", "-o", "out.txt", "--format", "json") == 0
    assert (desk.root / "out.txt").read_text() == (desk.root / "out.json").read_text()


def test_the_branch_is_chosen(desk: Desk, stored: dict[str, str]) -> None:
    desk.run("sessions", "export", "demo", "--branch", stored["old"])
    assert "first" in desk.out
    assert "second" not in desk.out
    desk.run("sessions", "export", "demo", "--branch", stored["asked"].lower())
    assert "first" not in desk.out
    desk.run("sessions", "export", "demo", "--all-branches")
    assert "**Branch 2, after message 1**" in desk.out
    desk.run("sessions", "export", "demo", "--format", "json", "--branch", "current")
    assert [each["content"] for each in desk.json["messages"]][1:] == ["second"]
    desk.run("sessions", "export", "demo", "--format", "json")
    assert len(desk.json["messages"]) == 3
    assert desk.run("sessions", "export", "demo", "--branch", "ZZZZZZZZ") == 1
    assert "sessions branches" in desk.err


def test_options_that_contradict_each_other(desk: Desk, stored: dict[str, str]) -> None:
    assert desk.run("sessions", "export", "--branch", "current", "--all-branches") == 2
    assert desk.run("sessions", "export", "--ledgers") == 2
    assert "Only JSON" in desk.err
    assert desk.run("sessions", "export", "nobody") == 1


def test_a_session_that_stands_nowhere_says_so(desk: Desk, stored: dict[str, str]) -> None:
    with History.open(desk.root / "data" / "history.db", now=lambda: NOW) as history:
        history.set_head(stored["session"], None)
    assert desk.run("sessions", "export", "demo") == 0
    assert "--all-branches has them all" in desk.err


def test_a_session_in_use_is_exported(desk: Desk, stored: dict[str, str]) -> None:
    with SessionLock(desk.root / "data" / "locks", stored["session"]):
        assert desk.run("sessions", "export", "demo") == 0


def test_a_reader_that_goes_away_is_no_riddle(desk: Desk, stored: dict[str, str]) -> None:
    desk.stdout = Broken()
    assert desk.run("sessions", "export", "demo") == 1
    assert desk.err == ""


def test_branches_are_listed_with_the_current_one_marked(desk: Desk, stored: dict[str, str]) -> None:
    assert desk.run("sessions", "branches", "demo") == 0
    lines = desk.out.splitlines()
    assert [line[:29] for line in lines[1:]] == [f"*  {stored['new']}", f"   {stored['old']}"]
    assert CONTROL.search(desk.out) is None
    desk.run("sessions", "branches", "demo", "--json")
    assert [(each["current"], each["messages"]) for each in desk.json["branches"]] == [(True, 2), (False, 2)]


def test_an_export_comes_in_again(desk: Desk, stored: dict[str, str]) -> None:
    desk.run("sessions", "export", "demo", "-o", "out.json", "--format", "json", "--ledgers")
    assert desk.run("sessions", "import", "out.json") == 0
    assert desk.out == (
        "Imported 3 messages on 2 branches as demo (imported).\nGo on: skippy-chat --session 'demo (imported)'\n"
    )
    assert desk.run("sessions", "import", "out.json", "--ledgers", "--title", "mine", "--json") == 0
    assert (desk.json["messages"], desk.json["branches"], desk.json["session"]["name"]) == (3, 2, "mine")
    mine = desk.json["session"]["id"]
    assert desk.json["session"]["folder"] == str(desk.root)
    with History.open(desk.root / "data" / "history.db", now=lambda: NOW) as history:
        plain = history.session("demo (imported)").id
        assert [len(history.tree(each, ledgers=True).ledgers) for each in (plain, mine)] == [0, 1]
    assert desk.run("sessions", "import", "out.json", "--title", "mine") == 1
    assert "'mine' exists" in desk.err
    assert sorted(titles(desk)) == ["demo", "demo (imported)", "mine"]


def test_a_list_comes_in_from_standard_input(desk: Desk) -> None:
    desk.stdin = io.StringIO('[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]')
    assert desk.run("sessions", "import", "-", "--title", "chat") == 0
    assert desk.out.startswith("Imported 2 messages on 1 branch as chat.\n")
    desk.run("sessions", "show", "chat")
    assert "\nAssistant:\nho\n" in desk.out
    assert stat.S_IMODE((desk.root / "data" / "history.db").stat().st_mode) == 0o600


def test_what_cannot_be_imported_leaves_nothing_behind(desk: Desk) -> None:
    (desk.root / "bad.json").write_text('[{"role": "user"}]')
    assert desk.run("sessions", "import", "bad.json") == 1
    assert desk.err == ("skippy-chat: messages[0].content: a text is wanted, and nothing is there. Add it.\n")
    assert desk.run("sessions", "import", "missing.json", "--json") == 1
    assert desk.json["error"]["code"] == "import"
    assert "No such file" in desk.json["error"]["message"]
    assert desk.run("sessions", "import", ".") == 1
    assert not (desk.root / "data").exists()


def test_notes_are_told_beside_the_result(desk: Desk) -> None:
    calls = [{"id": "c", "function": {"name": "x", "arguments": "{}"}}]
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": calls},
    ]
    (desk.root / "open.json").write_text(json.dumps(messages))
    assert desk.run("sessions", "import", "open.json") == 0
    assert desk.err == (
        "1 call at the end got no result; when the session is opened, the model is told that nothing ran.\n"
    )
    assert desk.run("sessions", "import", "open.json", "--json") == 0
    assert len(desk.json["notes"]) == 1


def test_a_pipe_gets_utf8_whatever_the_locale(desk: Desk) -> None:
    with History.open(desk.root / "data" / "history.db", now=lambda: NOW) as history:
        history.append(history.create_session(folder=desk.root).id, None, "user", "漢字 é")
    raw = io.BytesIO()
    desk.stdout = io.TextIOWrapper(raw, encoding="ascii", errors="backslashreplace")  # type: ignore[assignment]
    assert desk.run("sessions", "export", "--format", "json") == 0
    exported = raw.getvalue()
    assert json.loads(exported)["messages"][0]["content"] == "漢字 é"
    desk.stdin = io.TextIOWrapper(io.BytesIO(exported), encoding="ascii")
    desk.stdout = io.StringIO()
    assert desk.run("sessions", "import", "-") == 0
    desk.run("sessions", "show", "--json")
    assert desk.json["messages"][0]["content"] == "漢字 é"
