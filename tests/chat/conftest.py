from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from skippy_chat.chat.history import History
from tests.chat.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history.db"


@pytest.fixture
def history(database: Path, clock: Clock) -> Iterator[History]:
    with History.open(database, now=clock) as opened:
        yield opened


@pytest.fixture
def quick_history(history: History) -> History:
    """A history that does not wait for the disk, for tests that write a lot and are not about durability."""
    history._connection.execute("PRAGMA synchronous = OFF")
    return history
