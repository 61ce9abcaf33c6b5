"""Questions about the cache are answered beside the steps, on one thread, and never after the end."""

from __future__ import annotations

import threading
from typing import Any

from skippy_chat.engine.lookups import Lookups

Frame = dict[str, Any]


def test_questions_are_answered_in_order_on_one_thread_of_their_own() -> None:
    seen: list[tuple[int, int]] = []
    all_seen = threading.Event()

    def answer(frame: Frame) -> None:
        seen.append((frame["id"], threading.get_ident()))
        if len(seen) == 3:
            all_seen.set()

    lookups = Lookups(answer)
    for number in range(2):
        lookups.add({"id": number})
    lookups.start()
    lookups.add({"id": 2})
    assert all_seen.wait(30)
    lookups.close()
    assert [number for number, _ in seen] == [0, 1, 2]
    threads = {thread for _, thread in seen}
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_the_end_waits_for_the_question_being_answered_and_answers_no_other() -> None:
    began, go_on, seen = threading.Event(), threading.Event(), []

    def answer(frame: Frame) -> None:
        began.set()
        assert go_on.wait(30)
        seen.append(frame["id"])

    lookups = Lookups(answer)
    lookups.start()
    lookups.add({"id": 0})
    lookups.add({"id": 1})
    assert began.wait(30)
    closing = threading.Thread(target=lookups.close)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    go_on.set()
    closing.join(30)
    assert not closing.is_alive()
    lookups.add({"id": 2})
    assert seen == [0]
