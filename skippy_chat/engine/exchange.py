"""Which frame goes to whom, where several calls share one pipe.

A frame carries the number of the call it answers. What a step tells after its reply (what it recorded is durable only
later) goes to whoever next reads for the conversation.

Invariant: a call is given its own frames in order and what comes late of others, never a frame of one that was given
up; and each call hears of the end of the pipe once, also one that is opened after it.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from skippy_chat.engine.watch import Watch

Frame = dict[str, Any]

_LATE = 256
_LAST = ("reply", "error")


@dataclass(frozen=True, slots=True)
class Signs:
    """Signs of life so far: frames and beats, and the processor seconds that the last beat told."""

    frames: int = 0
    beats: int = 0
    processor: float = 0.0


@dataclass(slots=True)
class Call:
    """One request on its way; ``aside`` is one that nobody waits for, which is told nothing late."""

    number: int
    turn: str
    aside: bool
    seen: Signs
    frames: queue.SimpleQueue[Frame | None] = field(default_factory=queue.SimpleQueue)
    answered: bool = False


class Exchange:
    """Frames come in from one thread; calls are opened, read and closed on any."""

    def __init__(self) -> None:
        # Reentrant: an iterator that is collected as garbage closes its call wherever this thread may be.
        self._lock = threading.RLock()
        self._count = 0
        self._calls: dict[int, Call] = {}
        self._given_up: set[int] = set()
        self._late: deque[Frame] = deque(maxlen=_LATE)
        self._signs = Signs()
        self.ended = threading.Event()

    def open(self, *, turn: str = "", aside: bool = False) -> Call:
        """Begin a call; ``turn`` is a name to find it by."""
        with self._lock:
            self._count += 1
            call = Call(self._count, turn, aside, self._signs)
            if not aside:
                while self._late:
                    call.frames.put(self._late.popleft())
            if self.ended.is_set():
                call.frames.put(None)
            self._calls[call.number] = call
            return call

    def close(self, call: Call) -> bool:
        """End a call; return whether its answer is still to come: nobody will be given it."""
        with self._lock:
            self._calls.pop(call.number, None)
            unanswered = not call.answered and not self.ended.is_set()
            if unanswered:
                self._given_up.add(call.number)
            return unanswered

    def numbers(self, turn: str | None) -> list[int]:
        """Return the open calls of a turn; for None all but those aside."""
        with self._lock:
            return [
                call.number
                for call in tuple(self._calls.values())
                if (not call.aside if turn is None else call.turn == turn)
            ]

    def deliver(self, frame: Frame) -> None:
        """Give a frame to the call it is for; one without a number is for all."""
        with self._lock:
            if frame["frame"] == "beat":
                signs = self._signs
                self._signs = Signs(signs.frames, signs.beats + 1, float(frame["processor"]))
                return
            self._signs = Signs(self._signs.frames + 1, self._signs.beats, self._signs.processor)
            number = frame.get("id")
            if number is None:
                for call in tuple(self._calls.values()):
                    call.frames.put(frame)
            elif (mine := self._calls.get(number)) is not None and not mine.answered:
                mine.answered = frame["frame"] in _LAST
                mine.frames.put(frame)
            elif number in self._given_up:
                if frame["frame"] in _LAST:
                    self._given_up.remove(number)
            elif frame["frame"] == "event":
                self._deliver_late(frame)

    def end(self) -> None:
        """Say that no frame comes any more."""
        with self._lock:
            self.ended.set()
            for call in tuple(self._calls.values()):
                call.frames.put(None)

    def look(self, call: Call, watch: Watch) -> None:
        """Tell a call's watch what signs of life there were since it looked before, for whomever they were.

        So a call that waits behind another is not taken for one that hangs.
        """
        signs = self._signs
        if signs.frames != call.seen.frames:
            watch.frame()
        if signs.beats != call.seen.beats:
            watch.beat(signs.processor)
        call.seen = signs

    def _deliver_late(self, frame: Frame) -> None:
        reading = next(
            (call for call in tuple(self._calls.values()) if not call.aside and not call.answered), None
        )
        if reading is None:
            self._late.append(frame)
        else:
            reading.frames.put(frame)
