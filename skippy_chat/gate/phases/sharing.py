"""Two processes on one checkpoint folder: by turns, each finds what the other recorded; at once, neither is wrong."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from skippy_chat.errors import SkippyError
from skippy_chat.gate.ground import Ground
from skippy_chat.gate.phases.replays import compare
from skippy_chat.gate.phases.tails import all_cached, same_answer
from skippy_chat.gate.stage import Stage, Turn
from skippy_chat.gate.talk import Talk, replay_request
from skippy_chat.gate.values import Sheet

_ROUNDS = 3


def second_stage(ground: Ground, first: Stage) -> Stage:
    """Return another stage on the folder of the first; both know one tree."""
    stage = ground.stage(f"{first.name}-other", checkpoints=first.load.checkpoints)
    stage.tree = first.tree
    return stage


def share(sheet: Sheet, asked: Talk, second: Stage, ground: Ground) -> None:
    """Let two workers, one thread each, use the folder in turns and then together."""
    first = asked.stage
    first.start(threads=1)
    second.start(threads=1)
    mine = asked.ask("second process: the first one's")
    theirs = _on(second, asked).ask("second process: what the first recorded")
    all_cached(sheet, theirs.label, theirs)
    same_answer(sheet, theirs.label, mine, theirs)
    last = len(asked.messages) - 1
    changed = asked.edited(last, ground.material.text(450, ground.sizes.turn))
    told = _on(second, changed).ask("second process: a tail of the second's")
    back = changed.ask("second process: what the second recorded")
    all_cached(sheet, back.label, back)
    same_answer(sheet, back.label, told, back)
    sides = [
        _Side(
            first,
            [asked.edited(last, ground.material.text(460 + n, ground.sizes.turn)) for n in range(_ROUNDS)],
        ),
        _Side(
            second,
            [asked.edited(last, ground.material.text(470 + n, ground.sizes.turn)) for n in range(_ROUNDS)],
        ),
    ]
    threads = [threading.Thread(target=side.run, name=f"side-{side.stage.name}") for side in sides]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for side in sides:
        said = side.error or "answered"
        sheet.holds(f"at once: {side.stage.name}", not side.error, expected="answered", found=said)
        for turn in side.turns:
            compare(ground, sheet, turn, side.stage.run(replay_request(turn), f"replay of {turn.label}"))


@dataclass
class _Side:
    """What one of two workers does while the other does the like."""

    stage: Stage
    asked: list[Talk]
    turns: list[Turn] = field(default_factory=list)
    error: str = ""

    def run(self) -> None:
        try:
            for number, asked in enumerate(self.asked):
                self.turns.append(_on(self.stage, asked).ask(f"at once, {self.stage.name} {number + 1}"))
        except SkippyError as error:
            self.error = str(error)


def _on(stage: Stage, asked: Talk) -> Talk:
    copy = asked.branch()
    copy.stage = stage
    return copy
