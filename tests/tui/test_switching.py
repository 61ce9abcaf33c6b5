"""Going from session to session within the app, and drafts, which stay where they were typed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from textual.widgets import OptionList

from skippy_chat.agent.protocol import Fork
from skippy_chat.errors import HistoryError, ModelFileError, SessionLocked, SkippyError
from skippy_chat.tui.bridge import OnProgress
from skippy_chat.tui.drafts import Drafts
from skippy_chat.tui.sessions import Choice, SessionPicker
from tests.fakes.conversation import FakeConversation, FakeHeld, Turn
from tests.tui.screen import Desk, FakeShelf, app_on, overview

pytestmark = pytest.mark.timeout(180)


def conversation(number: int, turns: int = 1, said: str = "") -> FakeConversation:
    talk = FakeConversation(
        [Turn((f"Answer of {number}.",))] * turns, session=replace(overview(number, "").session)
    )
    if said:
        talk.add("assistant", "Yes.", talk.add("user", said, None).id)
    return talk


@dataclass
class World:
    """Sessions 1 and 2, opened as they are chosen; what is to be opened in vain is in ``failures``."""

    first: FakeConversation = field(default_factory=lambda: conversation(1, said="about one"))
    second: FakeConversation = field(default_factory=lambda: conversation(2, said="about two"))
    fresh: FakeConversation = field(default_factory=lambda: conversation(3))
    failures: dict[str, SkippyError] = field(default_factory=dict)
    shelf: FakeShelf = field(
        default_factory=lambda: FakeShelf(
            [overview(1, "about one", title="one"), overview(2, "about two", title="two")]
        )
    )
    chosen: list[Choice] = field(default_factory=list)

    def open(self, choice: Choice) -> FakeConversation:
        if (failure := self.failures.get(choice.session or "")) is not None:
            raise failure
        return {"01S1": self.first, "01S2": self.second}.get(choice.session or "", self.fresh)


@asynccontextmanager
async def at_first(world: World) -> AsyncIterator[Desk]:
    desk: Desk | None = None

    def open_it(_on_progress: OnProgress) -> FakeConversation:
        assert desk is not None or world.chosen == []
        choice = desk.chosen[-1] if desk is not None else Choice("01S1")
        world.chosen.append(choice)
        return world.open(choice)

    held = FakeHeld(world.second)
    async with app_on(
        open_it, start=Choice("01S1"), shelf=world.shelf, held=lambda: held, wait=False
    ) as opened:
        desk = opened
        await desk.wait_until(lambda: opened.texts == ["about one", "Yes."])
        await desk.ready()
        yield desk


async def go_to(desk: Desk, *keys: str) -> None:
    await desk.pilot.press("ctrl+l")
    await listing(desk)
    await desk.pilot.press(*keys)


async def listing(desk: Desk) -> SessionPicker:
    picker = await desk.over(SessionPicker)
    await desk.wait_until(lambda: picker.query_one(OptionList).option_count)
    return picker


async def test_enter_in_the_list_goes_to_the_session_before() -> None:
    world = World()
    async with at_first(world) as desk:
        await go_to(desk, "enter")
        await desk.wait_until(lambda: desk.texts == ["about two", "Yes."])
        await desk.ready()
        assert (world.first.closed, world.second.closed) == (1, 0)
        await desk.say("more")
        await desk.wait_until(lambda: desk.texts[-1] == "Answer of 2.")
        await desk.ready()
        assert world.first.asked == []
        await go_to(desk, "enter")
        await desk.wait_until(lambda: desk.texts == ["about one", "Yes."])


async def test_what_is_open_is_marked_and_staying_changes_nothing() -> None:
    world = World()
    async with at_first(world) as desk:
        desk.composer.put("half a thought")
        await go_to(desk, "up")
        picker = await listing(desk)
        assert "open now" in str(picker.query_one(OptionList).options[1].prompt)
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: desk.app.screen is not picker)
        assert desk.composer.text == "half a thought"
        await go_to(desk, "x", "y", "escape")
        await desk.wait_until(lambda: desk.composer.text == "half a thought")
        assert desk.chosen == [Choice("01S1")]
        assert world.first.closed == 0


async def test_a_draft_waits_in_its_session() -> None:
    world = World()
    world.second.draft = "begun in two"
    async with at_first(world) as desk:
        await desk.type("begun in one")
        await go_to(desk, *"two")
        await desk.wait_until(lambda: desk.app.screen.query_one(OptionList).option_count == 2)
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: desk.composer.text == "begun in two")
        await desk.ready()
        assert world.first.draft == "begun in one"
        assert world.second.drafts == []
        await go_to(desk, "enter")
        await desk.wait_until(lambda: desk.composer.text == "begun in one")
        assert world.second.draft == "begun in two"


async def test_a_draft_is_written_while_it_is_typed_and_goes_when_it_is_sent() -> None:
    world = World()
    async with at_first(world) as desk:
        desk.composer.put("hello")  # in one go: a second between two letters is a draft of its own
        await desk.wait_until(lambda: world.first.drafts == ["hello"])
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: world.first.drafts == ["hello", ""])


async def test_no_draft_is_written_from_letter_to_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Drafts.__init__, "__defaults__", (600.0,))
    world = World()
    async with at_first(world) as desk:
        await desk.type("hello")
        assert world.first.drafts == []
    assert world.first.drafts == ["hello"]


async def test_leaving_keeps_what_was_typed_a_moment_ago_and_what_was_queued() -> None:
    world = World(first=FakeConversation([Turn(("x",), endless=True)], session=overview(1, "").session))
    world.first.add("assistant", "Yes.", world.first.add("user", "about one", None).id)
    async with at_first(world) as desk:
        await desk.say("go")
        await desk.wait_until(lambda: "writing" in desk.status or "reading" in desk.status)
        await desk.say("queued")
        await desk.type("and typed")
    assert world.first.draft == "queued\n\nand typed"


async def test_an_edit_is_no_draft() -> None:
    world = World()
    async with at_first(world) as desk:
        desk.composer.put("mine")
        await desk.wait_until(lambda: world.first.drafts == ["mine"])
        await desk.pilot.press("shift+tab", "up", "up", "e")
        await desk.wait_until(lambda: desk.composer.text == "about one")
        await desk.type(" changed")
        desk.app.exit(0)
    assert world.first.drafts == ["mine"]


async def test_what_was_typed_ahead_is_not_overwritten_by_a_draft() -> None:
    talk = conversation(1)
    talk.draft = "from yesterday"
    async with app_on(talk, wait=False, sessions=[overview(1, "x")]) as desk:
        await listing(desk)
        await desk.type("new")
        await desk.pilot.press("enter")
        await desk.ready()
        assert desk.composer.text == "new"
        await desk.pilot.press("ctrl+u", "up")
        assert desk.composer.text == "from yesterday"


async def test_opening_the_same_session_anew_leaves_the_box_as_it_is() -> None:
    world = World()
    async with at_first(world) as desk:
        desk.composer.put("half a thought")
        desk.app.opening.begin(Choice("01S1", changes={"model": "other"}))
        await desk.wait_until(lambda: desk.chosen[1:] == [Choice("01S1", changes={"model": "other"})])
        await desk.ready()
        assert world.first.draft == desk.composer.text == "half a thought"
        await desk.pilot.press("ctrl+u")
        assert not desk.composer.take_draft()


async def test_what_is_typed_does_not_go_along_by_palette_and_what_was_queued_comes_back() -> None:
    world = World()
    async with at_first(world) as desk:
        await desk.type("of one")
        desk.app.opening.begin(Choice("01S2"))
        await desk.wait_until(lambda: desk.texts == ["about two", "Yes."])
        await desk.ready()
        assert desk.composer.text == ""
        assert (world.first.draft, world.second.draft) == ("of one", "")
        world.second.draft = "queued\n\ntyped"
        desk.composer.put("typed")
        desk.app.opening._put_draft(world.second.draft)
        assert desk.composer.text == "queued\n\ntyped"


async def test_a_history_that_cannot_be_read_ends_the_app_with_its_error() -> None:
    shelf = FakeShelf([])
    error = HistoryError("The history is damaged.", "Move it away.")
    shelf.unreadable = error
    async with app_on(FakeConversation(), shelf=shelf, wait=False) as desk:
        await desk.wait_until(lambda: desk.app.failure is error)


async def test_a_new_session_and_a_copy_by_command() -> None:
    world = World()
    async with at_first(world) as desk:
        await desk.say("/fork other way")
        await desk.wait_until(lambda: "This is a copy" in desk.status)
        assert desk.chosen[-1] == Choice(fork=Fork("01S1", None, "other way"))
        await desk.say("/new")
        await desk.wait_until(lambda: desk.chosen[-1] == Choice())
        await desk.ready()
        assert world.first.closed == 1
        await desk.say("/fork")
        assert "nothing to copy" in desk.status


async def test_sessions_by_command_searches_at_once() -> None:
    world = World()
    async with at_first(world) as desk:
        await desk.say("/sessions two")
        picker = await listing(desk)
        await desk.wait_until(lambda: picker.query_one(OptionList).option_count == 2)
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: desk.composer.text == "")


@pytest.mark.parametrize("command", ["/new", "/fork", "/delete", "/sessions"])
async def test_a_command_that_leaves_is_no_draft(command: str) -> None:
    world = World()
    async with at_first(world) as desk:
        await desk.type(command)
        await desk.wait_until(lambda: world.first.draft == command)  # typed slowly
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: world.first.closed or isinstance(desk.app.screen, SessionPicker))
        if command == "/sessions":
            await listing(desk)
            await desk.pilot.press(*"two", "enter")
        await desk.wait_until(lambda: world.first.closed)
        assert world.first.draft == ""


async def test_no_session_is_left_while_a_turn_runs() -> None:
    world = World(first=FakeConversation([Turn(("x",), endless=True)], session=overview(1, "").session))
    world.first.add("assistant", "Yes.", world.first.add("user", "about one", None).id)
    async with at_first(world) as desk:
        await desk.say("go")
        await desk.pilot.press("ctrl+l")
        for command in ("/new", "/delete", "/fork", "/sessions"):
            await desk.say(command)
            assert "stop the answer first" in desk.status
        assert not isinstance(desk.app.screen, SessionPicker)
        assert world.first.closed == 0


async def test_deleting_the_session_that_is_open() -> None:
    world = World()
    async with at_first(world) as desk:
        await desk.say("/delete")
        picker = await listing(desk)
        await desk.wait_until(
            lambda: "Deleted one. Ctrl-Z restores it." in str(picker.query_one("#told").render())
        )
        assert world.first.closed == 1
        assert list(world.shelf.deleted) == ["01S1"]
        assert desk.texts == []
        await desk.pilot.press("ctrl+z")
        await desk.wait_until(lambda: world.shelf.deleted == {})
        await desk.wait_until(lambda: "back" in str(picker.query_one("#told").render()))
        await desk.wait_until(lambda: picker.query_one(OptionList).option_count == 3)
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: desk.texts == ["about one", "Yes."])


async def test_restoring_by_command_opens_what_comes_back() -> None:
    world = World()
    world.shelf.delete("01S2")
    async with at_first(world) as desk:
        await desk.say("/restore unknown")
        await desk.wait_until(lambda: "No session is deleted." in desk.status)
        await desk.say("/restore two")
        await desk.wait_until(lambda: desk.texts == ["about two", "Yes."])
        await desk.ready()
        assert world.shelf.deleted == {}
        assert world.first.draft == ""


async def test_deleting_the_open_one_in_the_list_is_the_same() -> None:
    world = World()
    async with at_first(world) as desk:
        await go_to(desk, "up", "ctrl+x")
        await desk.wait_until(lambda: list(world.shelf.deleted) == ["01S1"])
        picker = await listing(desk)
        await desk.wait_until(lambda: "Deleted one" in str(picker.query_one("#told").render()))
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: desk.app.return_code == 0)


async def test_a_session_that_cannot_be_opened_leads_back() -> None:
    world = World(failures={"01S2": ModelFileError("No such model.", "Give --model.")})
    async with at_first(world) as desk:
        await go_to(desk, "enter")
        await desk.wait_until(lambda: desk.chosen[1:] == [Choice("01S2"), Choice("01S1")])
        await desk.ready()
        assert desk.texts == ["about one", "Yes."]
        assert "No such model." in desk.status
        assert desk.app.failure is None


async def test_going_to_a_session_that_another_program_writes_and_back() -> None:
    world = World(failures={"01S2": SessionLocked("Another one writes it.", "Wait.", "01S2", 7)})
    async with at_first(world) as desk:
        await go_to(desk, "enter")
        await desk.wait_until(lambda: "read-only" in desk.status)
        assert desk.texts == ["about two", "Yes."]
        await go_to(desk, *"one")
        await desk.wait_until(lambda: desk.app.screen.query_one(OptionList).option_count == 2)
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: desk.texts == ["about one", "Yes."])
        await desk.ready()
        assert not desk.composer.disabled
