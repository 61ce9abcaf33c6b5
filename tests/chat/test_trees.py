"""A session as one value: branches, sections, and storing it again."""

from __future__ import annotations

import dataclasses
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from skippy_chat.chat import message_rows
from skippy_chat.chat.history import History
from skippy_chat.chat.ledger import Ledger, Run
from skippy_chat.chat.messages import Message, Session, ToolCall
from skippy_chat.chat.trees import MAIN, SessionTree, branch_tree, joined_tree, nearest_ledgers
from skippy_chat.errors import HistoryError
from tests.chat.clock import Clock
from tests.chat.random_trees import planted, trees

SESSION = Session("S", "work", "/here", 1, 2, "m")


def message(name: str, parent: str | None, role: str = "user", **more: object) -> Message:
    return Message(name, "S", parent, role, name, **more)  # type: ignore[arg-type]


def forest() -> SessionTree:
    """Return two roots; the first has two branches, and the head stands in the middle of the second."""
    nodes = [("a", None), ("b", "a"), ("c", "b"), ("d", "a"), ("e", "d"), ("f", "e"), ("g", None), ("h", "g")]
    return SessionTree(SESSION, tuple(message(*each) for each in nodes), {MAIN: "e"})


def test_a_branch_is_the_way_to_a_message() -> None:
    tree = forest()
    assert [each.id for each in tree.branch().messages] == ["a", "d", "e"]
    assert tree.branch("c").heads == {MAIN: "c"}
    assert [each.id for each in tree.branch("h").messages] == ["g", "h"]
    with pytest.raises(HistoryError, match="no message x"):
        tree.branch("x")
    assert dataclasses.replace(tree, heads={}).branch() == SessionTree(SESSION, ())
    assert branch_tree(SESSION, tree.branch("c").messages) == tree.branch("c")
    assert branch_tree(SESSION, []).messages == ()


def test_a_face_joins_the_branches_that_it_knows() -> None:
    tree = forest()
    joined = joined_tree(SESSION, [tree.branch(each).messages for each in "cfh"], "e")
    assert joined == tree
    assert joined_tree(SESSION, [], None) == SessionTree(SESSION, ())


def test_sections_begin_with_the_current_branch_and_repeat_nothing() -> None:
    told = [(each.after, [(n, m.id) for n, m in each.messages]) for each in forest().sections()]
    assert told == [
        (None, [(1, "a"), (2, "d"), (3, "e")]),
        (1, [(4, "b"), (5, "c")]),
        (3, [(6, "f")]),
        (None, [(7, "g"), (8, "h")]),
    ]


@settings(max_examples=100, deadline=None)
@given(trees())
def test_sections_tell_every_message_once_behind_its_parent(tree: SessionTree) -> None:
    numbers: dict[str, int] = {}
    for section in tree.sections():
        after = section.after
        for number, each in section.messages:
            assert (None if each.parent is None else numbers[each.parent]) == after
            numbers[each.id] = after = number
    assert sorted(numbers.values()) == list(range(1, len(tree.messages) + 1))
    assert numbers.keys() == {each.id for each in tree.messages}


def test_a_result_finds_the_answer_that_called_it() -> None:
    calls = (ToolCall("1", "x", "{}"), ToolCall("2", "y", "{}"))
    nodes = (
        message("a", None, "assistant", tool_calls=calls),
        message("r1", "a", "tool"),
        message("r2", "r1", "tool"),
        message("lost", None, "tool"),
    )
    assert SessionTree(SESSION, nodes).callers() == {"r1": "a", "r2": "a", "lost": None}


def test_a_message_is_meant_by_its_id_or_the_start_of_it() -> None:
    tree = SessionTree(SESSION, (message("01ABCDEF", None), message("01ABCDEG", None)))
    assert tree.message_meant("01abcdef ") == tree.message_meant("01ABCDEF") == "01ABCDEF"
    with pytest.raises(HistoryError, match="several") as told:
        tree.message_meant("01ABCD")
    assert "01ABCDEG" in told.value.hint
    for unknown in ("01AB", "", "02ABCDEF"):
        with pytest.raises(HistoryError, match="no message"):
            tree.message_meant(unknown)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trees(ledgers=True))
