"""Out and in again: an export that is imported and exported once more is the same, whatever it holds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from skippy_chat.chat.export import export_text
from skippy_chat.chat.history import History
from skippy_chat.chat.importing import read_import
from skippy_chat.chat.importing_settings import settings_that_travel
from skippy_chat.chat.ledger import Ledger, Run
from skippy_chat.chat.messages import Message, Session
from skippy_chat.chat.trees import SessionTree
from skippy_chat.config import Settings
from tests.chat.random_trees import trees

LATER = 1_800_000_000_000


def nameless(text: str) -> Any:
    """Return exported JSON with every id by the place where it is first met, and without the session's times."""
    data = json.loads(text)
    del data["session"]["created"], data["session"]["updated"]
    data["session"]["title"] = data["session"]["title"].removesuffix(" (imported)")
    ids = {each["id"]: number for number, each in enumerate(data["messages"])}
    turns: dict[str, int] = {}
    for message in data["messages"]:
        message["id"], message["parent"] = ids[message["id"]], ids.get(message["parent"])
        if "turn" in message:
            message["turn"] = turns.setdefault(message["turn"], len(turns))
    data["heads"] = {name: ids[at] for name, at in data["heads"].items()}
    for ledger in data.get("ledgers", ()):
        ledger["message"], ledger["base"] = ids[ledger["message"]], ids.get(ledger["base"])
    return data


def again(history: History, text: str) -> str:
    """Import an export and export what was stored."""
    imported = read_import(text.encode(), now=LATER, ledgers=True)
    session = history.plant(imported.tree, folder=Path("/there"))
    exported = export_text(history.tree(session.id, ledgers=True), "json")
    history.delete(session.id)
    return exported


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trees(ledgers=True))
def test_an_import_exports_as_what_was_imported(quick_history: History, tree: SessionTree) -> None:
    first = export_text(tree, "json")
    assert nameless(again(quick_history, first)) == nameless(first)


def talked(history: History) -> str:
    """Store a session with an edit, a call and ledgers; return its id."""
    made = history.create_session(
        folder=Path("/home/somebody/secret"),
        title="trip",
        model="default",
        settings={
            "temperature": 0.5,
            "pinned_time": 7,
            "approve": "auto-read",
            "tool_files": ["/x.py"],
            "sandbox": True,
        },
    )
    root = history.append(made.id, None, "system", "Be brief.")
    old = history.append(made.id, root.id, "user", "Where to?")
    answer = history.append(made.id, old.id, "assistant", "Rome.", turn="T")
    history.save_ledger(answer.id, Ledger("m", tuple(range(40)), 30, (Run(30, single=False),), "{}"))
    more = history.append(made.id, answer.id, "user", "And then?")
    last = history.append(made.id, more.id, "assistant", "Home.")
    history.save_ledger(last.id, Ledger("m", tuple(range(60)), 50, (Run(60, single=False),), "{}"), answer.id)
    history.append(made.id, root.id, "user", "Where to in May?")
    return made.id


def test_a_stored_session_comes_back_with_its_ledgers(history: History) -> None:
    first = export_text(history.tree(talked(history), ledgers=True), "json")
    assert nameless(again(history, first)) == nameless(first)
    ledgers = json.loads(first)["ledgers"]
    assert [(len(each["ids"]), each["shared"]) for each in ledgers] == [(40, 0), (20, 40)]


def test_ledgers_and_rights_stay_behind_unless_asked(history: History) -> None:
    session = talked(history)
    plain = export_text(history.tree(session), "json")
    assert "ledgers" not in json.loads(plain)
    assert json.loads(plain)["session"]["settings"] == {"temperature": 0.5, "pinned_time": 7, "sandbox": True}
    assert "somebody" not in plain
    full = export_text(history.tree(session, ledgers=True), "json")
    assert read_import(full.encode(), now=LATER).tree.ledgers == ()
    assert len(read_import(full.encode(), now=LATER, ledgers=True).tree.ledgers) == 2


