"""The real command line in a process of its own, on a scripted conversation: for tests with signals and terminals.

Run as ``python -m tests.fakes.program SCENARIO ARGUMENT…``.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import Any

from skippy_chat.agent.protocol import Fork
from skippy_chat.chat.locks import SessionLock
from skippy_chat.cli import main
from skippy_chat.cli.host import process_host
from skippy_chat.engine.questions import Foreseen
from skippy_chat.errors import ContextFull, EngineDied
from skippy_chat.events import PrefillProgress
from skippy_chat.paths import Paths
from skippy_chat.talk import Talk
from tests.fakes.conversation import COLD, Call, FakeConversation, Step, Turn

HOSTILE = Turn(("ok\x1b]52;c;ZX", "ZpbA==\x07\x1b[2J", "\x9b31mred\x85\x1b", "]0;t\x07 end"))
WORDS = "The lighthouse keeper remembers everything about extraordinary weather"
ENDLESS = Turn(("Once upon", " a time"), endless=True)

SCENARIOS: dict[str, tuple[Turn, ...]] = {
    "answers": (Turn(("First answer.",)), COLD, Turn(("Third answer.",)), Turn(("Fourth.",))),
    "endless": (ENDLESS, Turn(("After that.",)), Turn(("Third answer.",))),
    "deaf": (ENDLESS,),
    "timeless": (ENDLESS,),
    "hostile": (HOSTILE, HOSTILE),
    "reasoning": (Turn(("So: 4.",), reasoning=("Two and", " two.")),),
    "failing": (Turn(("Half",), fails=EngineDied("The worker ended.", "Say it again.")), Turn(("Whole.",))),
    "wordy": (
        Turn(tuple(f"{word} " for word in WORDS.split()), reasoning=("A quiet thought about the sea",)),
    ),
    "working": (
        Turn(
            steps=(
                Step((Call("c1", "run_command", ('{"command": "make"}',), output=("gcc",), endless=True),)),
            )
        ),
    ),
    "full": (Turn((), fails=ContextFull("Full by 12 tokens.", "Use --ctx.")), Turn()),
    "drafting": (Turn(),),
    "summing": (Turn(), ENDLESS),
    "foretelling": (Turn(("First answer.",)), COLD),
    "fuller": (
        Turn(("First.",)),
        Turn((), fails=ContextFull("Full by 12 tokens.", "Use --ctx.")),
        Turn(("A summary.",)),
        Turn(("Answered.",)),
    ),
    "slow": (
        Turn(("Read.",), extra=tuple(PrefillProgress(done=256 * n, total=1024) for n in range(1, 5))),
        Turn(),
    ),
}


_ULID = 26


class Deaf(FakeConversation):
    """Says that it was asked to stop, and goes on waiting."""

    def cancel(self) -> None:
        sys.stderr.write("asked to stop\n")
        sys.stderr.flush()


class Drafting(FakeConversation):
    """Says what draft it is given to keep."""

    def keep_draft(self, text: str) -> None:
        super().keep_draft(text)
        sys.stderr.write(f"kept: {text}\n")
        sys.stderr.flush()


class Foretelling(FakeConversation):
    """Foretells a token for each character."""

    def foresee(self, text: str, message: str | None = None) -> Foreseen:
        return Foreseen(len(text), 3, "live", None, None, 8192)


KINDS = {"deaf": Deaf, "drafting": Drafting, "foretelling": Foretelling}


def start(scenario: str, arguments: list[str]) -> int:
    """Run one command line.

    In the scenario ``slow`` the clock jumps a second each time it is read. In ``timeless`` it stands still, so that one
    key comes soon after another however slow the machine is.

    An existing session is refused while another process holds its lock, as the real opener does.
    """
    host = process_host()
    if scenario == "slow":
        ticks = iter(range(10_000))
        plain = os.environ.get("TERM") == "dumb"
        clock = lambda: float(next(ticks))  # noqa: E731
        host = replace(host, monotonic=clock, talk=Talk(sys.stderr, clock, plain=plain))
    elif scenario == "timeless":
        host = replace(host, monotonic=lambda: 0.0)

    def open_conversation(
        *, paths: Paths, session: str | None, fork: Fork | None = None, **_asked: Any
    ) -> FakeConversation:
        if fork is not None:
            sys.stderr.write(f"a copy at {fork.message} named {fork.title!r}\n")
        elif session is not None and len(session) == _ULID:
            SessionLock(paths.locks_dir, session)
        return KINDS.get(scenario, FakeConversation)(SCENARIOS[scenario])

    return main(arguments, replace(host, open_conversation=open_conversation))


if __name__ == "__main__":
    sys.exit(start(sys.argv[1], sys.argv[2:]))
