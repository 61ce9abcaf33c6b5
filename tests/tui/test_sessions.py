"""Which session opens: the picker, a choice made beforehand, and what happens when opening takes time or fails."""

from __future__ import annotations

import threading

import pytest
from textual import events

from skippy_chat.errors import ModelFileError
from skippy_chat.tui.bridge import OnProgress
from skippy_chat.tui.sessions import Choice, SessionPicker, age
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.screen import app_on, overview

pytestmark = pytest.mark.timeout(60)

RECENT = [overview(1, "tell me about ships"), overview(200, "old", title="harbour\x1b[2J")]


async def test_without_sessions_a_new_one_opens_at_once() -> None:
    async with app_on(FakeConversation()) as desk:
        assert desk.chosen == [Choice()]


async def test_the_picker_lists_newest_first_with_new_on_top() -> None:
    async with app_on(FakeConversation(), sessions=RECENT, wait=False) as desk:
        await desk.wait_until(lambda: isinstance(desk.app.screen, SessionPicker))
        prompts = [str(option.prompt) for option in desk.app.screen.query_one("OptionList").options]  # type: ignore[attr-defined]
        assert prompts == [
            "New session",
            "tell me about ships\n  1 minute ago · 2 messages · fake-135m",
            "harbour\n  3 hours ago · 400 messages · fake-135m",
        ]
        await desk.pilot.press("down", "down", "enter")
        await desk.ready()
        assert desk.chosen == [Choice("01S200")]


async def test_the_picker_shows_a_made_title_where_there_is_no_name() -> None:
    recent = [overview(1, "tell me", made="Ships\x1b[2J"), overview(2, "tell", title="harbour", made="Other")]
    async with app_on(FakeConversation(), sessions=recent, wait=False) as desk:
        await desk.wait_until(lambda: isinstance(desk.app.screen, SessionPicker))
        prompts = [str(option.prompt) for option in desk.app.screen.query_one("OptionList").options]  # type: ignore[attr-defined]
        assert [each.split("\n")[0] for each in prompts] == ["New session", "Ships", "harbour"]


async def test_a_new_session_from_the_picker() -> None:
    async with app_on(FakeConversation(), sessions=RECENT, wait=False) as desk:
        await desk.wait_until(lambda: isinstance(desk.app.screen, SessionPicker))
        await desk.pilot.press("enter")
        await desk.ready()
        assert desk.chosen == [Choice()]


async def test_what_is_typed_ahead_of_the_picker_waits_for_the_session() -> None:
    conversation = FakeConversation([Turn(("Hi.",))])
    async with app_on(conversation, sessions=RECENT, wait=False) as desk:
        for character in "now quit?\b!":  # letters that might have been keys, before and after it is there
            key = {" ": "space", "\b": "backspace", "?": "question_mark", "!": "exclamation_mark"}
            desk.app.post_message(events.Key(key.get(character, character), character))
        await desk.wait_until(lambda: desk.composer.text == "now quit!")
        await desk.wait_until(lambda: isinstance(desk.app.screen, SessionPicker))
        desk.app.post_message(events.Paste(" and\x1b[2J\nmore"))
        await desk.wait_until(lambda: desk.composer.text == "now quit! and\nmore")
        assert str(desk.app.screen.query_one("#draft").render()) == "» now quit! and more"
        assert desk.chosen == []
        await desk.pilot.press("down", "enter")
        await desk.ready()
        assert desk.chosen == [Choice("01S1")]
        assert conversation.asked == []
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: conversation.asked == ["now quit! and\nmore"])


@pytest.mark.parametrize("key", ["escape", "ctrl+c", "ctrl+d"])
async def test_leaving_from_the_picker(key: str) -> None:
    async with app_on(FakeConversation(), sessions=RECENT, wait=False) as desk:
        await desk.wait_until(lambda: isinstance(desk.app.screen, SessionPicker))
        await desk.pilot.press(key)
        await desk.wait_until(lambda: desk.app.return_code == 0)
        assert desk.chosen == []


async def test_a_choice_made_beforehand_skips_the_picker() -> None:
    async with app_on(FakeConversation(), sessions=RECENT, start=Choice("01S1")) as desk:
        assert desk.chosen == [Choice("01S1")]


async def test_typing_works_while_the_model_loads_and_what_was_sent_follows() -> None:
    loaded = threading.Event()
    conversation = FakeConversation([Turn(("Hi.",))])

    def slowly(on_progress: OnProgress) -> FakeConversation:
        on_progress("Making the default model", 30, 120)
        loaded.wait(30)
        return conversation

    async with app_on(slowly, wait=False) as desk:
        await desk.wait_until(lambda: "loading Making the default model 25 %" in desk.status)
        await desk.type("early")
        await desk.pilot.press("enter")
        assert "queued: early" in desk.queue
        assert conversation.asked == []
        loaded.set()
        await desk.wait_until(lambda: desk.texts == ["early", "Hi."])


async def test_a_model_that_does_not_load_ends_the_app_with_its_error() -> None:
    error = ModelFileError("No such model.", "Give --model.")

    def failing(_on_progress: OnProgress) -> FakeConversation:
        raise error

    async with app_on(failing, wait=False) as desk:
        await desk.wait_until(lambda: desk.app.failure is error)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(-5, "just now"), (59_000, "just now"), (3_599_000, "59 minutes ago"), (90_000_000, "1 day ago")],
)
def test_ages(milliseconds: int, text: str) -> None:
    assert age(milliseconds) == text