def test_what_is_planted_is_the_tree_under_new_ids(quick_history: History, tree: SessionTree) -> None:
    stored = planted(quick_history, tree)
    ids = dict(zip((each.id for each in tree.messages), (each.id for each in stored.messages), strict=True))
    assert not set(ids) & set(ids.values())
    for old, new in zip(tree.messages, stored.messages, strict=True):
        expected = dataclasses.replace(
            old, id=new.id, session=stored.session.id, parent=ids.get(old.parent or ""), turn=new.turn
        )
        assert new == expected
        assert bool(new.turn) == bool(old.turn)
        assert new.turn not in {"T1", "T2"}
    assert {name: ids[at] for name, at in tree.heads.items()} == stored.heads
    assert {(ids[at], each.identity): each for at, each in tree.ledgers} == {
        (at, each.identity): each for at, each in stored.ledgers
    }
    quick_history.delete(stored.session.id)


def test_messages_of_one_turn_stay_together(history: History) -> None:
    nodes = [("a", None, "T"), ("b", "a", "T"), ("c", "b", "U"), ("d", "c", "")]
    tree = SessionTree(SESSION, tuple(message(name, parent, turn=turn) for name, parent, turn in nodes))
    turns = [each.turn for each in planted(history, tree).messages]
    assert turns[0] == turns[1]
    assert len(set(turns)) == 3
    assert turns[3] == ""


def test_a_title_that_is_taken_gets_a_mark(history: History) -> None:
    tree = SessionTree(SESSION, ())
    titles = [history.plant(tree, folder=Path("/here")).title for _ in range(3)]
    assert titles == ["work", "work (imported)", "work (imported 2)"]
    long = SessionTree(dataclasses.replace(SESSION, title="x" * 200), ())
    assert [len(history.plant(long, folder=Path("/here")).title) for _ in range(2)] == [200, 191]
    assert history.plant(tree, folder=Path("/here"), title="mine").title == "mine"
    with pytest.raises(HistoryError, match="'mine' exists"):
        history.plant(tree, folder=Path("/here"), title="mine")
    # An id of another session is no free name: it would be opened in its place.
    stolen = SessionTree(dataclasses.replace(SESSION, title=history.session("work").id), ())
    assert history.plant(stolen, folder=Path("/here")).title.endswith(" (imported)")


def test_a_plant_that_fails_leaves_nothing(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = forest()
    told: list[tuple[int, int]] = []

    def full(*_: object) -> None:
        raise HistoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr("skippy_chat.chat.message_rows.set_head", full)
        with pytest.raises(HistoryError, match="no room"):
            history.plant(tree, folder=Path("/here"), on_progress=lambda *each: told.append(each))
    assert told == [(0, 8)]
    assert history.sessions() == []
    assert history.search("a") == []


def test_a_tree_is_read_at_one_moment(
    history: History, database: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = history.create_session(folder=Path("/here"))
    first = history.append(session.id, None, "user", "one")
    real, calls = message_rows.where, []

    def meanwhile(connection: sqlite3.Connection, condition: str, *values: str | None) -> list[Message]:
        found = real(connection, condition, *values)
        calls.append(condition)
        if len(calls) == 1:
            with History.open(database, now=clock) as other:
                other.append(session.id, first.id, "assistant", "two")
        return found

    with monkeypatch.context() as patch:
        patch.setattr("skippy_chat.chat.message_rows.where", meanwhile)
        read = history.tree(session.id)
    # The messages were read before the other wrote, the heads after it.
    assert ([each.id for each in read.messages], read.heads) == ([first.id], {MAIN: first.id})
    assert [each.content for each in history.tree(session.id).messages] == ["one", "two"]


def test_a_ledger_builds_on_the_nearest_one_above() -> None:
    ledger = Ledger("m", (1, 2), 1, (Run(2, single=False),))
    tree = dataclasses.replace(forest(), ledgers=(("a", ledger), ("e", ledger), ("f", ledger), ("h", ledger)))
    assert nearest_ledgers(tree) == {("a", "m"): None, ("e", "m"): "a", ("f", "m"): "e", ("h", "m"): None}
