from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skippy_chat.chat.history import History
from skippy_chat.chat.ledger import Ledger, Run
from skippy_chat.errors import HistoryError


def ledger(ids: tuple[int, ...], identity: str = "m") -> Ledger:
    schedule = (Run(len(ids), single=False),) if ids else ()
    return Ledger(identity, ids, len(ids) // 2, schedule, f"sampling of {identity}")


def message(history: History, session: str) -> str:
    return history.append(session, None, "assistant", "").id


@pytest.fixture
def session(history: History) -> str:
    return history.create_session(folder=Path("/here")).id


def raw_rows(database: Path) -> dict[str, tuple[str | None, int, int]]:
    with sqlite3.connect(database) as raw:
        rows = raw.execute("SELECT message, base, shared, length(ids) FROM ledger").fetchall()
    raw.close()
    return {row[0]: row[1:] for row in rows}


def test_a_ledger_belongs_to_a_message_and_a_model(history: History, session: str) -> None:
    first = message(history, session)
    history.save_ledger(first, ledger((1, 2, 3)))
    history.save_ledger(first, ledger((7, 8), "other"))
    assert history.ledger(first, "m") == ledger((1, 2, 3))
    assert history.ledger(first, "other") == ledger((7, 8), "other")
    assert history.ledger(first, "third") is None
    assert history.ledger(message(history, session), "m") is None
    assert history.ledger_identities(first) == ["m", "other"]
    with pytest.raises(HistoryError):
        history.save_ledger("no such", ledger(()))


def test_only_new_ids_take_room(history: History, session: str, database: Path) -> None:
    first, second, third = (message(history, session) for _ in range(3))
    history.save_ledger(first, ledger((1, 2, 3, 4)))
    history.save_ledger(second, ledger((1, 2, 3, 9, 8, 7)), first)
    history.save_ledger(third, ledger((1, 2)), second)
    assert raw_rows(database) == {first: (None, 0, 16), second: (first, 3, 12), third: (second, 2, 0)}
    assert history.ledger(second, "m") == ledger((1, 2, 3, 9, 8, 7))
    assert history.ledger(third, "m") == ledger((1, 2))


def test_what_is_no_base_is_left_out(history: History, session: str, database: Path) -> None:
    elsewhere = message(history, history.create_session(folder=Path("/here")).id)
    history.save_ledger(elsewhere, ledger((1, 2)))
    of_another_model, bare = message(history, session), message(history, session)
    history.save_ledger(of_another_model, ledger((1, 2), "other"))
    for base in (elsewhere, of_another_model, bare, "no such"):
        last = message(history, session)
        history.save_ledger(last, ledger((1, 2)), base)
        history.save_ledger(last, ledger((1, 2)), last)
        assert raw_rows(database)[last] == (None, 0, 8)


def test_replacing_a_base_does_not_change_what_was_built_on_it(history: History, session: str) -> None:
    first, second, third = (message(history, session) for _ in range(3))
    history.save_ledger(first, ledger((1, 2, 3)))
    history.save_ledger(second, ledger((1, 2, 3, 4)), first)
    history.save_ledger(third, ledger((1, 2, 3, 4, 5)), second)
    history.save_ledger(first, ledger((1, 2, 3, 4, 9)), third)  # would be a circle
    assert history.ledger(first, "m") == ledger((1, 2, 3, 4, 9))
    assert history.ledger(second, "m") == ledger((1, 2, 3, 4))
    assert history.ledger(third, "m") == ledger((1, 2, 3, 4, 5))


_ids = st.lists(st.integers(0, 3), max_size=12).map(tuple)
_saves = st.lists(st.tuples(st.integers(0, 5), st.one_of(st.none(), st.integers(0, 5)), _ids), max_size=30)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_saves)
def test_any_order_of_saves_reads_back(
    quick_history: History, saves: list[tuple[int, int | None, tuple[int, ...]]]
) -> None:
    history = quick_history
    session = history.create_session(folder=Path("/here")).id
    messages = [message(history, session) for _ in range(6)]
    model: dict[int, Ledger] = {}
    for at, base, ids in saves:
        model[at] = ledger(ids)
        history.save_ledger(messages[at], model[at], None if base is None else messages[base])
        for each in range(6):
            assert history.ledger(messages[each], "m") == model.get(each)
            expected = model[each].answer if each in model else None
            assert history.answer_ids(messages[each], "m") == expected


def test_a_chain_of_a_thousand_answers(quick_history: History, session: str, database: Path) -> None:
    history = quick_history
    base: str | None = None
    ids: tuple[int, ...] = ()
    for number in range(1000):
        ids += tuple(range(number, number + 20))
        last = history.append(session, base, "assistant", "").id
        stored = Ledger("m", ids, len(ids) - 10, (Run(len(ids) - 10, single=False), Run(9, single=True)))
        history.save_ledger(last, stored, base)
        base = last
    branch = history.branch(last)
    statements: list[str] = []
    history._connection.set_trace_callback(statements.append)
    assert history.ledger(last, "m") == stored
    assert len(statements) == 1001  # one row for each answer, and no more
    statements.clear()
    answers = [history.answer_ids(each.id, "m") for each in branch]
    assert answers[-1] == stored.answer
    assert None not in answers
    assert len(statements) == 1000  # no answer needs another's row
    assert sum(row[2] for row in raw_rows(database).values()) == 4 * len(ids)


@pytest.mark.parametrize(
    "damage",
    ["ids = x'010203'", "ids = x''", "cuts = x'ff'", "sampled = x'05'", "prompt_tokens = 99", "shared = 9"],
)
def test_a_damaged_ledger_counts_as_none(history: History, session: str, database: Path, damage: str) -> None:
    first, second = message(history, session), message(history, session)
    history.save_ledger(first, ledger((1, 2, 3)))
    history.save_ledger(second, ledger((1, 2, 3, 4)), first)
    with sqlite3.connect(database) as raw:
        raw.execute(f"UPDATE ledger SET {damage} WHERE message = ?", (first,))
    raw.close()
    assert history.ledger(first, "m") is None
    assert history.answer_ids(first, "m") is None
    with sqlite3.connect(database) as raw:
        raw.execute("DELETE FROM ledger WHERE message = ?", (first,))
    raw.close()
    assert history.ledger(second, "m") is None
