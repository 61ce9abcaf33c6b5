"""Side requests over workers that die: everybody hears of it once, and only the conversation counts."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from skippy_chat.engine.client import WORKER, EngineClient
from skippy_chat.engine.protocol import LoadRequest, StepReply
from skippy_chat.engine.supervisor import Supervisor
from skippy_chat.errors import EngineDied
from skippy_chat.events import Event, Notice, PrefillStarted, StepFinished, TextDelta
from tests.engine.test_overlap import HEAD, LONG, TITLE, WAIT, Read, ask, read

pytestmark = [pytest.mark.native, pytest.mark.model]

Start = Callable[..., Supervisor]


@pytest.fixture
def start(tmp_path: Path, default_model: Path) -> Iterator[Start]:
    opened: list[Supervisor] = []

    def begin(command: Sequence[str] = WORKER) -> Supervisor:
        request = LoadRequest(
            model=str(default_model),
            checkpoints=str(tmp_path / "tree"),
            digests=str(tmp_path / "digests.json"),
            proofs=str(tmp_path / "proofs"),
            context=2048,
            threads=1,
            flash_attention="auto",
            disk_budget=1 << 30,
        )
        supervisor = Supervisor(lambda: EngineClient(tmp_path / "worker.log", command=command), request)
        supervisor.open(lambda what, done, total: None)
        opened.append(supervisor)
        return supervisor

    yield begin
    for each in opened:
        each.close()


def texts(events: Iterator[Event]) -> list[str]:
    return [each.text for each in events if isinstance(each, Notice)]


def test_one_that_gave_way_is_asked_again(start: Start) -> None:
    engine = start()
    read(engine.run(ask("first", *HEAD)))
    # Long enough that it still runs when the main one comes.
    side = Read(engine.aside(ask("story", *HEAD, LONG, max_tokens=600))).start()
    assert side.spoke.wait(WAIT)
    main = read(engine.run(ask("second", *HEAD)))
    side.end()
    assert main.counts[2] == 0
    assert side.reply.finish_reason == "length"
    attempts = [each for each in side.got if isinstance(each, StepFinished)]
    assert [each.finish_reason for each in attempts] == ["cancelled", "length"]
    assert attempts[0].at_ms <= main.at(PrefillStarted)
    assert main.at(StepFinished) <= attempts[1].at_ms
    for each in attempts:
        assert each.usage.cached_tokens + each.usage.prefilled_tokens == each.usage.prompt_tokens
    assert sum(isinstance(each, StepReply) for each in side.got) == 1


def test_stopping_the_turn_leaves_what_runs_aside(start: Start) -> None:
    engine = start()
    side = Read(engine.aside(ask("story", *HEAD, LONG, max_tokens=40))).start()
    assert side.spoke.wait(WAIT)
    engine.cancel()
    assert side.end().reply.finish_reason == "length"
    assert sum(isinstance(each, StepFinished) for each in side.got) == 1


def test_closing_a_side_request_stops_it(start: Start) -> None:
    engine = start()
    items = engine.aside(ask("story", *HEAD, LONG, max_tokens=1500))
    assert any(isinstance(item, TextDelta) for item in items)
    items.close()
    # The next one aside waits for its end, and finds what it had read.
    again = read(engine.aside(ask("story", *HEAD, LONG)))
    assert again.counts[2] == 0


def test_an_iterator_that_somebody_still_holds_does_not_block_the_next_turn(start: Start) -> None:
    engine = start()
    left = engine.run(ask("left", *HEAD, LONG, max_tokens=1500))
    assert any(isinstance(item, TextDelta) for item in left)
    engine.begin()
    assert read(engine.run(ask("next", *HEAD))).reply.finish_reason != "cancelled"
    assert list(left) == []


def test_three_deaths_that_both_hear_of_are_three(start: Start) -> None:
    engine = start((sys.executable, "-m", "tests.engine.faulty_worker", "leave", "3", "always"))
    hints = []
    for number in range(3):
        list(engine.ready())
        main = Read(engine.run(ask(f"turn {number}", *HEAD, LONG, max_tokens=100))).start()
        assert main.spoke.wait(WAIT)
        side = Read(engine.aside(ask("title", *HEAD, TITLE))).start()
        for each in (main.end(), side.end()):
            assert isinstance(each.error, EngineDied)
        assert main.error is not None
        hints.append(main.error.hint)
    assert ["third time" in hint for hint in hints] == [False, False, True]
    with pytest.raises(EngineDied, match="code 7"):
        list(engine.ready())


def test_a_death_that_only_a_side_request_saw_is_told_to_the_next_turn(start: Start) -> None:
    engine = start()
    side = Read(engine.aside(ask("story", *HEAD, LONG, max_tokens=1500))).start()
    assert side.spoke.wait(WAIT)
    assert engine.pid is not None
    os.kill(engine.pid, signal.SIGKILL)
    assert isinstance(side.end().error, EngineDied)
    told = texts(engine.ready())
    # Between these, loading tells how far it is whenever five seconds have gone by.
    assert "signal 9" in told[0]
    assert told[1].endswith("is started again.")
    assert all(" of " in each for each in told[2:-1])
    assert "loaded again" in told[-1]
    assert read(engine.run(ask("turn", *HEAD))).reply.finish_reason != "cancelled"


def test_a_side_request_starts_no_worker(start: Start) -> None:
    engine = start()
    engine.close()
    with pytest.raises(EngineDied, match="no worker"):
        list(engine.aside(ask("title", *HEAD, TITLE)))
    assert engine.pid is None


def test_closing_ends_what_runs_aside(start: Start) -> None:
    engine = start()
    side = Read(engine.aside(ask("story", *HEAD, LONG, max_tokens=1500))).start()
    assert side.spoke.wait(WAIT)
    engine.close()
    side.end()
    assert side.error is not None or side.reply.finish_reason == "cancelled"
