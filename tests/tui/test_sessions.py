"""Which session opens: the picker, a choice made beforehand, and what happens when opening takes time or fails."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest
from textual import events
from textual.widgets import Input, OptionList

from skippy_chat.errors import HistoryError, ModelFileError, SessionLocked
from skippy_chat.tui.bridge import OnProgress
from skippy_chat.tui.sessions import Choice, SessionPicker, age
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.screen import Desk, FakeShelf, app_on, overview
from tests.tui.test_history import screen_text

pytestmark = pytest.mark.timeout(180)

RECENT = [overview(1, "tell me about ships"), overview(200, "old", title="harbour\x1b[2J")]


async def test_without_sessions_a_new_one_opens_at_once() -> None:
    async with app_on(FakeConversation()) as desk:
        assert desk.chosen == [Choice()]


async def test_the_picker_lists_newest_first_with_new_on_top() -> None:
    async with app_on(FakeConversation(), sessions=RECENT, wait=False) as desk:
        await picking(desk)
        prompts = [str(option.prompt) for option in desk.app.screen.query_one(OptionList).options]
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
        await picking(desk)
        prompts = [str(option.prompt) for option in desk.app.screen.query_one(OptionList).options]
        assert [each.split("\n")[0] for each in prompts] == ["New session", "Ships", "harbour"]


async def test_a_new_session_from_the_picker() -> None:
    async with app_on(FakeConversation(), sessions=RECENT, wait=False) as desk:
        await picking(desk)
        await desk.pilot.press("enter")
        await desk.ready()
        assert desk.chosen == [Choice()]


async def picking(desk: Desk) -> SessionPicker:
    """Wait for the picker to show what was searched for."""
    picker = await desk.over(SessionPicker)
    await desk.wait_until(lambda: picker.query_one(OptionList).option_count)
    return picker


def listed(desk: Desk) -> list[str]:
    return [str(option.prompt).split("\n")[0] for option in desk.app.screen.query_one(OptionList).options]


def told(desk: Desk) -> str:
    return str(desk.app.screen.query_one("#told").render())


async def test_what_is_typed_ahead_searches_and_goes_along_into_a_new_session() -> None:
    conversation = FakeConversation([Turn(("Hi.",))])
    async with app_on(conversation, sessions=RECENT, wait=False) as desk:
        for character in "now quit?\b!":  # letters that might have been keys, before and after it is there
            key = {" ": "space", "\b": "backspace", "?": "question_mark", "!": "exclamation_mark"}
            desk.app.post_message(events.Key(key.get(character, character), character))
        await desk.wait_until(lambda: desk.composer.text == "now quit!")
        await picking(desk)
        desk.app.post_message(events.Paste(" and\x1b[2J\nmore"))
        await desk.wait_until(lambda: desk.composer.text == "now quit! and\nmore")
        search = desk.app.screen.query_one("#search")
        await desk.wait_until(lambda: str(search.render()) == "» now quit! and more")
        await desk.wait_until(
            lambda: listed(desk) == ["New session, with this text in the box: now quit! and more"]
        )
        assert desk.chosen == []
        await desk.pilot.press("enter")
        await desk.ready()
        assert desk.chosen == [Choice()]
        assert conversation.asked == []
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: conversation.asked == ["now quit! and\nmore"])


async def test_typing_searches_and_enter_opens_the_first_hit() -> None:
    async with app_on(FakeConversation(), sessions=RECENT, wait=False) as desk:
        await picking(desk)
        await desk.type("harb")
        await desk.wait_until(lambda: listed(desk)[1:] == ["harbour"])
        await desk.pilot.press("enter")
        await desk.ready()
        assert desk.chosen == [Choice("01S200")]
        assert desk.composer.text == ""
        await desk.pilot.press("up")
        assert desk.composer.text == "harb"  # it may have been meant as a message


async def test_enter_waits_for_what_was_typed_before_it() -> None:
    shelf = FakeShelf(RECENT)
    async with app_on(FakeConversation(), shelf=shelf, wait=False) as desk:
        await picking(desk)
        shelf.may_answer.clear()
        await desk.type("harb")
        await desk.pilot.press("enter")
        assert desk.chosen == []
        shelf.may_answer.set()
        await desk.ready()
        assert desk.chosen == [Choice("01S200")]


async def test_what_was_found_in_a_message_is_shown() -> None:
    async with app_on(FakeConversation(), sessions=RECENT, wait=False) as desk:
        picker = await picking(desk)
        await desk.type("ships")
        rows = picker.query_one(OptionList)
        # Two are listed for the first letter already.
        await desk.wait_until(
            lambda: len(listed(desk)) == 2 and "  ships was said" in str(rows.options[1].prompt)
        )
        assert str(rows.options[1].prompt).split("\n")[2] == "  ships was said"


async def test_other_folders_come_below() -> None:
    far = overview(5, "elsewhere", title="far")
    far = replace(far, session=replace(far.session, folder="/else\x1b[2J"))
    async with app_on(FakeConversation(), sessions=[far, *RECENT], wait=False) as desk:
        picker = await picking(desk)
        assert listed(desk) == ["New session", "tell me about ships", "harbour", "Other folders", "far"]
        assert "/else · 5 minutes ago" in str(picker.query_one(OptionList).options[4].prompt)
        await desk.pilot.press("down", "down", "down", "enter")
        await desk.ready()
        assert desk.chosen == [Choice("01S5")]


async def test_a_folder_without_sessions_begins_a_new_one() -> None:
    far = overview(5, "elsewhere", title="far")
    far = replace(far, session=replace(far.session, folder="/else"))
    async with app_on(FakeConversation(), sessions=[far]) as desk:
        assert desk.chosen == [Choice()]


async def test_renaming_in_the_picker() -> None:
    shelf = FakeShelf(RECENT)
    async with app_on(FakeConversation(), shelf=shelf, wait=False) as desk:
        picker = await picking(desk)
        await desk.pilot.press("down", "down", "ctrl+r")
        field = picker.query_one(Input)
        await desk.wait_until(lambda: field.has_focus)
        await desk.pilot.press("ctrl+u", *"quay q", "escape")  # q, and Esc leaves the name alone
        assert isinstance(desk.app.screen, SessionPicker)
        assert desk.composer.text == ""
        await desk.pilot.press("ctrl+r")
        await desk.wait_until(lambda: field.has_focus)
        await desk.pilot.press("ctrl+u", *"quay", "enter")
        await desk.wait_until(lambda: "quay" in listed(desk))
        assert shelf.sessions["01S200"].session.title == "quay"
        assert told(desk) == "It is quay now."
        shelf.fails = HistoryError("A session named 'quay' exists already.", "Choose another name.")
        await desk.pilot.press("ctrl+r")
        await desk.wait_until(lambda: field.has_focus)
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: "exists already" in told(desk))


async def test_deleting_in_the_picker_and_restoring() -> None:
    shelf = FakeShelf(RECENT)
    async with app_on(FakeConversation(), shelf=shelf, wait=False) as desk:
        await picking(desk)
        await desk.pilot.press("ctrl+x")  # on New session it is nothing
        await desk.pilot.press("down", "down", "ctrl+x")
        await desk.wait_until(lambda: listed(desk) == ["New session", "tell me about ships"])
        assert told(desk) == "Deleted harbour. Ctrl-Z restores it."
        await desk.pilot.press("ctrl+z")
        await desk.wait_until(lambda: "harbour" in listed(desk))
        assert told(desk) == "harbour is back."
        assert shelf.deleted == {}
        await desk.pilot.press("enter")  # it stands on what came back
        await desk.ready()
        assert desk.chosen == [Choice("01S200")]


async def test_a_session_that_is_written_is_not_deleted() -> None:
    shelf = FakeShelf(RECENT)
    shelf.fails = SessionLocked("Another skippy-chat (process 7) writes it.", "Wait.", "01S1", 7)
    async with app_on(FakeConversation(), shelf=shelf, wait=False) as desk:
        await picking(desk)
        await desk.pilot.press("down", "delete")
        await desk.wait_until(lambda: "process 7" in told(desk))
        assert listed(desk)[1:] == ["tell me about ships", "harbour"]


async def test_copying_in_the_picker_stands_on_the_copy() -> None:
    shelf = FakeShelf(RECENT)
    async with app_on(FakeConversation(), shelf=shelf, wait=False) as desk:
        await picking(desk)
        await desk.pilot.press("down", "ctrl+f")
        await desk.wait_until(lambda: len(listed(desk)) == 4)
        await desk.pilot.press("enter")
        await desk.ready()
        assert desk.chosen == [Choice("01S1C")]


async def test_a_draft_is_told_in_the_list() -> None:
    recent = [replace(RECENT[0], draft="half a\x1b[2J thought")]
    async with app_on(FakeConversation(), sessions=recent, wait=False) as desk:
        picker = await picking(desk)
        assert "not sent: half a thought" in str(picker.query_one(OptionList).options[1].prompt)


async def test_a_hundred_sessions_are_quick_to_search() -> None:
    many = [overview(number, f"about thing {number}") for number in range(1, 101)]
    async with app_on(FakeConversation(), sessions=many, wait=False) as desk:
        picker = await picking(desk)
        began = time.thread_time()  # other threads' work and other programs' are not its own
        picker._show("thing", picker._shelf.found("thing"))
        await desk.pilot.pause()
        assert time.thread_time() - began < 0.5
        assert len(listed(desk)) == 101


@pytest.mark.parametrize("key", ["escape", "ctrl+c", "ctrl+d"])
async def test_leaving_from_the_picker(key: str) -> None:
    async with app_on(FakeConversation(), sessions=RECENT, wait=False) as desk:
        await picking(desk)
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


async def test_a_name_turns_nothing_around_and_always_shows() -> None:
    sessions = [
        overview(1, "first said", title="[red]a[/red]\x1b[2J\u202eb"),
        overview(2, "second said", title="\u202e\u200b\x1b[2J"),
        overview(3, "\x00", title="[@click=app.leave()]c[/]"),
        overview(4, "\u2066"),
    ]
    async with app_on(FakeConversation(), sessions=sessions, wait=False) as desk:
        await desk.wait_until(lambda: "ago" in screen_text(desk))
        text = screen_text(desk)
        assert not {"\u202e", "\u200b", "\u2066", "\x1b"} & set(text)
        for name in ("[red]a[/red]b", "second said", "[@click=app.leave()]c[/]", "01S4"):
            assert name in text
