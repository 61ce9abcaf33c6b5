"""The real command line on a scenario's conversation: ``python -m tests.scenarios.program NAME ARGUMENT…``."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from skippy_chat.cli import main
from skippy_chat.cli.host import process_host
from tests.fakes.conversation import FakeConversation
from tests.scenarios.scenario import load


def start(name: str, arguments: list[str]) -> int:
    def open_conversation(**_asked: Any) -> FakeConversation:
        return load(name).conversation()

    return main(arguments, replace(process_host(), open_conversation=open_conversation))


if __name__ == "__main__":
    sys.exit(start(sys.argv[1], sys.argv[2:]))
