"""Answering whether a call may run: what must be seen first, what keys do, and what must never happen by accident."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from textual import events

from skippy_chat.errors import UsageError
from skippy_chat.tui.question import Question as Shown
from skippy_chat.tui.question import QuestionScroll
from tests.fakes.conversation import Call, Decided, FakeConversation, Question, Step, Turn
from tests.tui.asking import (
    DIFF,
    LONG,
    asked_about,
    cards,
    has_asked,
    has_focus,
    panel_of,
    press,
    told,
    turn_of,
)
from tests.tui.screen import Desk, app_on
from tests.tui.test_history import CONTROL, screen_text

pytestmark = pytest.mark.timeout(180)

QUIET = "skippy_chat.tui.approval.QUIET_SECONDS"
NEVER = 600.0
HOSTILE = "x\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b31my\x85\u202e [bold]z[/bold]"


def shown(desk: Desk) -> str:
    title = str(panel_of(desk).query_one("#approval-title").render())
    return f"{title}\n{panel_of(desk).query_one(Shown).prose.plain}"


async def scroll(desk: Desk, key: str) -> None:
    """Press a key that scrolls the question, and wait until it did, which is after a paint."""
    body = panel_of(desk).query_one(QuestionScroll)
    before = body.scroll_y
    await desk.pilot.press(key)
    await desk.wait_until(lambda: body.scroll_y != before)


@pytest.mark.parametrize(
    ("key", "scope"), [("y", "once"), ("s", "session"), ("a", "always")], ids=["once", "session", "always"]
)
async def test_one_key_allows_as_long_as_it_says(key: str, scope: str) -> None:
    conversation = FakeConversation([turn_of(asked_about())])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await has_focus(desk)
        assert shown(desk) == (
            "? May run_command run?  Running a command needs approval.\nrun_command\n  command: make test\n\n"
            "s or a would also let pass, from now on:\nrun_command make test"
        )
        assert "asking" in desk.status
        await desk.pilot.press(key)
        await desk.ready()
        assert conversation.decisions == [Decided("c1", allowed=True, scope=scope)]
        assert desk.texts[-1] == "Done."
        assert not panel_of(desk).display
        assert desk.app.focused is desk.composer


async def test_only_what_was_offered_can_be_answered() -> None:
    conversation = FakeConversation([turn_of(asked_about(Question(scopes=("once",), rules=())))])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await has_focus(desk)
        assert "session" not in told(desk)
        assert "let pass" not in shown(desk)
        await press(desk, "s", "a", "enter", "x")
        assert conversation.decisions == []
        await press(desk, "y")
        await desk.ready()
        assert conversation.decisions == [Decided("c1", allowed=True)]


async def test_no_and_why_not() -> None:
    conversation = FakeConversation([turn_of(asked_about()), turn_of(asked_about())])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await has_focus(desk)
        await desk.pilot.press("n")
        await desk.ready()
        await desk.say("again")
        await has_focus(desk)
        await desk.pilot.press("d")
        await desk.type("not now")
        await desk.pilot.press("escape")
        assert panel_of(desk).call == "c1"
        await desk.pilot.press("d")
        desk.app.post_message(events.Paste("\x1b[2J, please\nuse ls"))
        await desk.pilot.pause()
        await desk.pilot.press("enter")
        await desk.ready()
        assert conversation.decisions == [
            Decided("c1", allowed=False),
            Decided("c1", allowed=False, reason="not now, please use ls"),
        ]
        assert desk.texts[-2].startswith(
            "run_command make test · denied\nThe person denied this call: not now,"
        )


async def test_what_was_typed_ahead_answers_nothing_and_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = FakeConversation([turn_of(asked_about()), Turn(("Second.",))])
    async with app_on(conversation) as desk:
        with monkeypatch.context() as patch:
            patch.setattr(QUIET, NEVER)  # these keys are no silence, however late they come
            await desk.say("go")
            await has_asked(desk)
            for key in "yasnd":
                desk.app.post_message(events.Key(key, key))
            await desk.wait_until(lambda: desk.composer.text == "yasnd")
        await desk.pilot.press("enter")
        assert "queued: yasnd" in desk.queue
        assert conversation.decisions == []
        await has_focus(desk)
        await desk.pilot.press("y")
        await desk.wait_until(lambda: conversation.ended == 2)
        assert conversation.asked == ["go", "yasnd"]


@pytest.mark.parametrize("burst", ["yes", "so y", "ny", "yy", "a b"])
async def test_keys_in_a_burst_allow_nothing(burst: str) -> None:
    conversation = FakeConversation([turn_of(asked_about())])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await has_focus(desk)
        for key in burst:
            desk.app.post_message(events.Key("space" if key == " " else key, key))
        await desk.wait_until(lambda: panel_of(desk).settled)
        assert not any(each.allowed for each in conversation.decisions)
        if burst[0] != "n":
            assert "Several keys at once" in told(desk)
            await press(desk, "y")
            assert conversation.decisions == [Decided("c1", allowed=True)]
        await desk.ready()


async def test_a_paste_answers_nothing() -> None:
    conversation = FakeConversation([turn_of(asked_about())])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await has_focus(desk)
        panel = panel_of(desk)
        real = panel._press
        pressed: list[None] = []
        panel._press = lambda: pressed.append(real())  # type: ignore[method-assign]
        desk.app.post_message(events.Key("y", "y"))
        desk.app.post_message(events.Paste("y"))
        await desk.wait_until(lambda: len(pressed) == 2 and panel.settled)
        assert conversation.decisions == []
        await desk.pilot.press("escape")
        await desk.ready()


async def test_a_question_does_not_take_the_focus_from_a_text_in_the_box(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conversation = FakeConversation([turn_of(asked_about())])
    async with app_on(conversation) as desk:
        with monkeypatch.context() as patch:
            patch.setattr(QUIET, NEVER)  # the question may come before the first key
            await desk.say("go")
            await desk.type("half ")
            await has_asked(desk)
        await desk.type("a")
        await desk.wait_until(lambda: panel_of(desk)._quiet is None)
        await desk.type(" sentence")
        assert desk.composer.text == "half a sentence"
        assert "Shift-Tab goes to the question" in told(desk)
        await press(desk, "shift+tab", "y")
        await desk.ready()
        assert conversation.decisions == [Decided("c1", allowed=True)]
        assert desk.composer.text == "half a sentence"


async def test_a_long_question_must_be_read_to_its_end() -> None:
    conversation = FakeConversation([turn_of(asked_about(LONG))])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await has_focus(desk)
        assert "more below" in told(desk)
        await press(desk, "y", "s", "a")
        assert conversation.decisions == []
        assert "Read to the end first" in told(desk)
        for _ in range(40):
            if "once" in told(desk):
                break
            assert "the very last line" not in screen_text(desk)
            await scroll(desk, "space")
        await desk.wait_until(lambda: "the very last line" in screen_text(desk))
        await press(desk, "home", "y")
        await desk.ready()
        assert conversation.decisions == [Decided("c1", allowed=True)]


async def test_what_was_seen_of_one_question_says_nothing_of_the_next() -> None:
    conversation = FakeConversation([turn_of(asked_about(LONG), asked_about(LONG, name="c2"))])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await has_focus(desk)
        await scroll(desk, "end")
        await desk.wait_until(lambda: "once" in told(desk))
        await press(desk, "y")
        await has_focus(desk, "c2")
        assert "more below" in told(desk)
        assert "echo 0" in screen_text(desk)
        await press(desk, "y")
        assert conversation.decisions == [Decided("c1", allowed=True)]
        await scroll(desk, "end")
        await desk.wait_until(lambda: "once" in told(desk))
        await press(desk, "y")
        await desk.ready()
        assert conversation.decisions == [Decided("c1", allowed=True), Decided("c2", allowed=True)]


async def test_a_long_question_can_be_denied_unread() -> None:
    conversation = FakeConversation([turn_of(asked_about(LONG))])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await has_focus(desk)
        await desk.pilot.press("n")
        await desk.ready()
        assert conversation.decisions == [Decided("c1", allowed=False)]


async def test_a_larger_window_shows_the_end() -> None:
    async with app_on(FakeConversation([turn_of(asked_about(LONG))])) as desk:
        await desk.say("go")
        await has_focus(desk)
        assert "once" not in told(desk)
        await desk.pilot.resize_terminal(100, 150)
        await desk.wait_until(lambda: "once" in told(desk))
        await desk.pilot.press("escape")
        await desk.ready()


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_a_stop_ends_the_turn_and_its_question(key: str) -> None:
    conversation = FakeConversation([turn_of(asked_about()), Turn(("Second.",))])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await has_asked(desk)
        desk.composer.focus()
        await desk.say("next")
        await has_focus(desk)
        await desk.pilot.press(key)
        await desk.wait_until(lambda: "held: next" in desk.queue)
        assert conversation.decisions == []
        assert not panel_of(desk).display
        assert "interrupted before it ran" in desk.texts[-1]
        assert "Stopped" in desk.texts[-1]
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: desk.texts[-1] == "Second.")


async def test_two_questions_in_a_row_are_two_answers() -> None:
    conversation = FakeConversation([turn_of(asked_about(), asked_about(name="c2"))])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await has_focus(desk)
        await press(desk, "y")
        await has_asked(desk, "c2")
        assert conversation.decisions == [Decided("c1", allowed=True)]
        assert cards(desk)[1].plain == "run_command make test · asks"
        await has_focus(desk, "c2")
        await press(desk, "n")
        await desk.ready()
        assert conversation.decisions[1:] == [Decided("c2", allowed=False)]


class Refusing(FakeConversation):
    """Takes only an answer for once, whatever it offered."""

    def decide(self, call: str, *, allowed: bool, scope: str = "once", reason: str = "") -> None:
        if scope != "once":
            raise UsageError("The rules file cannot be written.", "Answer once.")
        super().decide(call, allowed=allowed, scope=scope, reason=reason)


async def test_an_answer_that_does_not_count_leaves_the_question_open_and_says_why() -> None:
    conversation = Refusing([turn_of(asked_about())])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await has_focus(desk)
        await press(desk, "a")
        assert "The rules file cannot be written. Answer once." in told(desk)
        assert conversation.decisions == []
        await press(desk, "y")
        await desk.ready()
        assert conversation.decisions == [Decided("c1", allowed=True)]


async def test_nothing_hostile_in_a_question_reaches_the_screen_or_stays_unseen() -> None:
    asked = Question(text=HOSTILE, diff=f"+{HOSTILE}", why=HOSTILE, rules=(HOSTILE,))
    call = replace(asked_about(asked), name=HOSTILE, arguments=(HOSTILE,))
    async with app_on(FakeConversation([turn_of(call)]), size=(120, 40)) as desk:
        await desk.say("go")
        await has_focus(desk)
        assert shown(desk).count("⟪U+001B⟫]52;c;ZXZpbA==⟪U+0007⟫⟪U+001B⟫[2J⟪U+009B⟫31my⟪U+0085⟫") == 4
        assert shown(desk).count("⟪U+202E⟫ [bold]z[/bold]") == 4
        painted = screen_text(desk)
        assert painted.count("[bold]z[/bold]") >= 5
        assert not CONTROL.search(shown(desk) + painted + desk.status)
        await desk.pilot.press("escape")
        await desk.ready()


async def test_why_it_is_asked_is_never_cut() -> None:
    why = "It holds " + "many words and " * 12 + "an end."
    async with app_on(FakeConversation([turn_of(asked_about(Question(why=why)))])) as desk:
        await desk.say("go")
        await has_focus(desk)
        assert shown(desk).startswith(f"? May run_command run?\n{why}\nrun_command")
        assert "an end." in screen_text(desk)
        await desk.pilot.press("escape")
        await desk.ready()


async def test_what_was_made_safe_before_is_shown_as_it_is() -> None:
    asked = Question(text="run ⟪U+202E⟫ ⟪12 spaces⟫", diff="", why="Why ⟪U+0007⟫.", rules=())
    async with app_on(FakeConversation([turn_of(asked_about(asked))])) as desk:
        await desk.say("go")
        await has_focus(desk)
        assert shown(desk) == "? May run_command run?  Why ⟪U+0007⟫.\nrun ⟪U+202E⟫ ⟪12 spaces⟫"
        await desk.pilot.press("escape")
        await desk.ready()


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (200, 50)])
async def test_question_transcript_and_box_share_the_screen(size: tuple[int, int]) -> None:
    asked = Question(diff=DIFF * 9)
    async with app_on(FakeConversation([turn_of(asked_about(asked))]), size=size) as desk:
        await desk.say("go")
        await has_focus(desk)
        for keys in ((), ("d",)):
            await desk.pilot.press(*keys)
            await desk.pilot.pause()
            assert desk.app.screen.max_scroll_y == 0
            assert desk.transcript.size.height >= 1
            assert panel_of(desk).query_one("#approval-body").size.height >= 2
            text = screen_text(desk)
            assert "run_command make test" in text  # the card above the question
            assert "May run_command run?" in text
            assert "asking" in text
            assert "»" in text.splitlines()[-3]
        await desk.pilot.press("escape", "escape")
        await desk.ready()


async def test_leaving_while_a_question_is_open_ends_the_turn() -> None:
    conversation = FakeConversation([turn_of(asked_about())])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await has_asked(desk)
        await desk.pilot.press("ctrl+q")
        assert desk.app.bridge.close(20)
    assert conversation.closed == 1
    assert conversation.messages()[-1].role == "tool"
    assert conversation.decisions == []


async def test_a_question_that_comes_after_a_stop_is_answered_by_it() -> None:
    """The stop came while the engine was between two things, and heard nothing."""
    ready = threading.Event()

    class Late(FakeConversation):
        def cancel(self) -> None:
            if ready.is_set():
                super().cancel()
            ready.set()

        def _call(self, call: Call):  # type: ignore[no-untyped-def]
            ready.wait()
            yield from super()._call(call)

    conversation = Late([Turn(("Done.",), steps=(Step((asked_about(),)),))])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await desk.wait_until(lambda: cards(desk))
        await desk.pilot.press("escape")
        await desk.ready()
        assert "interrupted before it ran" in desk.texts[-1]
