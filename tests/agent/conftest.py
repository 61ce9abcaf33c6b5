"""Real conversations on real workers, with faults built in where a test asks for them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from skippy_chat.agent.conversation import EngineConversation
from skippy_chat.agent.opening import ConversationOptions, open_conversation
from skippy_chat.agent.tools.protocol import Tool
from skippy_chat.config import load_settings
from skippy_chat.engine.client import WORKER, EngineClient
from skippy_chat.errors import EngineDied
from skippy_chat.events import Event, TextDelta, WorkerDied
from skippy_chat.paths import Paths
from tests.agent.loops import Place


@dataclass
class Turn:
    """What one turn gave: its events up to its end, or up to the death it raised."""

    events: list[Event] = field(default_factory=list)
    death: EngineDied | None = None

    @property
    def text(self) -> str:
        return "".join(each.text for each in self.events if isinstance(each, TextDelta))

    @property
    def told(self) -> list[WorkerDied]:
        return [each for each in self.events if isinstance(each, WorkerDied)]


def play(events: Iterator[Event]) -> Turn:
    """Follow a turn to its end."""
    turn = Turn()
    try:
        for event in events:
            turn.events.append(event)
    except EngineDied as death:
        turn.death = death
    return turn


@dataclass
class Talks:
    """Opens conversations in one test's folders."""

    root: Path
    model: Path
    stack: ExitStack

    @property
    def log(self) -> Path:
        return self.root / "data" / "logs" / "worker.log"

    def open(
        self,
        fault: str = "",
        after: int = 0,
        *,
        always: bool = False,
        session: str | None = "S",
        max_tokens: int = 8,
        context: int = 1024,
        functions: tuple[Tool, ...] = (),
        max_steps: int = 3,
    ) -> EngineConversation:
        """Open a session on a worker with a fault before the ``after``th generated token, once or ``always``.

        It is offered ``functions``, which run unasked.
        """
        mark = "always" if always else str(self.root / "mark")
        faulty = (sys.executable, "-m", "tests.engine.faulty_worker", fault, str(after), mark)
        flags = {
            "model": str(self.model),
            "temperature": 0.0,
            "threads": 1,
            "max_tokens": max_tokens,
            "ctx": context,
            "approve": "all",
            "max_steps": max_steps,
        }
        conversation = open_conversation(
            ConversationOptions(
                Paths.resolve(
                    data_dir=self.root / "data",
                    cache_dir=self.root / "cache",
                    config_dir=self.root / "config",
                ),
                load_settings(flags={**flags, "system": "You are helpful."}),
                self.root,
                session=session,
                functions=functions,
            ),
            on_progress=lambda what, done, total: None,
            start=lambda log, _: EngineClient(log, command=faulty if fault else WORKER),
        )
        self.stack.callback(conversation.close)
        assert isinstance(conversation, EngineConversation)
        return conversation


@pytest.fixture
def talks(tmp_path: Path, default_model: Path) -> Iterator[Talks]:
    with ExitStack() as stack:
        yield Talks(tmp_path, default_model, stack)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    there = Place(tmp_path)
    yield there
    there.close()
