"""Frames of several calls on one pipe: each call gets its own, and nothing else."""

from __future__ import annotations

import contextlib
import queue
from typing import Any

from skippy_chat.engine.exchange import Call, Exchange, Frame
from skippy_chat.engine.watch import Limits, Watch


def event(number: int, **more: Any) -> Frame:
    return {"frame": "event", "id": number, **more}


def reply(number: int) -> Frame:
    return {"frame": "reply", "id": number}


def read(call: Call) -> list[Frame | None]:
    frames = []
    with contextlib.suppress(queue.Empty):
        while True:
            frames.append(call.frames.get_nowait())
    return frames


def test_each_call_gets_its_own_frames_in_order() -> None:
    exchange = Exchange()
    one, two = exchange.open(), exchange.open()
    told = [event(2, n=1), event(1, n=2), event(2, n=3), reply(1), reply(2)]
    for frame in told:
        exchange.deliver(frame)
    assert read(one) == [told[1], told[3]]
    assert read(two) == [told[0], told[2], told[4]]


def test_an_event_after_the_reply_goes_to_the_conversations_next_call_and_never_to_one_aside() -> None:
    exchange = Exchange()
    first = exchange.open()
    exchange.deliver(reply(first.number))
    assert not exchange.close(first)
    late = [event(first.number, n=1), event(first.number, n=2)]
    exchange.deliver(late[0])
    aside = exchange.open(aside=True)
    exchange.deliver(late[1])
    second = exchange.open()
    third = event(first.number, n=3)
    exchange.deliver(third)
    assert read(aside) == []
    assert read(second) == [*late, third]


def test_nothing_is_put_behind_a_reply() -> None:
    exchange = Exchange()
    call = exchange.open()
    exchange.deliver(reply(call.number))
    exchange.deliver(event(call.number, n=1))
    assert read(call) == [reply(call.number)]
    exchange.close(call)
    assert read(exchange.open()) == [event(call.number, n=1)]


def test_a_call_that_was_given_up_is_told_to_nobody_until_it_has_ended() -> None:
    exchange = Exchange()
    left, other = exchange.open(), exchange.open()
    exchange.deliver(event(left.number, n=1))
    assert exchange.close(left)
    exchange.deliver(event(left.number, n=2))
    exchange.deliver(reply(left.number))
    exchange.deliver(event(left.number, n=3))
    assert read(other) == [event(left.number, n=3)]


def test_a_call_whose_answer_lies_ready_needs_no_stop() -> None:
    exchange = Exchange()
    call = exchange.open()
    exchange.deliver(reply(call.number))
    assert not exchange.close(call)


def test_every_call_hears_of_the_end_once_also_one_opened_after_it() -> None:
    exchange = Exchange()
    one, two = exchange.open(), exchange.open(aside=True)
    exchange.end()
    assert [read(one), read(two), read(exchange.open())] == [[None], [None], [None]]
    assert not exchange.close(one)


def test_calls_are_named_by_their_turn() -> None:
    exchange = Exchange()
    numbers = [
        exchange.open(turn="a").number,
        exchange.open(turn="b", aside=True).number,
        exchange.open(turn="a").number,
    ]
    assert exchange.numbers("a") == [numbers[0], numbers[2]]
    assert exchange.numbers("b") == [numbers[1]]
    assert exchange.numbers(None) == [numbers[0], numbers[2]]
    assert exchange.numbers("c") == []


def test_an_error_of_the_pipe_is_for_every_call() -> None:
    exchange = Exchange()
    calls = [exchange.open(), exchange.open(aside=True)]
    broken = {"frame": "error", "id": None}
    exchange.deliver(broken)
    assert [read(call) for call in calls] == [[broken], [broken]]


def test_a_call_that_waits_behind_another_does_not_count_as_hung() -> None:
    exchange = Exchange()
    running, waiting = exchange.open(), exchange.open(aside=True)
    watch = Watch(Limits(silence=60.0, idle=60.0, busy=10.0))
    for _ in range(5):
        watch.waited(8.0)
        exchange.deliver(event(running.number))
        exchange.look(waiting, watch)
        assert watch.verdict == ""
    watch.waited(10.0)
    exchange.look(waiting, watch)
    assert "without a result" in watch.verdict


def test_a_beat_is_a_sign_of_life_for_every_call() -> None:
    exchange = Exchange()
    watches = [(exchange.open(), Watch(Limits(silence=5.0))) for _ in range(2)]
    for beat in range(4):
        exchange.deliver({"frame": "beat", "processor": float(beat)})
        for call, watch in watches:
            watch.waited(4.0)
            exchange.look(call, watch)
            assert watch.verdict == ""
            assert read(call) == []
