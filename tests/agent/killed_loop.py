"""A turn with tools that is killed: run as ``python -m tests.agent.killed_loop FOLDER``.

For each moment around a transaction of the history, a process of its own runs the turn in a folder of its own, and ends
by SIGKILL at that moment. It stops at the first moment that the turn does not reach, and prints how many there were.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

from skippy_chat.chat import database, schema
from skippy_chat.engine.protocol import StepRequest
from tests.agent.loops import Place, follow
from tests.fakes.engine import Said, call

STEPS = (
    Said(
        "I write.",
        (call("c1", "calculator", expression="6*7"), call("c2", "write_file", path="a.txt", content="x")),
    ),
    Said(
        "", (call("c3", "run_command", command="echo hello > b.txt; echo done"),), reasoning="A second thing"
    ),
    Said("All done."),
)


def answer(request: StepRequest) -> Said:
    """Say what comes next, by what was called so far."""
    return STEPS[min(2, sum(1 for each in request.messages if each.get("tool_calls")))]


def kill_at(moment: int) -> None:
    """Arrange that this process dies before (even) or after (odd) a transaction is durable."""
    counted = itertools.count()
    real = schema.transaction

    @contextlib.contextmanager
    def transaction(connection: sqlite3.Connection) -> Iterator[None]:
        with real(connection):
            yield
            if next(counted) == moment:
                os.kill(os.getpid(), signal.SIGKILL)
        if next(counted) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    vars(database)["transaction"] = transaction


def run(root: Path, moment: int) -> None:
    """Run the turn, and die at ``moment``."""
    place = Place(root)
    place.open()  # the session is there before
    place.close()
    kill_at(moment)
    conversation, _ = place.open(answer, place.box())
    follow(conversation, conversation.send("Do it."))
    conversation.close()


def main(folder: Path) -> None:
    """Kill one process after the other."""
    for moment in itertools.count():
        child = os.fork()
        if child == 0:
            run(folder / str(moment), moment)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            assert os.waitstatus_to_exitcode(status) == 0
            print(moment)
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