def test_rights_in_a_file_get_nothing_here(history: History) -> None:
    """A file may have been written by anybody, with anything in it."""
    data = json.loads(export_text(history.tree(talked(history)), "json"))
    data["session"]["settings"] |= {
        "approve": "auto-read",
        "tool_files": ["/tmp/evil.py"],
        "pass_variables": ["AWS_SECRET"],
        "sandbox": False,
        "parallel_tools": True,
        "disk_budget": 1 << 60,
        "max_steps": 10_000,
    }
    imported = read_import(json.dumps(data).encode(), now=LATER)
    assert imported.tree.session.settings == {"temperature": 0.5, "pinned_time": 7}
    data["session"]["settings"]["sandbox"] = True
    held = read_import(json.dumps(data).encode(), now=LATER).tree.session.settings
    assert held == {"temperature": 0.5, "pinned_time": 7, "sandbox": True}


def test_what_a_session_keeps_travels_but_for_rights() -> None:
    kept = Settings(model="m", seed=1, system="s", tools=("read_file",), sandbox=True).for_session()
    assert settings_that_travel(kept) == {
        key: kept[key] for key in kept if key not in {"approve", "parallel_tools"}
    }


def test_one_branch_alone_is_a_session_too(history: History) -> None:
    tree = history.tree(talked(history))
    oldest = next(each for each in tree.messages if each.content == "Home.")
    text = export_text(tree.branch(oldest.id), "json")
    stored = history.plant(read_import(text.encode(), now=LATER).tree, folder=Path("/there"))
    assert stored.folder == "/there"
    assert [each.content for each in history.branch(history.head(stored.id))] == [
        "Be brief.", "Where to?", "Rome.", "And then?", "Home."
    ]  # fmt: skip
    assert history.tree(stored.id).messages[0].created == tree.messages[0].created


@pytest.mark.parametrize("form", ["md", "json", "html"])
def test_a_long_session_is_exported_at_once(form: Any) -> None:
    """A person waits for it: 400 messages of 1,000 characters, many branches of one root."""
    body = "Some words, *emphasis*, `code`.\n\n```python\nprint(1)\n```\n" * 20
    nodes = [Message("0", "S", None, "user", body)]
    nodes += [Message(str(n), "S", str(n - 1 if n % 10 else 0), "assistant", body) for n in range(1, 400)]
    tree = SessionTree(Session("S", "long", "", 1, 2, "m"), tuple(nodes), {"main": "399"})
    told: list[tuple[int, int]] = []
    text = export_text(tree, form, lambda *each: told.append(each))
    assert text.count("emphasis") == 400 * 20
    assert form == "json" or told == [(number, 400) for number in range(1, 401)]


def test_a_person_s_version_says_so_in_every_export(history: History) -> None:
    made = history.create_session(folder=Path("/here"), title="mine")
    asked = history.append(made.id, None, "user", "Well?")
    answer = history.append(made.id, asked.id, "assistant", "So.", state="interrupted")
    mine = replace(answer, content="Not so.", edited=True)
    last = history.copy_behind(made.id, asked.id, [mine])
    assert last is not None
    tree = history.tree(made.id)
    exported = json.loads(export_text(tree, "json"))
    assert [each.get("edited") for each in exported["messages"]] == [None, None, True]
    imported = read_import(json.dumps(exported).encode(), now=LATER, ledgers=False)
    session = history.plant(imported.tree, folder=Path("/there"))
    there = history.branch(history.head(session.id))
    assert [(each.content, each.edited) for each in there] == [("Well?", False), ("Not so.", True)]
    assert "## 2 · Assistant (interrupted, edited by a person)" in export_text(tree.branch(last), "md")
    assert "<h3>Assistant (interrupted, edited by a person) " in export_text(tree.branch(last), "html")
    assert "edited" not in export_text(tree.branch(answer.id), "md")
