"""A session on the real engine that is killed in its turn: ``python -m tests.agent.killed_session ROOT MODEL WHEN``.

``WHEN`` is the type of the event at which the whole program ends by SIGKILL, or ``in_tool``.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from skippy_chat.agent.protocol import TurnOptions
from skippy_chat.agent.tools.function import tool
from tests.agent.conftest import Talks

WHEN = sys.argv[3] if len(sys.argv) > 3 else ""


@tool(read_only=True)
def harbour() -> str:
    """Tell the colour of the harbour."""
    if WHEN == "in_tool":
        os.kill(os.getpid(), signal.SIGKILL)
    return "The harbour is teal."


def main(root: Path, model: Path) -> None:
    with ExitStack() as stack:
        conversation = Talks(root, model, stack).open(functions=(harbour,), max_tokens=40)
        for event in conversation.send("What colour is the harbour?", TurnOptions(tool_choice="required")):
            if event.type == WHEN:
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
