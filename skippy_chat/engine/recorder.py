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


class Recorder:
    """One writer thread; recordings are committed in the order they were handed over."""

    def __init__(self) -> None:
        self._queue: queue.Queue[tuple[Recording, Emit] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="checkpoint-writer", daemon=True)
        self._thread.start()

    def submit(self, recording: Recording, emit: Emit) -> None:
        """Have ``recording`` committed; ``emit`` is called from the writer thread with how it went."""
        self._queue.put((recording, emit))

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
            finally:
                self._queue.task_done()


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
