"""The seam between the agent loop and whatever a model may call.

Invariant: a tool's failure is a result that the model sees. ``Registry`` keeps that promise for every tool, so a tool
may raise what it likes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from skippy_chat.agent.tools.gate import PathGate
from skippy_chat.agent.tools.journal import TurnJournal

Status: TypeAlias = Literal["ok", "denied", "error"]
Arguments: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gave: ``text`` for the model, ``more`` for people (a diff), ``spilled`` where all of it lies."""

    status: Status
    text: str
    more: str = ""
    spilled: Path | None = None


@dataclass(frozen=True, slots=True)
class Needs:
    """What a tool reaches for, by the names of the arguments that say where: what rules and approvals look at.

    A path argument that is left out means the workspace itself. ``below``: reading a folder reads all below it.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    command: str | None = None
    network: str | None = None
    below: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one call: bytes, and seconds where nothing else is said."""

    output_bytes: int = 40 * 1024  # head and tail that the model sees
    spill_bytes: int = 64 << 20  # a command that writes more is stopped
    file_bytes: int = 16 << 20  # the largest file that is read, edited or written
    memory_bytes: int = 4 << 30  # of each process of a command
    command_seconds: float = 120.0
    search_seconds: float = 20.0
    fetch_seconds: float = 30.0
    fetch_bytes: int = 2 << 20
    function_seconds: float = 120.0  # of a Python function made a tool


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Where and for whom a call runs. ``gate`` holds the workspace root; ``call`` is the id of the call.

    ``emit`` takes live output as it comes, raw. ``now`` gives an aware time in the person's zone. Commands get
    ``environment`` less what looks like a secret, save ``pass_variables``; with ``sandbox`` they run under
    ``bubblewrap``, or not at all. ``journal`` takes before-images of files, where there is a turn to undo.
    """

    gate: PathGate
    output_folder: Path
    environment: Mapping[str, str]
    now: Callable[[], datetime]
    emit: Callable[[str], None] = lambda _: None
    cancel: threading.Event = field(default_factory=threading.Event)
    limits: Limits = field(default_factory=Limits)
    journal: TurnJournal | None = None
    bubblewrap: Path | None = None
    sandbox: bool = False
    pass_variables: frozenset[str] = frozenset()
    call: str = ""

    @property
    def workspace(self) -> Path:
        """The real path of the workspace root."""
        return self.gate.root


class Tool(Protocol):
    """Something a model may call; ``parameters`` is a JSON Schema of an object."""

    @property
    def name(self) -> str:
        """What the model calls it."""

    @property
    def description(self) -> str:
        """What the model reads about it."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON Schema of its arguments."""

    @property
    def read_only(self) -> bool:
        """Whether a call changes nothing, so that calls may run at the same time."""

    @property
    def needs(self) -> Needs:
        """What it reaches for."""

    def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Do it; ``arguments`` fit the schema."""


@runtime_checkable
class Previewing(Protocol):
    """A tool that can tell what it would change before it does."""

    def preview(self, arguments: Arguments, context: ToolContext) -> str:
        """Return a unified diff, empty when nothing would change; raises ToolError when the call would fail."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that can be run: a known tool and arguments that fit its schema, just as the model gave them."""

    tool: Tool
    arguments: Arguments
