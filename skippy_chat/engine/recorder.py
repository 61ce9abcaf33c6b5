"""Writes checkpoints behind the answer: the engine hands over copies and goes on.

Invariant: recording is optional work. Whatever goes wrong here becomes an event, never a failed turn; and the copies
that wait, with those not yet handed over, never take more than ``memory_bytes``: who wants to copy asks first.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from skippy_chat.checkpoints.recording import Pending, Recording
from skippy_chat.errors import CheckpointError
from skippy_chat.events import CheckpointFailed, CheckpointRecorded, Event

Emit = Callable[[Event], None]

MEMORY_BYTES = 1 << 30
"""Copies of rows, states and logits in memory, from the tensors until they are durable."""


class Recorder:
    """One writer thread; recordings are committed in the order they were handed over."""

    def __init__(self, memory_bytes: int = MEMORY_BYTES) -> None:
        self._limit = memory_bytes
        self._held = 0
        self._waiting: dict[bytes, Pending] = {}
        self._lock = threading.Lock()
        self._queue: queue.Queue[tuple[Recording, int, Emit] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="checkpoint-writer", daemon=True)
        self._thread.start()

    @property
    def held(self) -> int:
        """Bytes of memory that copies take."""
        return self._held

    def reserve(self, size: int) -> bool:
        """Take ``size`` bytes of memory for a copy about to be made, if they are to be had."""
        with self._lock:
            if self._held + size > self._limit:
                return False
            self._held += size
            return True

    def release(self, size: int) -> None:
        """Give back what was reserved."""
        with self._lock:
            self._held -= size

    def waiting(self, key: bytes) -> Pending | None:
        """Return the node of that key if it was handed over and is not yet committed."""
        with self._lock:
            return self._waiting.get(key)

    def submit(self, recording: Recording, reserved: int, emit: Emit) -> None:
        """Have ``recording`` committed and the memory reserved for it given back.

        ``emit`` is called from the writer thread with how it went.
        """
        with self._lock:
            self._waiting.update((pending.key, pending) for pending in recording.added)
        self._queue.put((recording, reserved, emit))

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
                self._carry_out(*item)
            finally:
                self._queue.task_done()

    def _carry_out(self, recording: Recording, reserved: int, emit: Emit) -> None:
        event = _commit(recording)
        with self._lock:
            for pending in recording.added:
                if self._waiting.get(pending.key) is pending:
                    del self._waiting[pending.key]
            self._held -= reserved
        emit(event)


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
