"""Scenes of typing and finding: offers over the box, what was typed before, words in the transcript, blocks of code."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

from textual.widgets import Input, OptionList, Static

from skippy_chat.tui.copying import CodePicker
from skippy_chat.tui.typed_search import TypedSearch
from tests.fakes.conversation import FakeConversation, Turn
from tests.snapshots.scene import NARROW, Scene, Size, scene
from tests.snapshots.talking import ANSWER, SHORT
from tests.tui.aids import aids_in
from tests.tui.screen import Desk, app_on
from tests.tui.test_completing import shows


@scene
async def completing(size: Size) -> AsyncIterator[Desk]:
    with tempfile.TemporaryDirectory() as folder:
        async with app_on(FakeConversation(), size=size, aids=aids_in(Path(folder))) as desk:
            await desk.type("/ex")
            await shows(desk, "/explain")
            await desk.pilot.press("down")
            yield desk


@scene
async def files(size: Size) -> AsyncIterator[Desk]:
    with tempfile.TemporaryDirectory() as folder:
        async with app_on(FakeConversation(), size=size, aids=aids_in(Path(folder))) as desk:
            await desk.type("Sum up @")
            await shows(desk, "notes.md")
            yield desk


@scene
async def typed(size: Size) -> AsyncIterator[Desk]:
    with tempfile.TemporaryDirectory() as folder:
        aids = aids_in(Path(folder))
        with closing(aids.typed):
            for text in ("What is a lighthouse for?", "Tell me a story\nof two lines"):
                aids.typed.add(text)
            async with app_on(FakeConversation(), size=size, aids=aids) as desk:
                await desk.pilot.press("ctrl+s")
                rows = (await desk.over(TypedSearch)).query_one(OptionList)
                await desk.wait_until(
                    lambda: [each for each in rows.options if "2 lines" in str(each.prompt)]
                )
                await desk.wait_until(
                    lambda: "two lines  " in str(rows.options[0].prompt)
                )  # not cut any more
                yield desk


@scene
async def finding(size: Size) -> AsyncIterator[Desk]:
    async with app_on(FakeConversation([SHORT, Turn((ANSWER,))]), size=size) as desk:
        for question in ("What is a lighthouse for?", "And how far is the light seen?"):
            await desk.say(question)
            await desk.ready()
        await desk.pilot.press("ctrl+f", *"light")
        await desk.wait_until(lambda: desk.app.query_one("#find-words", Input).value == "light")
        await desk.wait_until(lambda: "of" in str(desk.app.query_one("#find-count", Static).render()))
        await desk.wait_until(lambda: any(view._prose.at is not None for view in desk.transcript.views))
        yield desk


@scene
async def code(size: Size) -> AsyncIterator[Desk]:
    two = "```python\nprint(1)\n```\nor\n```sh\necho 1\n```"
    async with app_on(FakeConversation([Turn((two,))]), size=size) as desk:
        await desk.say("Print one.")
        await desk.ready()
        await desk.say("/copy-code")
        await desk.over(CodePicker)
        yield desk


SCENES = (
    Scene("completing", completing),
    Scene("completing-files-narrow", files, NARROW),
    Scene("typed-before", typed),
    Scene("finding", finding),
    Scene("code-blocks", code),
)
