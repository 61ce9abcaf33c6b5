"""Writes checkpoints behind the answer: the engine hands over copies and goes on.

Invariant: recording is optional work. Whatever goes wrong here becomes an event, never a failed turn.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from skippy_chat.checkpoints.recording import Recording
from skippy_chat.errors import CheckpointError
from skippy_chat.events import CheckpointFailed, CheckpointRecorded, Event

Emit = Callable[[Event], None]


WAITING_BYTES = 1 << 30
"""Copies that may wait for the disk; what would go over is not recorded."""


class Recorder:
    """One writer thread; recordings are committed in the order they were handed over."""

    def __init__(self, waiting_bytes: int = WAITING_BYTES) -> None:
        self._limit = waiting_bytes
        self._waiting = 0
        self._lock = threading.Lock()
        self._queue: queue.Queue[tuple[Recording, Emit] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="checkpoint-writer", daemon=True)
        self._thread.start()

    def submit(self, recording: Recording, emit: Emit) -> None:
        """Have ``recording`` committed; ``emit`` is called from the writer thread with how it went."""
        size = _size(recording)
        with self._lock:
            taken = self._waiting == 0 or self._waiting + size <= self._limit
            self._waiting += size if taken else 0
        if taken:
            self._queue.put((recording, emit))
        else:
            emit(
                CheckpointFailed(reason=f"The disk is behind: {self._waiting >> 20} MiB wait to be written.")
            )

    def flush(self) -> None:
        """Wait until all that was handed over is durable or has failed."""
        self._queue.join()

    def close(self) -> None:
        """Finish what is queued and stop; safe to call twice."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def _run(self) -> None:
        while True:
            item = self._queue.get()
            try:
                if item is None:
                    return
                item[1](_commit(item[0]))
                with self._lock:
                    self._waiting -= _size(item[0])
            finally:
                self._queue.task_done()


def _size(recording: Recording) -> int:
    blobs = [pending.blobs for pending in recording.added]
    blobs += [attached for _, attached in recording.attached.values()]
    return sum(len(blob) for each in blobs for blob in each.values())


def _commit(recording: Recording) -> Event:
    try:
        done = recording.commit()
    except CheckpointError as error:
        return CheckpointFailed(reason=str(error))
    except Exception as error:  # noqa: BLE001 - a bug in the store must not cost the turn
        return CheckpointFailed(reason=f"{type(error).__name__}: {error}")
    return CheckpointRecorded(
        position=done.position, nodes=done.nodes, states=done.states, bytes=done.bytes_written
    )
