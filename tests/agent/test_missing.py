"""Why nothing was reused when the model changed: each says it once, and the first one finds its own again."""

from __future__ import annotations

import dataclasses
import os

import pytest

from skippy_chat.events import Event, PrefillStarted, StepFinished
from skippy_chat.models.resolve import BASE_ALIAS, resolve_model
from skippy_chat.paths import Paths
from tests.agent.conftest import Talks, play


def reason(events: list[Event]) -> str:
    """The kind of miss that a turn tells, before its answer and behind it."""
    (before,) = (each.miss_reason for each in events if isinstance(each, PrefillStarted))
    (behind,) = (each.cache.miss_reason for each in events if isinstance(each, StepFinished))
    assert before == behind
    return "" if before is None else before.kind


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(240)
def test_another_model_says_so_once(talks: Talks) -> None:
    cache = Paths.resolve(env=os.environ).cache_dir
    base = resolve_model(BASE_ALIAS, cache_dir=cache, progress=lambda what, done, total: None)
    talk = talks.open()
    assert reason(play(talk.send("Name a lake.")).events) == "nothing_stored"
    talk.close()

    other = dataclasses.replace(talks, model=base)
    talk = other.open()
    foretold = talk.foresee("Name a hill.")
    assert foretold.miss_reason is not None
    assert foretold.miss_reason.kind == "other_model"
    assert reason(play(talk.send("Name a hill.")).events) == "other_model"
    assert reason(play(talk.send("Name a wind.")).events) == ""
    talk.close()

    talk = talks.open()
    events = play(talk.send("Name a tree.")).events
    (started,) = (each for each in events if isinstance(each, PrefillStarted))
    assert started.cached > 0
    assert reason(events) != "other_model"
