"""Searching, deleting, restoring and pruning sessions on the command line."""

from __future__ import annotations

import io
import json

import pytest

from skippy_chat.chat.history import History
from skippy_chat.chat.locks import SessionLock
from tests.fakes.host import Desk, Terminal

DAY = 24 * 3600 * 1000


@pytest.fixture
def stored(desk: Desk) -> dict[str, str]:
    """Two sessions here and one elsewhere; returns their ids by title."""
    made: dict[str, str] = {}
    with History.open(desk.root / "data" / "history.db", now=desk.host().now_ms) as history:
        for title, folder, text in (
            ("trip", desk.root, "where is the harbour wall?"),
            ("café", desk.root, "a walrus\x1b[2J"),
            ("far", desk.root / "else", "another harbour"),
        ):
            made[title] = history.create_session(folder=folder, title=title).id
            history.append(made[title], None, "user", text)
    return made


def titles(desk: Desk, *options: str) -> list[str]:
    assert desk.run("sessions", "list", "--json", *options) == 0
    return sorted(each["title"] for each in desk.json["sessions"])


def test_list_searches_titles_and_messages(desk: Desk, stored: dict[str, str]) -> None:
    assert titles(desk, "--search", "harbour") == ["trip"]
    assert desk.json["sessions"][0]["found"] == "where is the [harbour] wall?"
    assert titles(desk, "--search", "harbour", "--all") == ["far", "trip"]
    assert titles(desk, "--search", "CAFE") == ["café"]
    assert titles(desk, "--search", '"') == ["café", "trip"]
    assert titles(desk, "--search", "harbour walrus") == []
    desk.run("sessions", "list", "--search", "walrus")
    assert "a [walrus]" in desk.out
    assert "\x1b" not in desk.out
    desk.run("sessions", "list", "--search", "unicorn")
    assert desk.out == ""
    assert "--all looks in every folder" in desk.err


def test_delete_and_restore(desk: Desk, stored: dict[str, str]) -> None:
    assert desk.run("sessions", "delete", "trip") == 0
    assert desk.out.endswith(f"skippy-chat sessions restore {stored['trip']}\n")
    assert titles(desk) == ["café"]
    assert titles(desk, "--deleted") == ["trip"]
    assert desk.json["sessions"][0]["deleted"] == desk.host().now_ms()
    assert desk.run("sessions", "show", "trip") == 1
    assert desk.run("sessions", "delete", "trip") == 1
    assert desk.run("sessions", "restore", "trip", "--json") == 0
    assert desk.json["session"]["deleted"] is None
    assert titles(desk) == ["café", "trip"]
    assert desk.run("sessions", "restore", "trip") == 1
    assert "No deleted session" in desk.err


def test_a_name_that_is_taken_is_told(desk: Desk, stored: dict[str, str]) -> None:
    desk.run("sessions", "delete", "trip")
    desk.run("sessions", "rename", "café", "trip")
    assert desk.run("sessions", "restore", stored["trip"][:12].lower()) == 0
    assert desk.out == "Restored trip, as trip (restored): its name is taken.\n"


def test_a_session_in_use_is_not_deleted(desk: Desk, stored: dict[str, str]) -> None:
    with SessionLock(desk.root / "data" / "locks", stored["trip"]):
        assert desk.run("sessions", "delete", "trip") == 1
    assert titles(desk) == ["café", "trip"]


def test_nothing_is_deleted_yet(desk: Desk) -> None:
    assert desk.run("sessions", "list", "--deleted") == 0
    assert "No session is deleted." in desk.err
    assert desk.run("sessions", "restore", "trip") == 1
    assert desk.run("sessions", "prune", "--json") == 0
    assert desk.json == {"schema": 1, "dry_run": False, "removed": [], "freed_bytes": 0}
    assert not (desk.root / "data").exists()
    assert desk.run("sessions", "list", "--deleted", "--search", "x") == 2


def test_prune_removes_what_was_deleted_long_ago(desk: Desk, stored: dict[str, str]) -> None:
    now = desk.host().now_ms()
    with History.open(desk.root / "data" / "history.db", now=lambda: now - 31 * DAY) as history:
        history.put_away(stored["trip"])
    with History.open(desk.root / "data" / "history.db", now=lambda: now - 3 * DAY) as history:
        history.put_away(stored["far"])
    folder = desk.root / "cache" / "tool-output" / stored["trip"]
    folder.mkdir(parents=True)
    assert desk.run("sessions", "prune", "--dry-run", "--json") == 0
    assert desk.json["removed"] == [stored["trip"]]
    assert titles(desk, "--deleted") == ["far", "trip"]
    desk.stdin = io.StringIO("y\n")
    assert desk.run("sessions", "prune") == 2  # nobody can be asked
    desk.stdin, desk.stdout = Terminal("y\n"), Terminal()
    assert desk.run("sessions", "prune") == 0
    desk.stdin, desk.stdout = io.StringIO(), io.StringIO()
    assert titles(desk, "--deleted") == ["far"]
    assert not folder.exists()
    assert desk.run("sessions", "prune", "--older-than", "4d", "--yes") == 0
    assert desk.out == "Removed 0 sessions.\n"
    assert desk.run("sessions", "prune", "--older-than", "2d", "--yes") == 0
    assert titles(desk, "--deleted") == []
    assert titles(desk, "--all") == ["café"]


def test_prune_all(desk: Desk, stored: dict[str, str]) -> None:
    desk.run("sessions", "delete", "trip")
    assert desk.run("sessions", "prune", "--all", "--yes", "--json") == 0
    assert json.loads(desk.out)["removed"] == [stored["trip"]]
    assert titles(desk, "--deleted") == []
