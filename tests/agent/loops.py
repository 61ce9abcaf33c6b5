"""Conversations with real tools, a real history and a scripted engine, in one test's folders."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from skippy_chat.agent.approvals.policy import Policy
from skippy_chat.agent.approvals.values import Rule
from skippy_chat.agent.conversation import EngineConversation
from skippy_chat.agent.toolbox import LoopLimits, Toolbox
from skippy_chat.agent.tools.built_in import built_in_tools
from skippy_chat.agent.tools.gate import PathGate
from skippy_chat.agent.tools.journal import Journal
from skippy_chat.agent.tools.protocol import Limits, Tool, ToolContext
from skippy_chat.agent.tools.registry import Registry
from skippy_chat.chat.history import History
from skippy_chat.chat.locks import SessionLock
from skippy_chat.chat.messages import Message
from skippy_chat.config import Approve, Settings
from skippy_chat.engine.protocol import StepRequest
from skippy_chat.events import ApprovalNeeded, Event
from tests.fakes.engine import FakeEngine, Said

Script = Iterable[Said] | Callable[[StepRequest], Said]


@dataclass
class Place:
    """One test's folders, and the conversations opened there."""

    root: Path
    opened: list[EngineConversation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.workspace.mkdir(parents=True, exist_ok=True)

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    def box(
        self,
        *,
        approve: Approve = "all",
        rules: Sequence[Rule] = (),
        can_ask: bool = True,
        parallel: bool = False,
        limits: LoopLimits = LoopLimits(),  # noqa: B008  frozen
        bounds: Limits = Limits(),  # noqa: B008  frozen
        tools: Sequence[Tool] = (),
        tool_choice: str = "auto",
    ) -> Toolbox:
        output = self.root / "output"
        output.mkdir(mode=0o700, exist_ok=True)
        context = ToolContext(
            gate=PathGate(self.workspace, readable=(output,)),
            output_folder=output,
            environment={"PATH": os.environ["PATH"]},
            now=lambda: datetime(2026, 3, 14, tzinfo=timezone.utc),
            limits=bounds,
        )
        return Toolbox(
            Registry([*built_in_tools(), *tools]),
            Policy(approve, rules, self.root / "approvals.toml"),
            context,
            journal=Journal(self.root / "undo"),
            can_ask=can_ask,
            parallel=parallel,
            tool_choice=tool_choice,
            limits=limits,
        )

    def open(
        self, script: Script = (), box: Toolbox | None = None, *, max_tokens: int = 64
    ) -> tuple[EngineConversation, FakeEngine]:
        """Open the folder's one session, making it the first time."""
        engine = FakeEngine(script)
        ticks = itertools.count(1_700_000_000_000)
        history = History.open(self.root / "history.db", now=lambda: next(ticks))
        session = history.newest() or history.create_session(folder=self.workspace)
        ids = itertools.count(len(self.opened) * 1000)
        conversation = EngineConversation(
            history,
            SessionLock(self.root / "locks", session.id),
            engine,
            session,
            Settings(max_tokens=max_tokens),
            keep_unused=True,
            draw_seed=lambda: 0,
            new_id=lambda: f"T{next(ids):06}",
            toolbox=box,
        )
        self.opened.append(conversation)
        return conversation, engine

    def close(self) -> None:
        for conversation in self.opened:
            conversation.close()


def follow(
    conversation: EngineConversation,
    events: Iterator[Event],
    *answers: tuple[bool, str, str],
) -> list[Event]:
    """Read a turn to its end, answering what it asks with (allowed, scope, reason) in order."""
    given = iter(answers)
    seen: list[Event] = []
    for event in events:
        seen.append(event)
        if isinstance(event, ApprovalNeeded):
            allowed, scope, reason = next(given)
            conversation.decide(event.call, allowed=allowed, scope=scope, reason=reason)
    return seen


YES = (True, "once", "")


def shapes(events: Iterable[Event]) -> list[str]:
    """Name the events of a turn, without those that only show progress."""
    return [
        each.type for each in events if each.type not in ("prefill_started", "text_delta", "tool_call_delta")
    ]


def branch(conversation: EngineConversation) -> list[tuple[str, str, str]]:
    """What is stored, as (role, state, content)."""
    return [(each.role, each.state, each.content) for each in conversation.messages()]


def results(conversation: EngineConversation) -> list[Message]:
    """The stored results of the branch."""
    return [each for each in conversation.messages() if each.role == "tool"]
