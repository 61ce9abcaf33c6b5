"""Scenes with tools: calls that run, ran, failed, and the question whether one may."""

from __future__ import annotations

from collections.abc import AsyncIterator

from tests.fakes.conversation import Call, FakeConversation, Question, Step, Turn
from tests.snapshots.scene import LARGE, NARROW, Scene, Size, scene
from tests.tui.asking import DIFF, asked_about, has_focus, panel_of, turn_of
from tests.tui.screen import Desk, app_on

WRITE = Question(
    "write_file\n  path: a.txt\n  content: same\\nnew⟪U+202E⟫\n",
    DIFF,
    "Writing files needs approval.",
    ("once", "session", "always"),
    ("write_file a.txt",),
)


@scene
async def running(size: Size) -> AsyncIterator[Desk]:
    call = Call(
        "c1",
        "run_command",
        ('{"command": ', '"make test"}'),
        output=tuple(f"test {number} passed\n" for number in range(9)),
        endless=True,
    )
    async with app_on(FakeConversation([turn_of(call)]), size=size) as desk:
        await desk.say("Run the tests.")
        await desk.wait_until(lambda: "test 8" in desk.texts[-1])
        yield desk


@scene
async def ran(size: Size) -> AsyncIterator[Desk]:
    calls = (
        Call("c1", "read_file", result="one line"),
        Call("c2", "write_file", result="Replaced a.txt: 2 lines, 9 bytes.", detail=DIFF),
        Call("c3", "run_command", ('{"command": "make"}',), status="error", result="exit code 2\nno rule"),
    )
    turn = Turn(("One of them failed.",), steps=tuple(Step((each,)) for each in calls))
    async with app_on(FakeConversation([turn]), size=size) as desk:
        await desk.say("Put it in order.")
        await desk.ready()
        yield desk


@scene
async def asking(size: Size) -> AsyncIterator[Desk]:
    call = asked_about(WRITE)
    async with app_on(FakeConversation([turn_of(call)]), size=size) as desk:
        await desk.say("Change the file.")
        await has_focus(desk)
        panel = panel_of(desk)
        # The end of it is in sight only on the large screen.
        await desk.wait_until(lambda: panel._seen if size == LARGE else panel._laid_out)
        yield desk


@scene
async def denied(size: Size) -> AsyncIterator[Desk]:
    async with app_on(FakeConversation([turn_of(asked_about())]), size=size) as desk:
        await desk.say("Run the tests.")
        await has_focus(desk)
        await desk.pilot.press("n")
        await desk.ready()
        yield desk


SCENES = (
    Scene("tool-running", running),
    Scene("tools-ran", ran),
    Scene("question", asking),
    Scene("question-narrow", asking, NARROW),
    Scene("question-wide", asking, LARGE),
    Scene("denied", denied),
)
