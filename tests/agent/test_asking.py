"""Questions and answers across threads: none is lost, none is taken for another's."""

from __future__ import annotations

import threading

import pytest

from skippy_chat.agent.asking import Answer, Asking
from skippy_chat.errors import UsageError


def test_an_answer_before_the_waiting_counts() -> None:
    asking = Asking()
    asking.begin()
    asking.open("c1", ("once",))
    asking.decide("c1", Answer(allowed=True))
    assert asking.wait() == Answer(allowed=True)


def test_an_answer_from_another_thread_wakes_the_waiting() -> None:
    asking = Asking()
    asking.open("c1", ("once", "session"))
    thread = threading.Timer(0.05, asking.decide, ("c1", Answer(allowed=False, scope="session", reason="no")))
    thread.start()
    assert asking.wait() == Answer(allowed=False, scope="session", reason="no")
    thread.join()


def test_a_cancel_wakes_the_waiting_and_lasts_until_the_next_turn() -> None:
    asking = Asking()
    asking.open("c1", ("once",))
    thread = threading.Timer(0.05, asking.cancel)
    thread.start()
    assert asking.wait() is None
    thread.join()
    asking.open("c2", ("once",))
    asking.decide("c2", Answer(allowed=True))
    assert asking.wait() is None
    asking.begin()
    asking.open("c3", ("once",))
    asking.decide("c3", Answer(allowed=True))
    assert asking.wait() == Answer(allowed=True)


def test_what_fits_no_open_question_changes_nothing() -> None:
    asking = Asking()
    with pytest.raises(UsageError):
        asking.decide("c1", Answer(allowed=True))
    asking.open("c1", ("once",))
    for call, answer in (("c2", Answer(allowed=True)), ("c1", Answer(allowed=True, scope="always"))):
        with pytest.raises(UsageError):
            asking.decide(call, answer)
    asking.decide("c1", Answer(allowed=False))
    with pytest.raises(UsageError):
        asking.decide("c1", Answer(allowed=True))  # said already
    assert asking.wait() == Answer(allowed=False)
    with pytest.raises(UsageError):
        asking.decide("c1", Answer(allowed=True))  # closed by now


def test_answers_from_many_threads_count_once() -> None:
    asking = Asking()
    asking.open("c1", ("once",))
    told: list[str] = []

    def decide(number: int) -> None:
        try:
            asking.decide("c1", Answer(allowed=True, reason=str(number)))
            told.append(str(number))
        except UsageError:
            pass

    threads = [threading.Thread(target=decide, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    answer = asking.wait()
    for thread in threads:
        thread.join()
    assert answer is not None
    assert told == [answer.reason]
