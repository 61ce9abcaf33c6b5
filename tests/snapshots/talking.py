"""Scenes of a conversation: answers, reasoning, branches, what is queued, what went wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator

from skippy_chat.agent.room import Room
from skippy_chat.errors import ContextFull, EngineDied
from skippy_chat.tui.reading import ReadingScreen
from skippy_chat.tui.room_screen import RoomScreen
from tests.fakes.conversation import COLD, FakeConversation, Turn
from tests.snapshots.scene import LARGE, NARROW, Scene, Size, scene
from tests.tui.screen import Desk, app_on

ANSWER = """\
A lighthouse *warns* and **guides**:

1. it marks rocks and shoals,
2. it tells ships where they are.

| light | range |
|---|---:|
| north point | 19 miles |
| mole | 8 miles |

```python
def visible(height: float) -> float:
    return 2.08 * height**0.5  # nautical miles
```

> `north point` flashes twice every ten seconds.
"""
SHORT = Turn(("A lighthouse warns ships of **rocks**, and tells them where they are.",))
THOUGHT = ("The person asks what a lighthouse\n", "is for. I should be brief.")


@scene
async def empty(size: Size) -> AsyncIterator[Desk]:
    async with app_on(FakeConversation(), size=size) as desk:
        yield desk


@scene
async def chat(size: Size) -> AsyncIterator[Desk]:
    async with app_on(FakeConversation([COLD, Turn((ANSWER,))]), size=size) as desk:
        await desk.say("Are you there?")
        await desk.ready()
        await desk.say("What is a lighthouse for?\nBe brief, please.")
        await desk.ready()
        yield desk


@scene
async def streaming(size: Size) -> AsyncIterator[Desk]:
    # In one piece: where a second one comes late, there are rows between that were laid out before it.
    turn = Turn(("A lighthouse *warns* and\n\n```python\ndef visible(",), endless=True)
    async with app_on(FakeConversation([SHORT, turn]), size=size) as desk:
        await desk.say("What is a lighthouse for?")
        await desk.ready()
        await desk.say("And in Python?")
        await desk.wait_until(lambda: "def visible(" in desk.texts[-1])
        yield desk


@scene
async def queued(size: Size) -> AsyncIterator[Desk]:
    async with app_on(FakeConversation([Turn(("Once upon a time",), endless=True)]), size=size) as desk:
        await desk.say("Tell me a story.")
        await desk.wait_until(lambda: "Once" in desk.texts[-1])
        await desk.say("Make it a short one.")
        await desk.wait_until(lambda: "Make" in desk.queue)
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: "Stopped" in desk.texts[-1])
        yield desk


@scene
async def reasoning_open(size: Size) -> AsyncIterator[Desk]:
    # In one piece, as above.
    async with app_on(FakeConversation([Turn((), ("".join(THOUGHT),), endless=True)]), size=size) as desk:
        await desk.say("What is a lighthouse for?")
        await desk.wait_until(lambda: "brief" in desk.texts[-1])
        yield desk


@scene
async def reasoning_folded(size: Size) -> AsyncIterator[Desk]:
    async with app_on(FakeConversation([Turn(SHORT.pieces, THOUGHT)]), size=size) as desk:
        await desk.say("What is a lighthouse for?")
        await desk.ready()
        yield desk


@scene
async def editing(size: Size) -> AsyncIterator[Desk]:
    async with app_on(FakeConversation([SHORT, SHORT]), size=size) as desk:
        for question in ("What is a lighthouse for?", "And a light ship?"):
            await desk.say(question)
            await desk.ready()
        await desk.pilot.press("up", "!")
        await desk.wait_until(lambda: desk.composer.text.endswith("!"))
        yield desk


@scene
async def branches(size: Size) -> AsyncIterator[Desk]:
    async with app_on(FakeConversation([SHORT, Turn(("To be seen from afar.",))]), size=size) as desk:
        await desk.say("What is a lighthouse for?")
        await desk.ready()
        await desk.pilot.press("ctrl+r")
        await desk.wait_until(lambda: "2/2" in desk.texts[-1])
        await desk.ready()
        await desk.pilot.press("shift+tab")
        await desk.wait_until(lambda: desk.app.focused is desk.transcript.views[-1])
        yield desk


@scene
async def context_full(size: Size) -> AsyncIterator[Desk]:
    full = ContextFull("The conversation has 9,100 tokens.", "Take a larger context: --ctx 16384.")
    conversation = FakeConversation([SHORT, Turn(fails=full)])
    conversation.space = Room(9100, 8192, 60, 940, 6300, 1800, droppable=1200)
    async with app_on(conversation, size=size) as desk:
        await desk.say("What is a lighthouse for?")
        await desk.ready()
        await desk.say("Here is a whole book about them.")
        await desk.wait_until(lambda: isinstance(desk.app.screen, RoomScreen) and desk.app.screen.listening)
        await desk.wait_until(lambda: desk.app.screen.ways.room is not None)  # type: ignore[attr-defined]
        yield desk


@scene
async def worker_died(size: Size) -> AsyncIterator[Desk]:
    dies = EngineDied("The model's process ended (signal 9).", "It starts again.", ("ggml: out of memory",))
    async with app_on(FakeConversation([Turn(("To warn ships of",), dies=dies)]), size=size) as desk:
        await desk.say("What is a lighthouse for?")
        await desk.wait_until(lambda: "ended" in "".join(desk.texts))
        await desk.ready()
        yield desk


@scene
async def help_page(size: Size) -> AsyncIterator[Desk]:
    async with app_on(FakeConversation(), size=size) as desk:
        await desk.say("/help")
        await desk.over(ReadingScreen)
        yield desk


SCENES = (
    Scene("empty", empty),
    Scene("chat", chat),
    Scene("chat-narrow", chat, NARROW),
    Scene("chat-wide", chat, LARGE),
    Scene("chat-light", chat, theme="light"),
    Scene("chat-ansi", chat, theme="ansi-dark"),
    Scene("chat-no-colour", chat, colours=False),
    Scene("streaming", streaming),
    Scene("queued", queued),
    Scene("reasoning-open", reasoning_open),
    Scene("reasoning-folded", reasoning_folded),
    Scene("editing", editing),
    Scene("branches", branches),
    Scene("context-full", context_full),
    Scene("worker-died", worker_died),
    Scene("help", help_page),
)
