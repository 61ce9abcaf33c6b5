"""What a scripted conversation says and does: turns, their steps, and the calls these make."""

from __future__ import annotations

from dataclasses import dataclass

from skippy_chat.errors import EngineDied, SkippyError
from skippy_chat.events import CacheUse, Event, FinishReason, MissReason, Timings, ToolStatus, Usage

USAGE = Usage(1105, 1101, 4, 12, 1117)
CACHE = CacheUse("disk", 1101)
TIMINGS = Timings(300.0, 90.0, 400.0, 250.0, 47.06)


@dataclass(frozen=True, slots=True)
class Question:
    """What ``ApprovalNeeded`` shows of a call that needs one."""

    text: str = "run_command\n  command: make test"
    diff: str = ""
    why: str = "Running a command needs approval."
    scopes: tuple[str, ...] = ("once", "session", "always")
    rules: tuple[str, ...] = ("run_command make test",)


@dataclass(frozen=True, slots=True)
class Call:
    """One scripted call: asked about when there is a ``question``, then run with live ``output``.

    ``usable`` False: it ends without having run (an unknown tool, arguments that do not fit). ``endless``: the tool
    runs until ``cancel``.
    """

    id: str
    name: str = "read_file"
    arguments: tuple[str, ...] = ('{"path": ', '"a.txt"}')
    question: Question | None = None
    output: tuple[str, ...] = ()
    status: ToolStatus = "ok"
    result: str = "done"
    detail: str = ""
    spilled: str = ""
    usable: bool = True
    endless: bool = False

    @property
    def raw(self) -> str:
        """The arguments as one text."""
        return "".join(self.arguments)


@dataclass(frozen=True, slots=True)
class Step:
    """One answer that ends in calls, before the turn's last one."""

    calls: tuple[Call, ...]
    pieces: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    usage: Usage = USAGE
    cache: CacheUse = CACHE
    timings: Timings = TIMINGS


@dataclass(frozen=True, slots=True)
class Turn:
    """One scripted answer, after ``steps`` that call tools.

    ``extra`` events come before the text; after it ``endless`` waits for ``cancel``, ``fails`` is raised with no answer
    left behind, and ``dies`` is told by ``WorkerDied`` and then raised, what was written kept as interrupted, as a real
    conversation does. ``limited``: the turn ends after its steps, as at a limit, with a notice; ``go_on`` continues it.
    """

    pieces: tuple[str, ...] = ("Hello", " there.")
    reasoning: tuple[str, ...] = ()
    usage: Usage = USAGE
    cache: CacheUse = CACHE
    timings: Timings = TIMINGS
    finish_reason: FinishReason = "stop"
    extra: tuple[Event, ...] = ()
    endless: bool = False
    fails: SkippyError | None = None
    dies: EngineDied | None = None
    steps: tuple[Step, ...] = ()
    limited: bool = False


COLD = Turn(
    pieces=("Cold.",),
    usage=Usage(1103, 0, 1103, 2, 1105),
    cache=CacheUse("none", 0, MissReason("nothing_stored")),
    timings=Timings(0.0, 7900.0, 8000.0, 40.0, 46.0),
)
