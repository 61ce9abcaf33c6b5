"""budget: many turns on a small budget, and the bytes on disk never above it, also while a turn is being recorded.

A folder cannot be weighed in one instant: while it is scanned, one file may go and another come, and both would count.
So a sample is what two scans in a row both found, each file with its smaller size: all of that was there between them.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from typing_extensions import Self

from skippy_chat.gate.ground import Ground
from skippy_chat.gate.phases.replays import compare
from skippy_chat.gate.stage import Stage
from skippy_chat.gate.talk import replay_request
from skippy_chat.gate.values import Sheet
from skippy_chat.text.sizes import format_size

TURNS = 16
_EVERY_SECONDS = 0.02
_SPARE = 192 << 10
"""For the index and the folders, which count too."""


def budget(ground: Ground, sheet: Sheet) -> None:
    """Hold one conversation and short side talks on a budget that has room for a few turns of it."""
    limit = _limit(ground)
    with ground.stage("budget", disk_budget=limit) as stage, Scale(stage.folder) as scale:
        recorded = _talk(ground, sheet, stage)
    sheet.holds(
        "more was recorded than fits",
        recorded > limit,
        expected=f"more than {format_size(limit)}",
        found=format_size(recorded),
    )
    sheet.holds(
        f"allocated bytes, in {scale.samples:,} samples",
        0 < scale.most <= limit,
        expected=f"at most {limit:,}",
        found=f"{scale.most:,}",
    )
    after = sum(weigh(stage.folder).values())
    sheet.holds(
        "allocated bytes at the end", 0 < after <= limit, expected=f"at most {limit:,}", found=f"{after:,}"
    )
    sheet.summary = (
        f"{format_size(recorded)} recorded, at most {format_size(scale.most)} of {format_size(limit)}"
    )


def _limit(ground: Ground) -> int:
    """Return a budget that holds about three turns: what two turns of this model weigh, without a limit."""
    with ground.stage("unlimited") as stage:
        talk = ground.dialogue(stage, ground.sizes.head, seed=200)
        for number in range(2):
            talk.say(ground.material.text(201 + number, ground.sizes.turn), f"weighed turn {number + 1}")
        stage.stop()
        return 3 * sum(weigh(stage.folder).values()) // 2 + _SPARE


def _talk(ground: Ground, sheet: Sheet, stage: Stage) -> int:
    """Take the turns; return the bytes that were recorded."""
    size = ground.sizes.turn
    room = ground.loaded.context_size - ground.sizes.head - 256
    recorded = 0
    talk = ground.dialogue(stage, ground.sizes.head, seed=200)
    begun = talk.branch()
    last = None
    for number in range(TURNS):
        if len(talk.messages) // 2 * (size + 32) > room:
            talk = begun.branch()  # a small context is full: begin again under the same system prompt
        last = talk.say(ground.material.text(210 + number, size), f"turn {number + 1}")
        recorded += last.recorded_bytes
        side = ground.dialogue(stage, ground.sizes.head, seed=300 + 10 * number)
        side.add("user", ground.material.text(301 + 10 * number, size))
        recorded += side.ask(f"side talk {number + 1}").recorded_bytes
    assert last is not None
    compare(ground, sheet, last, stage.run(replay_request(last), f"replay of {last.label}"))
    return recorded


class Scale:
    """Weighs a folder on a thread of its own until the block ends; ``most`` is the largest sample, in bytes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scale", daemon=True)
        self.most = 0
        self.samples = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        before = weigh(self._folder)
        while True:
            now = weigh(self._folder)
            both = sum(min(size, before[path]) for path, size in now.items() if path in before)
            self.most = max(self.most, both)
            self.samples += 1
            before = now
            if self._ended.wait(_EVERY_SECONDS):
                return


def weigh(folder: Path) -> dict[str, int]:
    """Return what each file and folder below ``folder``, itself included, occupies on disk, in bytes."""
    return dict(_weighed(str(folder)))


def _weighed(path: str) -> Iterator[tuple[str, int]]:
    # What goes while it is looked at weighs nothing.
    with contextlib.suppress(OSError):
        found = os.lstat(path)
        yield path, found.st_blocks * 512 if hasattr(found, "st_blocks") else found.st_size
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114 - many files, many times
            for entry in os.listdir(path):  # noqa: PTH208 - as above
                yield from _weighed(f"{path}{os.sep}{entry}")
