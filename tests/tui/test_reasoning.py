"""What the model thought: shown as it comes, folded once it answers or calls, and there to be looked at."""

from __future__ import annotations

import pytest

from tests.fakes.conversation import Call, FakeConversation, Step, Turn
from tests.tui.screen import app_on

pytestmark = pytest.mark.timeout(180)

THOUGHT = ("Two and", " two,\nso", " four.")


async def test_reasoning_shows_while_there_is_nothing_else() -> None:
    async with app_on(FakeConversation([Turn((), reasoning=THOUGHT, endless=True)])) as desk:
        await desk.say("2+2")
        await desk.wait_until(lambda: desk.texts[-1] == "\nTwo and two,\nso four.")
        assert "writing reasoning" in desk.status
        await desk.pilot.press("ctrl+o")
        assert desk.texts[-1] == "2 lines · r shows them"
        await desk.pilot.press("escape")
        await desk.ready()
        assert desk.texts[-1].startswith("2 lines · r shows them")


async def test_reasoning_folds_when_the_answer_begins_and_unfolds_while_it_streams() -> None:
    async with app_on(FakeConversation([Turn(("So: ", "**4**."), reasoning=THOUGHT, endless=True)])) as desk:
        await desk.say("2+2")
        await desk.wait_until(lambda: desk.texts[-1] == "2 lines · r shows them\n\nSo: 4.")
        await desk.pilot.press("shift+tab", "r")
        assert desk.texts[-1] == "\nTwo and two,\nso four.\n\nSo: 4."
        desk.transcript.views[-1].grow_text(" Yes.")  # type: ignore[attr-defined] # it is an answer
        assert desk.texts[-1] == "\nTwo and two,\nso four.\n\nSo: 4. Yes."
        await desk.pilot.press("r")
        assert desk.texts[-1] == "2 lines · r shows them\n\nSo: 4. Yes."
        await desk.pilot.press("escape", "escape")
        await desk.ready()


async def test_what_was_unfolded_stays_so_when_the_answer_is_stored() -> None:
    conversation = FakeConversation([Turn(("So: 4.",), reasoning=THOUGHT, endless=True)])
    async with app_on(conversation) as desk:
        await desk.say("2+2")
        await desk.wait_until(lambda: "So: 4." in desk.texts[-1])
        await desk.pilot.press("ctrl+o", "escape")
        await desk.ready()
        assert desk.texts[-1].startswith("\nTwo and two,\nso four.\n\nSo: 4.\n")


async def test_reasoning_folds_when_a_call_begins() -> None:
    step = Step((Call("c1", endless=True, output=("working",)),), reasoning=THOUGHT)
    async with app_on(FakeConversation([Turn(("Done.",), steps=(step,))])) as desk:
        await desk.say("go")
        await desk.wait_until(lambda: "working" in desk.texts[-1])
        assert desk.texts[-2] == "2 lines · r shows them"
        await desk.pilot.press("escape")
        await desk.ready()
        assert desk.texts[-2] == "2 lines · r shows them"
