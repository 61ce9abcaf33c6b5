"""The command line on conversations that call tools: ``python -m tests.repl.tool_program SCENARIO ARGUMENT…``.

What is decided is told on standard error. With ``TEST_GATE`` in the environment, a pipe's path, every call first waits
until that pipe was opened for writing and closed: so a test can do something before a question is put.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from skippy_chat.agent.protocol import ToolInfo
from skippy_chat.agent.tools.journal import Undone
from skippy_chat.events import Event
from tests.fakes import program
from tests.fakes.conversation import Call, FakeConversation, Question, Step, Turn

EVIL = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b31m\x85\u202e\x07"
WRITE = Question(
    text="write_file\n  path: notes/a.txt",
    diff="--- a\n+++ b\n-old\n+new",
    why="Writing files needs approval.",
    rules=("write_file notes/a.txt",),
)
LONG = Question(text="\n".join(f"  line {number}" for number in range(60)), scopes=("once",), rules=())
COMMAND = Call("c1", "run_command", ('{"command": ', '"make test"}'), question=Question(), result="passed")
TALKS = tuple(f"line {number}\n" for number in range(30))


def _one(call: Call, *answer: str) -> tuple[Turn, ...]:
    return (Turn(answer or ("So.",), steps=(Step((call,)),)), Turn(("After.",)))


SCENARIOS: dict[str, tuple[Turn, ...]] = {
    "reads": (
        Turn(
            ("It has two lines.",),
            steps=(Step((Call("c1", result="one\ntwo\n"), Call("c2", "calculator", ("{}",), result="4"))),),
        ),
    ),
    "thinks": (
        Turn(
            ("Done.",),
            reasoning=("It worked.",),
            steps=(Step((Call("c1"),), ("I look.",), ("I must look.",)),),
        ),
    ),
    "talks": _one(Call("c1", "run_command", output=(*TALKS, "50%\r", "100%\r\n"), spilled="out/c1.txt")),
    "asks": _one(COMMAND),
    "writes": _one(Call("c1", "write_file", question=WRITE, detail=WRITE.diff)),
    "wrote": _one(Call("c1", "write_file", detail=WRITE.diff)),
    "long": _one(Call("c1", "write_file", question=LONG)),
    "once": _one(Call("c1", "run_command", question=Question(scopes=("once",)))),
    "twice": (
        Turn(steps=(Step((COMMAND, Call("c2", "run_command", question=Question(), result="built"))),)),
        Turn(("After.",)),
    ),
    "unusable": _one(
        Call("c1", "red_file", usable=False, status="error", result='There is no tool "red_file".')
    ),
    "runs": _one(Call("c1", "run_command", output=("started\n",), endless=True)),
    "limit": (Turn(steps=(Step((Call("c1"),)),), limited=True), Turn(("Now done.",))),
    "wide": _one(
        Call("c1", "write_file", ('{"text": "', *(f"{number} words " for number in range(200)), '"}'))
    ),
    "hostile": (
        Turn(
            (f"ok{EVIL} end",),
            steps=(
                Step(
                    (
                        Call(
                            "c1",
                            f"run{EVIL}",
                            (f'{{"a{EVIL}": ', f'"b{EVIL}\n"}}'),
                            question=Question(
                                f"run{EVIL}\n x: {EVIL}",
                                f"-{EVIL}\n+{EVIL}",
                                f"why{EVIL}",
                                rules=(f"r{EVIL}",),
                            ),
                            output=(f"out{EVIL}\n", "\x1b]0;own", "ed\x07rest\r", f"more{EVIL}"),
                            result=f"gave{EVIL}",
                            detail=f"+{EVIL}",
                            spilled=f"out{EVIL}.txt",
                        ),
                        Call(
                            f"c2{EVIL}",
                            f"no{EVIL}",
                            (EVIL,),
                            usable=False,
                            status="error",
                            result=f"bad{EVIL}",
                        ),
                    )
                ),
            ),
        ),
    ),
}
TOOLS = (
    ToolInfo("calculator", "Evaluate arithmetic.", "allow"),
    ToolInfo("run_command", f"Run a command.{EVIL}", "ask"),
)


class Told(FakeConversation):
    """Tells what is decided, waits at the gate, and has files to put back once."""

    def __init__(self, *arguments: object, **more: object) -> None:
        super().__init__(*arguments, **more)  # type: ignore[arg-type]
        self.undone = Undone(("notes/a.txt",), (f"b{EVIL}.txt",))
        self.offered = TOOLS

    def decide(self, call: str, *, allowed: bool, scope: str = "once", reason: str = "") -> None:
        super().decide(call, allowed=allowed, scope=scope, reason=reason)
        sys.stderr.write(f"decided: {call} {'yes' if allowed else 'no'} {scope} {reason!r}\n")
        sys.stderr.flush()

    def _call(self, call: Call) -> Iterator[Event]:
        if gate := os.environ.get("TEST_GATE"):
            Path(gate).read_bytes()
        return super()._call(call)


if __name__ == "__main__":
    program.SCENARIOS = SCENARIOS
    setattr(program, "FakeConversation", Told)  # noqa: B010 - what the program opens
    sys.exit(program.start(sys.argv[1], sys.argv[2:]))
