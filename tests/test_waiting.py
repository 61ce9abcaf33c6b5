"""The wait for a prompt's first part is a wait, too: it counts from when the reading began."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

import pytest

from skippy_chat import headless
from skippy_chat.events import Event, PrefillProgress, PrefillStarted, StepFinished, TextDelta, TurnFinished
from skippy_chat.repl import choose_face
from skippy_chat.repl.turn import run_turn
from skippy_chat.talk import Talk
from tests.fakes.conversation import FakeConversation
from tests.fakes.host import Terminal

Run = Callable[[Iterator[Event], Talk, Callable[[], float]], None]


def by_run(events: Iterator[Event], talk: Talk, clock: Callable[[], float]) -> None:
    headless.run_turn(FakeConversation(), events, shape=headless.Shape.TEXT, stdout=io.StringIO(), talk=talk)


def by_repl(events: Iterator[Event], talk: Talk, clock: Callable[[], float]) -> None:
    face = choose_face(io.StringIO(), io.StringIO(), env={}, monotonic=clock, plain=True)
    run_turn(FakeConversation(), lambda: events, face, talk=talk)


@pytest.mark.parametrize("run", [by_run, by_repl])
@pytest.mark.parametrize(("seconds", "shown"), [(0.5, False), (3.0, True)])
def test_the_first_part_shows_when_it_took_a_while(run: Run, seconds: float, *, shown: bool) -> None:
    now = 0.0

    def events() -> Iterator[Event]:
        nonlocal now
        yield PrefillStarted(prompt=900, cached=68)
        now += seconds
        yield PrefillProgress(done=256, total=832)
        yield TextDelta(text="Hello.")
        yield StepFinished(finish_reason="stop")
        yield TurnFinished(message="m", finish_reason="stop")

    terminal = Terminal()
    run(events(), Talk(terminal, lambda: now), lambda: now)
    assert ("Reading the prompt: 256 of 832" in terminal.getvalue()) is shown
