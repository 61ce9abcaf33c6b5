"""A host whose streams are strings and whose engine is a ``FakeConversation``."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skippy_chat.cli import main
from skippy_chat.cli.host import Host
from skippy_chat.talk import Talk
from tests.fakes.conversation import FakeConversation


class Terminal(io.StringIO):
    """A string stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Broken(io.StringIO):
    """A standard output whose reader is gone after ``limit`` writes."""

    def __init__(self, limit: int = 0) -> None:
        super().__init__()
        self._left = limit

    def write(self, text: str) -> int:
        self._left -= 1
        if self._left < 0:
            raise BrokenPipeError(32, "Broken pipe")
        return super().write(text)


@dataclass
class Desk:
    """One test's world: folders of its own, streams to look at, and what the engine was asked to open."""

    root: Path
    conversation: FakeConversation = field(default_factory=FakeConversation)
    stdin: io.TextIOBase = field(default_factory=Terminal)
    stdout: io.StringIO = field(default_factory=io.StringIO)
    stderr: io.StringIO = field(default_factory=io.StringIO)
    opening: Callable[[], None] = lambda: None
    opened: list[dict[str, Any]] = field(default_factory=list)

    def run(self, *arguments: str) -> int:
        """Carry out one command line on empty streams."""
        self.stdout.seek(0)
        self.stdout.truncate()
        self.stderr.seek(0)
        self.stderr.truncate()
        return main(arguments, self.host())

    def host(self) -> Host:
        return Host(
            stdin=self.stdin,  # type: ignore[arg-type]
            stdout=self.stdout,
            talk=Talk(self.stderr, lambda: 0.0),
            env={
                "SKIPPY_DATA_DIR": str(self.root / "data"),
                "SKIPPY_CACHE_DIR": str(self.root / "cache"),
                "SKIPPY_CONFIG_DIR": str(self.root / "config"),
            },
            folder=self.root,
            monotonic=lambda: 0.0,
            now_ms=lambda: 1_700_000_000_000,
            open_conversation=self._open,
        )

    def _open(self, **asked: Any) -> FakeConversation:
        self.opened.append(asked)
        self.opening()
        return self.conversation

    @property
    def out(self) -> str:
        return self.stdout.getvalue()

    @property
    def err(self) -> str:
        return self.stderr.getvalue()

    @property
    def json(self) -> Any:
        return json.loads(self.out)
