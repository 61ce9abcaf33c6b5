"""The model picker: what is listed, what does not fit, and that the session goes on with the one that was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import OptionList, Static

from skippy_chat.agent.room import Room
from skippy_chat.config import Settings
from skippy_chat.errors import EngineDied
from skippy_chat.tui.models import Choosing, ModelScreen
from skippy_chat.tui.preferences import ModelRow, Preferences
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.screen import Desk, app_on

pytestmark = pytest.mark.timeout(180)

ROWS = (
    ModelRow("default", Path("/m/a.gguf"), "smollm", "Q4_1", 100 << 20, 8192, "hybrid"),
    ModelRow("smollm2"),
    ModelRow("small", Path("/m/s.gguf"), "llama", "Q8_0", 50 << 20, 2048),
    ModelRow("broken\x1b[2J", Path("/m/b.gguf"), fault="/m/b.gguf is cut off"),
)


def talk_of(used: int, turns: Sequence[Turn] = ()) -> FakeConversation:
    talk = FakeConversation(turns)
    talk.space = Room(used, talk.model.context_size, 0, 0, 0, 0)
    return talk


async def shown(desk: Desk) -> list[str]:
    await desk.say("/model")
    await desk.over(ModelScreen)
    return [str(each.prompt) for each in desk.app.screen.query_one(OptionList).options]


def test_what_fits() -> None:
    choosing = Choosing(ROWS, "default", 3000, 8192)
    assert [bool(choosing.trouble(each)) for each in ROWS] == [False, False, True, True]
    assert choosing.trouble(ROWS[2]) == "this session has about 3,000 tokens, and its context is 2,048"
    assert not Choosing(ROWS, "default", 3000, 0).trouble(ROWS[0])
    assert Choosing(ROWS, "default", 3000, 1024).trouble(ROWS[0])


async def test_models_are_listed_with_what_is_known_of_them() -> None:
    async with app_on(talk_of(100), preferences=Preferences(models=lambda: ROWS)) as desk:
        lines = await shown(desk)
        assert lines[0].startswith("● default")
        assert "hybrid · smollm · Q4_1 · 100 MiB · context up to 8,192" in lines[0]
        assert "made at its first use" in lines[1]
        assert "is cut off" in lines[3]
        assert "\x1b" not in "".join(lines)
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: not isinstance(desk.app.screen, ModelScreen))
        assert len(desk.chosen) == 1


async def test_the_session_goes_on_with_the_one_that_was_chosen() -> None:
    talk = talk_of(100, [Turn(("One.",)), Turn(("Two.",))])
    async with app_on(talk, preferences=Preferences(models=lambda: ROWS)) as desk:
        await desk.say("hello")
        await desk.ready()
        await shown(desk)
        await desk.pilot.press("down", "enter")
        await desk.wait_until(lambda: len(desk.chosen) == 2)
        assert (desk.chosen[1].session, desk.chosen[1].changes) == ("01FAKE", {"model": "smollm2"})
        assert talk.kept_unused, "a copy in which nothing was said would be gone"
        await desk.ready()
        assert desk.texts == ["hello", "One."]
        assert "is read once" not in desk.status, "the fake's model is the same one"


async def test_another_model_is_said_when_it_is_there() -> None:
    talk = talk_of(100, [Turn(("One.",))])

    def opened(_progress: object) -> FakeConversation:
        if talk.asked:
            talk.loaded = replace(talk.loaded, name="other", sha256="cd" * 32)
        return talk

    async with app_on(opened, preferences=Preferences(models=lambda: ROWS)) as desk:
        await desk.say("hello")
        await desk.ready()
        await desk.say("/model smollm2")
        await desk.wait_until(lambda: "other from here on; what it has not read" in desk.status)


async def test_a_session_in_which_nothing_was_said_is_begun_again_since_it_is_not_kept() -> None:
    async with app_on(talk_of(0), preferences=Preferences(models=lambda: ROWS)) as desk:
        await desk.say("/model smollm2")
        await desk.wait_until(lambda: len(desk.chosen) == 2)
        assert (desk.chosen[1].session, desk.chosen[1].changes) == (None, {"model": "smollm2"})


async def test_one_in_whose_context_it_does_not_fit_is_chosen_twice() -> None:
    async with app_on(talk_of(5000), preferences=Preferences(models=lambda: ROWS)) as desk:
        assert "about 5,000 tokens" in (await shown(desk))[2]
        await desk.pilot.press("down", "down", "enter")
        note = desk.app.screen.query_one("#model-note", Static)
        assert "Enter goes on all the same" in str(note.render())
        await desk.pilot.press("down", "enter", "enter")
        assert isinstance(desk.app.screen, ModelScreen), "a file that is no model is never chosen"
        await desk.pilot.press("up", "enter", "enter")
        await desk.wait_until(lambda: len(desk.chosen) == 2)
        assert desk.chosen[1].changes == {"model": "small"}


async def test_a_name_is_understood_or_the_closest_told() -> None:
    talk = talk_of(5000)
    talk.settings = Settings(model="small")
    async with app_on(talk, preferences=Preferences(models=lambda: ROWS)) as desk:
        for name, words in (("smollm", "Did you mean smollm2?"), ("zzz", "/model shows")):
            await desk.say(f"/model {name}")
            await desk.wait_until(lambda words=words: words in desk.status)  # type: ignore[misc]
        talk.space = replace(talk.space, used=10)
        await desk.say("/model small")
        await desk.wait_until(lambda: "The model is small already." in desk.status)
        await desk.say("/model default")
        await desk.wait_until(lambda: len(desk.chosen) == 2)
        assert desk.chosen[1].changes == {"model": "default"}


async def test_a_name_that_would_not_do_is_shown_in_the_list_with_the_reason() -> None:
    async with app_on(talk_of(5000), preferences=Preferences(models=lambda: ROWS)) as desk:
        await desk.say("/model small")
        await desk.over(ModelScreen)
        note = desk.app.screen.query_one("#model-note", Static)
        assert "about 5,000 tokens" in str(note.render())
        assert desk.app.screen.query_one(OptionList).highlighted == 2
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: len(desk.chosen) == 2)
        assert desk.chosen[1].changes == {"model": "small"}


async def test_a_file_is_taken_by_its_path() -> None:
    asked: list[str] = []

    def model_at(path: str) -> ModelRow | None:
        asked.append(path)
        return ModelRow("/m/x.gguf", Path("/m/x.gguf"), "llama", size=1) if path == "x.gguf" else None

    wishes = Preferences(models=lambda: ROWS, model_at=model_at)
    async with app_on(talk_of(10), preferences=wishes) as desk:
        await desk.say("/model y.gguf")
        await desk.wait_until(lambda: "No model is called y.gguf." in desk.status)
        await desk.say("/model x.gguf")
        await desk.wait_until(lambda: len(desk.chosen) == 2)
        assert desk.chosen[1].changes == {"model": "/m/x.gguf"}
        assert asked == ["y.gguf", "x.gguf"]


async def test_another_model_can_be_chosen_when_the_worker_has_died(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = talk_of(10)

    def died() -> Room:
        raise EngineDied("There is no worker.")

    async with app_on(talk, preferences=Preferences(models=lambda: ROWS)) as desk:
        monkeypatch.setattr(talk, "room", died)
        await desk.say("/model smollm2")
        await desk.wait_until(lambda: len(desk.chosen) == 2)
        assert desk.chosen[1].changes == {"model": "smollm2"}
