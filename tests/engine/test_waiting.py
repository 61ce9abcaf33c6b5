"""The order in which a worker serves, and whom a stop reaches."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.engine.waiting import GIVE_WAY_SECONDS, Waiting

Frame = dict[str, Any]


class Stops:
    """Notes every stop, and for which request it was."""

    def __init__(self) -> None:
        self.seen: list[tuple[object, float | None]] = []
        self.running: Frame | None = None
        self.waiting = Waiting(self._stop)

    def _stop(self, patience: float | None) -> None:
        self.seen.append((None if self.running is None else self.running["id"], patience))

    def next(self) -> object:
        self.running = None  # until it is known what runs, a stop would be for nothing
        self.running = self.waiting.next()
        return None if self.running is None else self.running["id"]


def main(number: int) -> Frame:
    return {"id": number}


def aside(number: int) -> Frame:
    return {"id": number, "aside": True}


def test_the_conversation_goes_first() -> None:
    stops = Stops()
    for frame in (aside(1), main(2), aside(3), main(4)):
        stops.waiting.add(frame)
    assert [stops.next() for _ in range(4)] == [2, 4, 1, 3]
    assert stops.seen == []


def test_a_side_request_gives_way() -> None:
    stops = Stops()
    stops.waiting.add(aside(1))
    assert stops.next() == 1
    assert not stops.waiting.gave_way()
    stops.waiting.add(aside(2))
    assert not stops.waiting.gave_way()
    stops.waiting.add(main(3))
    assert stops.waiting.gave_way()
    assert stops.seen == [(1, GIVE_WAY_SECONDS)]
    assert stops.waiting.stop_if_asked()  # it began just after that, and had forgotten it
    assert stops.next() == 3
    assert not stops.waiting.gave_way()
    assert not stops.waiting.stop_if_asked()


def test_one_of_the_conversation_does_not_give_way() -> None:
    stops = Stops()
    stops.waiting.add(main(1))
    stops.next()
    stops.waiting.add(main(2))
    stops.waiting.add(aside(3))
    assert stops.seen == []
    assert not stops.waiting.stop_if_asked()


def test_a_stop_before_its_request_begins_is_not_lost() -> None:
    stops = Stops()
    stops.waiting.add(main(1))
    stops.waiting.add(main(2))
    stops.next()
    assert stops.waiting.cancel(2) is None
    assert stops.seen == []
    assert not stops.waiting.stop_if_asked()
    stops.next()
    assert stops.waiting.stop_if_asked()
    assert stops.seen == [(2, None)]


def test_a_stop_for_a_request_that_is_over_reaches_none() -> None:
    stops = Stops()
    stops.waiting.add(main(1))
    stops.waiting.add(main(2))
    stops.next()
    stops.next()
    assert stops.waiting.cancel(1) is None
    assert stops.seen == []
    assert not stops.waiting.stop_if_asked()


def test_a_side_request_that_was_given_up_is_not_begun() -> None:
    stops = Stops()
    for frame in (main(1), aside(2), aside(3)):
        stops.waiting.add(frame)
    stops.next()
    assert stops.waiting.cancel(2) == aside(2)
    assert stops.waiting.cancel(2) is None
    assert stops.next() == 3


def test_at_the_end_what_runs_is_stopped_and_nothing_else_begun() -> None:
    stops = Stops()
    stops.waiting.add(main(1))
    stops.waiting.add(main(2))
    stops.next()
    stops.waiting.close()
    assert stops.seen == [(1, None)]
    assert stops.waiting.closed
    assert stops.next() is None


_ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.booleans()),
        st.tuples(st.just("cancel"), st.integers(1, 12)),
        st.just(("next", None)),
    ),
    max_size=40,
)


@given(_ACTS)
def test_whatever_comes_all_is_served_once_and_in_order(acts: list[tuple[str, Any]]) -> None:
    stops = Stops()
    sent: dict[int, bool] = {}
    dropped: set[object] = set()
    served: list[object] = []
    for act, value in acts:
        if act == "add":
            number = len(sent) + 1
            sent[number] = value
            stops.waiting.add(aside(number) if value else main(number))
        elif act == "cancel":
            found = stops.waiting.cancel(value)
            if found is not None:
                assert sent[found["id"]]
                dropped.add(found["id"])
        elif len(served) + len(dropped) < len(sent):
            left = [n for n in sent if n not in served and n not in dropped]
            served.append(stops.next())
            assert served[-1] == min(left, key=lambda n: (sent[n], n))
    while len(served) + len(dropped) < len(sent):
        served.append(stops.next())
    assert sorted([*served, *dropped], key=str) == sorted(sent, key=str)
    assert all(number in served for number, _ in stops.seen)
