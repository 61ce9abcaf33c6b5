"""A scenario: what a person does, what the engine says, and what any face must have shown; read from a JSON file.

Nothing in it is of one face. A face has a ``Driver`` that carries out the actions with the face's own means and
returns what it showed; ``play`` holds it against the file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from skippy_chat.errors import EngineDied
from skippy_chat.events import CacheUse, MissReason, Timings, Usage
from tests.fakes.conversation import Call, FakeConversation, Question, Turn
from tests.fakes.conversation import Step as ModelStep

FOLDER = Path(__file__).parent

Ending: TypeAlias = Literal["answered", "stopped", "died", "done"]
"""A turn that ended well, was stopped, or lost its worker; ``done`` is an action without a turn."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the person answers to a question about a call."""

    allowed: bool
    scope: str = "once"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One action and its expectations; ``number`` is that of a user's message or a branch, counted from 1.

    ``text`` is what is said, or the new name. ``back`` goes to the branch that was shown before.
    ``stop_after``: the turn is stopped once this text of an answer, or of a running tool's output, has come.
    ``answers`` are given to the turn's questions in order. What is ``asked`` shows where a person can be, ``unasked``
    where not, and what would ask is denied there.
    """

    do: Literal["say", "edit", "regenerate", "branch", "continue", "remove", "back", "rename", "compact"]
    ends: Ending
    text: str = ""
    number: int = 0
    turn: Turn | None = None
    stop_after: str = ""
    shows: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    answers: tuple[Said, ...] = ()
    asked: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """The steps in order, and the (role, text) of the branch that is left; of hostile text its harmless end.

    Of what tools did only the steps tell: their results, and answers that only call them, are not in the history here.
    """

    steps: tuple[Step, ...]
    history: tuple[tuple[str, str], ...]

    def conversation(self) -> FakeConversation:
        """Return the scripted conversation that answers these steps."""
        return FakeConversation([step.turn for step in self.steps if step.turn is not None])


@dataclass(frozen=True, slots=True)
class Shown:
    """What a face showed for one step, and how it told the end."""

    text: str
    ended: Ending


class Driver(Protocol):
    """Carries out a scenario on one face; ``asks``: a person can be asked there."""

    asks: bool

    def carry_out(self, step: Step) -> Shown:
        """Do what the step says, wait until its turn has ended, and return what was shown since."""

    def history(self) -> Sequence[tuple[str, str]]:
        """Return the current branch, as (role, text), the way this face shows it."""


def load(name: str) -> Scenario:
    """Read ``NAME.json``."""
    data = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return Scenario(
        tuple(_step(dict(each)) for each in data["steps"]),
        tuple((role, text) for role, text in data["history"]),
    )


def play(scenario: Scenario, driver: Driver) -> None:
    """Hold a face against a scenario."""
    for number, step in enumerate(scenario.steps, 1):
        shown = driver.carry_out(step)
        where = f"step {number} ({step.do}) showed:\n{shown.text!r}"
        assert shown.ended == step.ends, where
        for text in (*step.shows, *(step.asked if driver.asks else step.unasked)):
            assert text in shown.text, f"{text!r} is missing; {where}"
        for text in step.never:
            assert text not in shown.text, f"{text!r} got through; {where}"
    found = [(role, text) for role, text in driver.history() if role != "tool" and text.strip()]
    assert [role for role, _ in found] == [role for role, _ in scenario.history]
    for (_, text), (_, end) in zip(found, scenario.history, strict=True):
        assert text.strip().endswith(end)


def _step(data: dict[str, Any]) -> Step:
    turn = data.pop("turn", None)
    data["answers"] = tuple(Said(**each) for each in data.pop("answers", ()))
    for word in ("shows", "never", "asked", "unasked"):
        data[word] = tuple(data.pop(word, ()))
    number = data.pop("number", 0) or data.pop("message", 0)
    return Step(turn=None if turn is None else _turn(dict(turn)), number=number, **data)


def _turn(data: dict[str, Any]) -> Turn:
    prompt, cached, dies = data.pop("prompt"), data.pop("cached"), data.pop("dies", None)
    pieces = tuple(data.pop("pieces"))
    miss = data.pop("miss", None)
    turn = Turn(
        pieces,
        usage=Usage(prompt, cached, prompt - cached, len(pieces), prompt + len(pieces)),
        cache=CacheUse("disk" if cached else "none", cached, MissReason(miss) if miss else None),
        timings=Timings(300.0, 90.0, 400.0, 250.0, 47.06),
        endless=data.pop("endless", False),
        reasoning=tuple(data.pop("reasoning", ())),
        limited=data.pop("limited", False),
        steps=tuple(_model_step(dict(each)) for each in data.pop("steps", ())),
        dies=None if dies is None else EngineDied(dies["message"], dies["hint"], tuple(dies["log"])),
    )
    assert not data, f"a turn has no {', '.join(data)}"
    return turn


def _model_step(data: dict[str, Any]) -> ModelStep:
    calls = tuple(_call(dict(each)) for each in data.pop("calls"))
    pieces, reasoning = tuple(data.pop("pieces", ())), tuple(data.pop("reasoning", ()))
    assert not data, f"a step has no {', '.join(data)}"
    return ModelStep(calls, pieces, reasoning)


def _call(data: dict[str, Any]) -> Call:
    asked = data.pop("question", None)
    question = None if asked is None else _question(dict(asked))
    for name in ("arguments", "output"):
        data[name] = tuple(data.pop(name, ()))
    return Call(question=question, **data)


def _question(data: dict[str, Any]) -> Question:
    for name in ("scopes", "rules"):
        data[name] = tuple(data.pop(name, ()))
    return Question(**data)
