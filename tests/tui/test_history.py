"""What was said before: long sessions in a window, following and not, hostile texts, folding, selecting."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from textual.geometry import Offset
from textual.selection import Selection

from skippy_chat.events import Event, TextDelta
from skippy_chat.tui.answer import AnswerView
from skippy_chat.tui.message import MessageView
from skippy_chat.tui.transcript import _SCREENS_AHEAD, FIRST, LIMIT, Transcript, _Place
from skippy_chat.tui.turn import TurnView
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.screen import PATIENCE, Desk, app_on

pytestmark = pytest.mark.timeout(180)

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def long_talk(count: int, turns: list[Turn] | None = None) -> FakeConversation:
    conversation = FakeConversation(turns or [])
    parent = None
    for number in range(count):
        role = "assistant" if number % 2 else "user"
        parent = conversation.add(role, f"message {number}\n\nwith *two* paragraphs", parent).id  # type: ignore[arg-type]
    return conversation


def numbers(desk: Desk) -> list[int]:
    return [int(text.split()[1]) for text in desk.texts]


def screen_text(desk: Desk) -> str:
    """Return what is on the screen; nothing while one that has just opened was not laid out."""
    height = desk.app.size.height
    strips = desk.app.screen._compositor.render_strips()
    assert len(strips) in (0, height)
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def test_a_long_session_opens_at_its_end_in_a_window() -> None:
    async with app_on(long_talk(300)) as desk:
        assert numbers(desk) == list(range(300 - FIRST, 300))
        await desk.wait_until(lambda: desk.transcript.following and "message 299" in screen_text(desk))


async def test_paging_up_and_down_keeps_the_window_bounded_and_unbroken() -> None:
    async with app_on(long_talk(300)) as desk:
        seen = set(numbers(desk))
        for _ in range(400):
            if 0 in seen:
                break
            await desk.pilot.press("pageup")
            await desk.pilot.pause()
            shown = numbers(desk)
            assert shown == list(range(shown[0], shown[-1] + 1))
            assert len(shown) <= LIMIT
            seen |= set(shown)
        assert seen == set(range(300))
        for _ in range(400):
            if numbers(desk)[-1] == 299:
                break
            await desk.pilot.press("pagedown")
            await desk.pilot.pause()
            assert len(numbers(desk)) <= LIMIT
        assert numbers(desk)[-1] == 299


async def laid_out(desk: Desk) -> Transcript:
    """Wait until the transcript stands at its end, from where one can scroll."""
    transcript = desk.transcript
    await desk.wait_until(lambda: transcript.max_scroll_y > 0 and transcript.following)
    return transcript


def when_a_page_comes(
    transcript: Transcript, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]
) -> asyncio.Event:
    """Do something while the next page comes, and return what is set when it was done.

    That time ends with the next layout, sooner than a look now and then sees it.
    """
    done = asyncio.Event()
    hold = transcript._hold

    def held(place: _Place | None) -> None:
        hold(place)
        if not done.is_set():
            assert transcript._paging
            act()
            done.set()

    monkeypatch.setattr(transcript, "_hold", held)
    return done


async def test_paging_keeps_what_is_looked_at_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async with app_on(long_talk(300)) as desk:
        transcript = await laid_out(desk)
        first = transcript.views[0]
        edge = _SCREENS_AHEAD * transcript.size.height
        transcript.scroll_to(y=edge + 2, animate=False, immediate=True)
        await desk.pilot.pause()
        assert transcript.views[0] is first
        there = first.virtual_region.y - round(transcript.scroll_y)
        done = when_a_page_comes(transcript, monkeypatch, lambda: None)
        transcript.scroll_to(y=edge - 2, animate=False, immediate=True)
        await asyncio.wait_for(done.wait(), PATIENCE)
        await desk.wait_until(lambda: not transcript._paging)
        assert transcript.views[0] is not first
        assert first.virtual_region.y - round(transcript.scroll_y) == there + 4


@pytest.mark.parametrize("lines", [-4, 3])
async def test_scrolling_on_while_a_page_comes_is_not_undone(
    monkeypatch: pytest.MonkeyPatch, lines: int
) -> None:
    async with app_on(long_talk(300)) as desk:
        transcript = await laid_out(desk)
        first = transcript.views[0]
        done = when_a_page_comes(
            transcript,
            monkeypatch,
            lambda: transcript.scroll_to(y=transcript.scroll_y + lines, animate=False, immediate=True),
        )
        transcript.scroll_to(y=10, animate=False, immediate=True)
        there = first.virtual_region.y - round(transcript.scroll_y)
        await asyncio.wait_for(done.wait(), PATIENCE)
        await desk.wait_until(lambda: not transcript._paging)
        assert transcript.views[0] is not first
        assert first.virtual_region.y - round(transcript.scroll_y) == there - lines


async def test_scrolling_up_pauses_following_and_end_resumes() -> None:
    async with app_on(long_talk(40, [Turn(tuple(f"line {n}\n\n" for n in range(60)), endless=True)])) as desk:
        await desk.say("go")
        await desk.wait_until(lambda: "line 59" in desk.texts[-1])
        await desk.wait_until(lambda: desk.transcript.following)
        await desk.pilot.press("pageup")
        await desk.wait_until(lambda: not desk.transcript.following)
        where = desk.transcript.scroll_y
        answer = desk.transcript.views[-1]
        assert isinstance(answer, AnswerView)
        answer.grow_text("more\n\n" * 20)
        await desk.pilot.pause()
        assert desk.transcript.scroll_y == where
        await desk.pilot.press("end")
        await desk.wait_until(lambda: desk.transcript.following)
        answer.grow_text("even more\n\n" * 20)
        await desk.wait_until(lambda: "even more" in screen_text(desk))
        await desk.pilot.press("escape")
        await desk.ready()


async def test_end_comes_back_from_far_up() -> None:
    async with app_on(long_talk(300)) as desk:
        for _ in range(400):
            if numbers(desk)[-1] < 299:
                break
            await desk.pilot.press("pageup")
            await desk.pilot.pause()
        await desk.pilot.press("end")
        await desk.wait_until(lambda: "message 299" in screen_text(desk))
        assert numbers(desk)[-1] == 299


async def test_sending_from_far_up_goes_to_the_end() -> None:
    async with app_on(long_talk(300, [Turn(("Fresh answer.",))])) as desk:
        for _ in range(400):
            if numbers(desk)[-1] < 299:
                break
            await desk.pilot.press("pageup")
            await desk.pilot.pause()
        await desk.say("new question")
        await desk.wait_until(lambda: "Fresh answer." in desk.texts)
        await desk.ready()
        assert desk.texts[-2:] == ["new question", "Fresh answer."]
        assert desk.texts[-3].startswith("message 299")
        await desk.wait_until(lambda: "Fresh answer." in screen_text(desk))


async def page_to_the_top(desk: Desk) -> None:
    for _ in range(400):
        if numbers(desk)[0] == 0:
            return
        await desk.pilot.press("pageup")
        await desk.pilot.pause()
    raise AssertionError(numbers(desk))


async def test_an_answer_streams_in_sight_when_asked_from_far_up() -> None:
    async with app_on(long_talk(300, [Turn(("Fresh answer.",), endless=True)])) as desk:
        await page_to_the_top(desk)
        assert numbers(desk)[-1] < 299
        await desk.say("new question")
        await desk.wait_until(lambda: "Fresh answer." in screen_text(desk))
        assert desk.texts[-2:] == ["new question", "Fresh answer."]
        await desk.pilot.press("pageup")
        await page_to_the_top_while_live(desk)
        await desk.pilot.press("escape")
        await desk.ready()
        await desk.pilot.press("end")
        await desk.wait_until(lambda: "Fresh answer." in screen_text(desk))
        assert len(desk.texts) <= LIMIT


async def page_to_the_top_while_live(desk: Desk) -> None:
    for _ in range(60):
        await desk.pilot.press("pageup")
        await desk.pilot.pause()
        assert desk.texts[-1] == "Fresh answer."
        assert len(desk.texts) <= 3 * LIMIT


@pytest.mark.parametrize("far", [4, 250])
async def test_editing_an_old_message_shows_the_branch_up_to_it(far: int) -> None:
    conversation = long_talk(300, [Turn(("Another answer.",), endless=True)])
    async with app_on(conversation) as desk:
        message = conversation.messages()[far]
        if desk.transcript.find(message.id) is None:
            await page_to_the_top(desk)
        view = desk.transcript.find(message.id)
        assert view is not None
        view.action_edit()
        await desk.wait_until(lambda: desk.composer.text.startswith(f"message {far}"))
        await desk.say("changed")
        await desk.wait_until(lambda: "Another answer." in screen_text(desk))
        assert [text.split("\n")[0] for text in desk.texts[-3:]] == [
            f"message {far - 1}",
            "changed",
            "Another answer.",
        ]
        await desk.pilot.press("escape")
        await desk.ready()
        assert desk.texts[-2] == "changed\n◂ 2/2 ▸"
        assert desk.texts[-1].startswith("Another answer.\n\nStopped;")


@pytest.mark.parametrize("begun", [False, True])
async def test_a_branch_that_became_short_while_a_page_came_is_followed(
    monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    conversation = long_talk(300, [])
    async with app_on(conversation) as desk:
        transcript = await laid_out(desk)

        def cut_short() -> None:
            transcript.cut(conversation.messages()[250].id)
            transcript.follow()

        if begun:
            done = when_a_page_comes(transcript, monkeypatch, cut_short)
            transcript.scroll_to(y=2, animate=False, immediate=True)
            await asyncio.wait_for(done.wait(), PATIENCE)
        else:
            transcript.scroll_to(y=2, animate=False, immediate=True)
            cut_short()
        for _ in range(5):
            await desk.pilot.pause()
        desk.transcript.answer().grow_text("What comes later.")
        await desk.wait_until(lambda: "What comes later." in screen_text(desk))


async def test_many_turns_stay_within_the_window() -> None:
    conversation = long_talk(LIMIT, [Turn(("Yes.",)) for _ in range(60)])
    async with app_on(conversation) as desk:
        for number in range(60):
            desk.app.query_one("Pending").put(f"question {number}")  # type: ignore[attr-defined]
        await desk.pilot.press("enter")
        for count in range(5, 61, 5):  # in steps, since all of them together may take longer than one wait
            await desk.wait_until(lambda count=count: conversation.ended >= count)  # type: ignore[misc]
        await desk.ready()
        assert conversation.ended == 60
        assert len(desk.texts) <= LIMIT
        assert desk.texts[-2:] == ["question 59", "Yes."]


HOSTILE = "ok\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b31mred\x85\x1b]0;t\x07 [bold]x[/] \u2028y \x0bend\x1b"


async def test_hostile_text_from_every_place_a_text_comes_from() -> None:
    conversation = FakeConversation([Turn((HOSTILE,), reasoning=(HOSTILE,), extra=())])
    root = conversation.add("system", HOSTILE, None)
    user = conversation.add("user", HOSTILE, root.id)
    conversation.add(
        "assistant", f"# {HOSTILE}\n\n```{HOSTILE}\n{HOSTILE}\n```\n\n| {HOSTILE} |\n|-|\n", user.id
    )
    async with app_on(conversation, size=(200, 50)) as desk:
        await desk.say(HOSTILE)
        await desk.ready()
        await desk.pilot.press("shift+tab")
        shown = screen_text(desk) + "\n".join(desk.texts) + desk.composer.text
        assert CONTROL.search(shown.replace("\n", "")) is None
        assert "ZXZpbA" not in shown
        assert "okred [bold]x[/]" in shown


async def test_reasoning_folds_once_it_is_stored() -> None:
    conversation = FakeConversation()
    user = conversation.add("user", "2+2", None)
    answer = conversation.add("assistant", "So: 4.", user.id)
    conversation._tree[answer.id] = replace(answer, reasoning="Two\nand two.")
    async with app_on(conversation) as desk:
        assert desk.texts[-1] == "2 lines · r shows them\n\nSo: 4."
        await desk.pilot.press("shift+tab", "r")
        assert desk.texts[-1] == "\nTwo\nand two.\n\nSo: 4."
        await desk.pilot.press("r")
        assert desk.texts[-1] == "2 lines · r shows them\n\nSo: 4."


async def test_a_selection_copies_the_source_and_not_the_wrapping() -> None:
    conversation = FakeConversation()
    conversation.add("user", "one two three four five six", None)
    async with app_on(conversation, size=(20, 20)) as desk:
        view = desk.app.query_one(MessageView)
        await desk.wait_until(lambda: view.size.height > 1)
        desk.app.screen.selections = {view: Selection(Offset(4, 0), Offset(18, 0))}
        await desk.pilot.pause()
        assert desk.app.screen.get_selected_text() == "two three four"
        await desk.pilot.press("ctrl+c")
        await desk.wait_until(lambda: "Sent to the ter" in desk.status)
        assert desk.app.clipboard == "two three four"


async def test_deltas_are_painted_in_few_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = tuple(f"word{n} " for n in range(2000))
    goes = 0
    original = TurnView.take

    def counted(self: TurnView, events: list[Event]) -> None:
        nonlocal goes
        goes += any(isinstance(each, TextDelta) for each in events)
        original(self, events)

    monkeypatch.setattr(TurnView, "take", counted)
    async with app_on(FakeConversation([Turn(pieces)])) as desk:
        await desk.say("go")
        await desk.wait_until(lambda: "word1999" in desk.texts[-1])
        assert 1 <= goes <= 40
