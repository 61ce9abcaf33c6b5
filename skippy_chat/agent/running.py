"""Running tools in threads, so that what they print is seen while they run and a stop is never waited for long.

Invariant: when ``items`` ends or is closed, no tool runs any more, but for one that hears no stop: it is left behind,
and says nothing further.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias

from skippy_chat.agent.tools.protocol import ToolResult

MOST_AT_ONCE = 4
_PATIENCE_SECONDS = 10.0
# A stop cannot be waited for together with a queue, so it is looked at this often.
_LOOK_SECONDS = 0.1

Emit: TypeAlias = Callable[[str], None]
Job: TypeAlias = Callable[[Emit], ToolResult]
Item: TypeAlias = tuple[int, "str | ToolResult"]

LEFT_BEHIND = ToolResult("error", "It did not stop when it was asked to, and was left to itself.")


def run_jobs(
    jobs: Sequence[Job],
    stop: threading.Event,
    clock: Callable[[], float],
    *,
    patience: float = _PATIENCE_SECONDS,
) -> Generator[Item, None, None]:
    """Run jobs, a few at once, and yield (index, output) as it comes and (index, result) once for each.

    Closing it sets ``stop``, which every job is expected to watch; ``clock`` gives seconds, ``patience`` is how many of
    them a job may take to stop.
    """
    found: queue.SimpleQueue[Item] = queue.SimpleQueue()
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in range(len(jobs)):
        waiting.put(index)
    threads = [
        threading.Thread(target=_work, args=(jobs, waiting, found), daemon=True, name=f"tool-{number}")
        for number in range(min(MOST_AT_ONCE, len(jobs)))
    ]
    for thread in threads:
        thread.start()
    left = set(range(len(jobs)))
    try:
        yield from _items(found, left, stop, clock, patience)
    finally:
        if left:  # closed before the end; otherwise each thread has given its last result
            stop.set()
            until = clock() + patience
            for thread in threads:
                thread.join(max(0.0, until - clock()))


def _items(
    found: queue.SimpleQueue[Item],
    left: set[int],
    stop: threading.Event,
    clock: Callable[[], float],
    patience: float,
) -> Generator[Item, None, None]:
    stopped_at: float | None = None
    while left:
        if stopped_at is None and stop.is_set():
            stopped_at = clock()
        if stopped_at is not None and clock() - stopped_at > patience:
            for index in sorted(left):
                left.discard(index)
                yield index, LEFT_BEHIND
            return
        try:
            index, item = found.get(timeout=_LOOK_SECONDS)
        except queue.Empty:
            continue
        if isinstance(item, ToolResult):
            left.discard(index)
        yield index, item


def _work(jobs: Sequence[Job], waiting: queue.SimpleQueue[int], found: queue.SimpleQueue[Item]) -> None:
    while True:
        try:
            index = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            result = jobs[index](lambda text, index=index: found.put((index, text)))  # type: ignore[misc]
        except BaseException as error:  # noqa: BLE001  whatever a tool does, the turn goes on
            result = ToolResult("error", f"It failed: {type(error).__name__}: {error}")
        found.put((index, result))
