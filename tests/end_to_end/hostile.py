"""The real command line on a conversation in which everything is hostile: what tests/fakes/program.py is for manners.

Run as ``python -m tests.end_to_end.hostile [SKIPPED] ARGUMENT…``: the first turn is an answer, then come a death of the
worker and a fault of the program; SKIPPED is how many of these to leave out.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from skippy_chat.agent.protocol import LoadedModel
from skippy_chat.chat.messages import Session
from skippy_chat.cli import main
from skippy_chat.cli.host import process_host
from skippy_chat.errors import EngineDied
from skippy_chat.events import CacheUse, CheckpointFailed, MissReason, Notice, Usage, WorkerDied
from tests.fakes.conversation import FakeConversation, Turn

PAYLOADS = (
    "\x1b]52;c;NzQ3NA==\x07",  # the clipboard
    "\x1b]0;7474\x1b\\",  # the window's title
    "\x1b[7474;7474H",
    "\x1b[?7474h",
    "\x9b7474m",
    "\x1bP7474q\x1b\\",
    "\x1b_7474\x1b\\",
    "\x1bc",
    "\x08\x7f\x85\x9d7474\x9c",
)
EVIL = "evil" + "".join(PAYLOADS) + "end"

_PIECES = tuple(EVIL[at : at + 5] for at in range(0, len(EVIL), 5))
_TURNS = (
    Turn(
        _PIECES,
        reasoning=_PIECES,
        extra=(
            Notice(level="warning", text=EVIL, hint=EVIL),
            Notice(level="info", text=EVIL),
            CheckpointFailed(reason=EVIL),
        ),
        usage=Usage(10, 4, 6, 2, 12),
        cache=CacheUse("disk", 4, MissReason("damaged", 4, 1, EVIL)),
    ),
    Turn(
        _PIECES,
        extra=(WorkerDied(reason=EVIL, log_tail=(EVIL, EVIL)),),
        fails=EngineDied(EVIL, EVIL, (EVIL,)),
    ),
    Turn(_PIECES, fails=ValueError(EVIL)),  # type: ignore[arg-type]
)


class Hostile(FakeConversation):
    """Its session, its model and its past are hostile too."""

    @property
    def model(self) -> LoadedModel:
        return LoadedModel(EVIL, EVIL, EVIL, EVIL, 8192)


def start(skipped: int, arguments: list[str]) -> int:
    """Run one command line."""

    def open_conversation(**_asked: Any) -> FakeConversation:
        conversation = Hostile(_TURNS[skipped:], session=Session("01FAKE", EVIL, f"/work/{EVIL}", 0, 0, EVIL))
        asked = conversation.add("user", EVIL, None)
        conversation.add("assistant", EVIL, asked.id)
        return conversation

    return main(arguments, replace(process_host(), open_conversation=open_conversation))


if __name__ == "__main__":
    first, *rest = sys.argv[1:]
    sys.exit(start(int(first), rest) if first.isdigit() else start(0, sys.argv[1:]))
