"""Looks beside the conversation: one at a time, the newest of a kind, and none that is out of date."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

import pytest

from skippy_chat.errors import EngineDied
from skippy_chat.tui.looks import Looks, Seen

pytestmark = pytest.mark.timeout(30)


class Place:
    """An app's thread: what is handed over is run when the test says so."""

    def __init__(self) -> None:
        self.handed: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self.clock = 0.0
        self.told: list[object] = []
        self.looks = Looks(self.handed.put, lambda: self.clock)

    def run(self, times: int = 1) -> None:
        for _ in range(times):
            self.handed.get(timeout=20)()

    def take(self, seen: Seen[object]) -> None:
        self.told.append(seen.found if seen.error is None else seen.error)


def test_what_is_asked_is_told_with_the_time_it_took() -> None:
    place = Place()
    seen: list[Seen[int]] = []

    def question() -> int:
        place.clock = 3.0
        return 7

    place.looks.ask("a", question, seen.append)
    place.run()
    assert seen == [Seen(7, None, 3.0)]


def test_one_at_a_time_and_only_the_newest_of_a_kind() -> None:
    place = Place()
    entered, go_on = threading.Event(), threading.Event()
    running: list[int] = []
    most: list[int] = []
    asked: list[str] = []

    def question(text: str) -> str:
        asked.append(text)
        running.append(1)
        most.append(len(running))
        entered.set()
        assert go_on.wait(20)
        running.pop()
        return text

    for text in ("first", "second", "third"):
        place.looks.ask("a", lambda text=text: question(text), place.take)  # type: ignore[misc]
        assert entered.wait(20)
    place.looks.ask("b", lambda: question("other"), place.take)
    go_on.set()
    place.run(3)
    assert asked == ["first", "third", "other"]
    assert place.told == ["third", "other"]
    assert max(most) == 1


def test_what_is_forgotten_is_not_told_even_when_it_was_handed_over() -> None:
    place = Place()
    place.looks.ask("a", lambda: "old", place.take)
    handed = place.handed.get(timeout=20)
    place.looks.forget("a")
    handed()
    assert place.told == []
    place.looks.ask("a", lambda: "new", place.take)
    place.run()
    assert place.told == ["new"]


def test_a_failure_is_told_and_the_next_look_works() -> None:
    place = Place()
    died = EngineDied("It ended.")

    def fails() -> object:
        raise died

    place.looks.ask("a", fails, place.take)
    place.run()
    place.looks.ask("a", lambda: 1, place.take)
    place.run()
    assert place.told == [died, 1]


def test_an_app_that_has_ended_is_told_nothing() -> None:
    done = threading.Event()

    def gone(_what: Callable[[], object]) -> None:
        done.set()
        raise RuntimeError("Event loop is closed")

    looks = Looks(gone, lambda: 0.0)
    looks.ask("a", lambda: 1, lambda _seen: pytest.fail("told"))
    assert done.wait(20)
