"""What tests of cards and questions share: calls, turns that make them, and the app where a question has the focus."""

from __future__ import annotations

from skippy_chat.tui.approval import ApprovalPanel
from skippy_chat.tui.card import ToolCard
from tests.fakes.conversation import Call, Question, Step, Turn
from tests.tui.screen import Desk

DIFF = "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n"
LONG = Question(
    text="run_command\n  command:\n" + "\n".join(f"echo {number}" for number in range(80)),
    rules=("the very last line",),
)


def turn_of(*calls: Call, **more: object) -> Turn:
    """Return a turn that makes these calls in one step, and then says that it is done."""
    return Turn(("Done.",), steps=(Step(calls),), **more)  # type: ignore[arg-type] # names are those of Turn


def asked_about(question: Question | None = None, *, name: str = "c1") -> Call:
    """Return a call that needs an answer first."""
    return Call(
        name, "run_command", ('{"command": "make test"}',), question=question or Question(), result="ok"
    )


def panel_of(desk: Desk) -> ApprovalPanel:
    return desk.app.screen_stack[0].query_one(ApprovalPanel)


def told(desk: Desk) -> str:
    """Return the line of keys under the question."""
    return str(panel_of(desk).query_one("#approval-keys").render())


def cards(desk: Desk) -> list[ToolCard]:
    return [view for view in desk.transcript.views if isinstance(view, ToolCard)]


async def has_asked(desk: Desk, call: str = "c1") -> None:
    """Wait for the question about a call."""
    await desk.wait_until(lambda: panel_of(desk).call == call)


async def has_focus(desk: Desk, call: str = "c1") -> None:
    """Wait until the question about a call takes answers."""
    await has_asked(desk, call)
    await desk.wait_until(lambda: panel_of(desk).has_class("asking"))


async def press(desk: Desk, *keys: str) -> None:
    """Press keys, each alone, and wait until what it means has been done."""
    for key in keys:
        await desk.wait_until(lambda: panel_of(desk).settled)
        await desk.pilot.press(key)
    await desk.wait_until(lambda: panel_of(desk).settled)
