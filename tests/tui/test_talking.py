"""Send, stream, stop, queue, edit, regenerate, branch: what a person does all day."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from textual import events

from skippy_chat.chat.messages import Message
from skippy_chat.errors import ContextFull, EngineDied
from skippy_chat.events import (
    CheckpointFailed,
    Event,
    Notice,
    PrefillProgress,
    PrefillStarted,
    StepFinished,
    Usage,
    WorkerDied,
)
from skippy_chat.tui.composer import Composer
from skippy_chat.tui.room_screen import RoomScreen
from skippy_chat.tui.statusbar import StatusBar
from skippy_chat.wording import NOT_ANSWERED
from tests.fakes.conversation import COLD, Call, FakeConversation, Step, Turn
from tests.tui.screen import app_on

pytestmark = pytest.mark.timeout(180)

ENDLESS = Turn(("Once upon", " a time"), endless=True)
ONE, TWO, THREE = Turn(("First.",)), Turn(("Second.",)), Turn(("Third.",))


async def test_a_turn_shows_question_answer_and_what_was_reused() -> None:
    async with app_on(FakeConversation([ONE])) as desk:
        assert "fake-135m · hybrid · context - / 8,192" in desk.status
        await desk.say("hello")
        await desk.wait_until(lambda: "reused" in desk.status)
        assert desk.texts == ["hello", "First."]
        assert "context 1,117 / 8,192 (14 %)" in desk.status
        assert "reused 1,101 of 1,105 tokens · 0.4 s (from disk)" in desk.status


async def test_why_nothing_was_reused_and_then_what_reuse_saved() -> None:
    async with app_on(FakeConversation([COLD, ONE])) as desk:
        await desk.say("hello")
        await desk.wait_until(lambda: "read 1,103 tokens: nothing stored · 8.0 s" in desk.status)
        await desk.ready()
        await desk.say("again")
        await desk.wait_until(
            lambda: "reused 1,101 of 1,105 tokens · 0.4 s instead of about 7.9 s" in desk.status
        )


async def test_keys_typed_in_one_burst_arrive_in_their_order() -> None:
    conversation = FakeConversation([ONE])
    async with app_on(conversation) as desk:
        for key in ("h", "i", "ctrl+j", "y", "o", "u", "enter"):
            character = key if len(key) == 1 else {"enter": "\r", "ctrl+j": "\n"}[key]
            desk.app.post_message(events.Key(key, character))
        await desk.wait_until(lambda: conversation.ended)
        assert conversation.asked == ["hi\nyou"]


async def test_editing_keys_in_a_burst_act_where_they_were_typed() -> None:
    conversation = FakeConversation([ONE])
    async with app_on(conversation) as desk:
        for key in ("a", "b", "c", "backspace", "X", "left", "Y", "home", "Z", "end", "!", "enter"):
            desk.app.post_message(events.Key(key, {"enter": "\r"}.get(key, key if len(key) == 1 else None)))
        await desk.wait_until(lambda: conversation.ended)
        assert conversation.asked == ["ZabYX!"]


@pytest.mark.parametrize("key", ["ctrl+j", "shift+enter", "alt+enter"])
async def test_newline_keys(key: str) -> None:
    conversation = FakeConversation([ONE])
    async with app_on(conversation) as desk:
        await desk.pilot.press("a", key, "b", "enter")
        await desk.ready()
        assert conversation.asked == ["a\nb"]


async def test_a_paste_is_one_message_and_harmless() -> None:
    conversation = FakeConversation([ONE])
    async with app_on(conversation) as desk:
        desk.app.post_message(events.Paste("one\r\ntwo\x1b[2J\x9b31m\rthree"))
        await desk.wait_until(lambda: desk.composer.text == "one\ntwo\nthree")
        assert conversation.asked == []
        await desk.pilot.press("enter")
        await desk.ready()
        assert conversation.asked == ["one\ntwo\nthree"]


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_a_stop_keeps_the_partial_answer_marked(key: str) -> None:
    conversation = FakeConversation([ENDLESS, TWO])
    async with app_on(conversation) as desk:
        await desk.say("tell")
        await desk.wait_until(lambda: desk.texts[-1] == "Once upon a time")
        assert "writing" in desk.status
        await desk.pilot.press(key)
        await desk.ready()
        assert desk.texts[-1] == "Once upon a time\n\nStopped; what was written is kept, marked interrupted."
        await desk.say("go on")
        await desk.wait_until(lambda: desk.texts[-1] == "Second.")


async def test_messages_queue_while_it_writes_and_can_be_taken_back() -> None:
    conversation = FakeConversation([ENDLESS, TWO, THREE])
    async with app_on(conversation) as desk:
        await desk.say("tell")
        await desk.wait_until(lambda: desk.texts[-1] == "Once upon a time")
        await desk.say("two")
        await desk.say("three")
        assert desk.queue.startswith("queued: two\nqueued: three\n")
        await desk.pilot.press("up")
        assert (desk.composer.text, desk.queue.count("queued")) == ("three", 1)
        await desk.pilot.press("!", "enter")
        assert "queued: three!" in desk.queue
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: "held: two" in desk.queue)
        assert conversation.asked == ["tell"]
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: conversation.ended == 3)
        assert conversation.asked == ["tell", "two", "three!"]


async def test_edit_keeps_the_old_branch_and_left_goes_back_to_it() -> None:
    conversation = FakeConversation([ONE, TWO])
    async with app_on(conversation) as desk:
        await desk.say("question")
        await desk.ready()
        await desk.pilot.press("up")
        assert desk.composer.text == "question"
        assert desk.app.query_one("#banner").display
        await desk.pilot.press("?", "enter")
        await desk.ready()
        assert desk.texts == ["question?\n◂ 2/2 ▸", "Second."]
        assert conversation.asked == ["question", "edit M1", "question?"]
        await desk.pilot.press("shift+tab", "up", "left")
        await desk.wait_until(lambda: desk.texts[0].startswith("question\n"))
        assert desk.texts == ["question\n◂ 1/2 ▸", "First."]
        await desk.pilot.press("right")
        await desk.wait_until(lambda: desk.texts[0] == "question?\n◂ 2/2 ▸")


async def test_the_status_lines_are_those_of_the_branch_that_is_shown() -> None:
    conversation = FakeConversation([ONE, COLD])
    old = conversation.add("assistant", "Old.", conversation.add("user", "question", None).id)
    async with app_on(conversation) as desk:
        await desk.pilot.press("ctrl+r")
        await desk.wait_until(lambda: "reused 1,101" in desk.status)
        await desk.ready()
        await desk.pilot.press("ctrl+r")
        await desk.wait_until(lambda: "read 1,103" in desk.status)
        await desk.ready()
        await desk.pilot.press("shift+tab", "left")
        await desk.wait_until(lambda: "reused 1,101" in desk.status)
        assert "context 1,117 /" in desk.status
        assert "47.1 tok/s" in desk.status
        await desk.ready()
        await desk.pilot.press("left")
        await desk.wait_until(lambda: desk.transcript.views[-1].message_id == old.id)
        assert "context - /" in desk.status  # this program has not asked for that one
        assert "reused" not in desk.status
        assert "tok/s" not in desk.status
        for wanted in ("reused 1,101", "read 1,103"):
            await desk.ready()
            await desk.pilot.press("right")
            await desk.wait_until(lambda wanted=wanted: wanted in desk.status)  # type: ignore[misc]
        assert "context 1,105 /" in desk.status


async def test_an_edit_that_changes_nothing_asks_nothing_and_gives_the_draft_back() -> None:
    conversation = FakeConversation([ONE])
    async with app_on(conversation) as desk:
        await desk.say("question")
        await desk.ready()
        await desk.type("half")
        await desk.pilot.press("shift+tab", "up", "e")
        assert desk.composer.text == "question"
        await desk.pilot.press("enter")
        assert conversation.asked == ["question"]
        assert desk.composer.text == "half"
        assert "stays as it was" in desk.status
        assert desk.texts == ["question", "First."]


async def test_regenerate_gives_a_sibling() -> None:
    conversation = FakeConversation([ONE, TWO])
    async with app_on(conversation) as desk:
        await desk.pilot.press("ctrl+r")
        assert conversation.asked == []
        await desk.say("question")
        await desk.ready()
        await desk.pilot.press("ctrl+r")
        await desk.wait_until(lambda: conversation.ended == 2)
        await desk.ready()
        assert desk.texts == ["question", "Second.\n\n◂ 2/2 ▸"]
        await desk.pilot.press("shift+tab", "left")
        await desk.wait_until(lambda: desk.texts[-1] == "First.\n\n◂ 1/2 ▸")


async def test_ctrl_c_clears_and_up_brings_it_back_and_twice_leaves() -> None:
    async with app_on(FakeConversation()) as desk:
        await desk.type("half a thought")
        await desk.pilot.press("ctrl+c")
        assert desk.composer.text == ""
        await desk.pilot.press("up")
        assert desk.composer.text == "half a thought"
        await desk.pilot.press("ctrl+c", "ctrl+c")
        assert "again to leave" in desk.status
        await desk.pilot.press("x")
        assert "again to leave" not in desk.status
        desk.clock[0] += 1.5
        await desk.pilot.press("backspace", "ctrl+c")
        assert "again to leave" in desk.status
        desk.clock[0] += 1.5
        await desk.pilot.press("ctrl+c")
        assert desk.app.is_running
        desk.clock[0] += 0.5
        await desk.pilot.press("ctrl+c")
        await desk.wait_until(lambda: desk.app.return_code == 0)


async def test_ctrl_d_leaves_only_when_nothing_is_typed() -> None:
    async with app_on(FakeConversation()) as desk:
        await desk.type("x")
        await desk.pilot.press("ctrl+d")
        assert desk.app.return_code is None
        await desk.pilot.press("ctrl+c", "ctrl+d")
        await desk.wait_until(lambda: desk.app.return_code == 0)


async def test_a_failed_turn_says_why_and_the_chat_goes_on() -> None:
    died = WorkerDied(reason="signal 9", log_tail=("ggml: \x1b[31mabort", "last line"))
    failing = Turn(("Half",), extra=(died,), fails=EngineDied("The worker ended.", "Say it again."))
    conversation = FakeConversation([failing, TWO])
    async with app_on(conversation) as desk:
        await desk.say("hello")
        await desk.wait_until(lambda: " ready" in desk.status)
        text = "\n".join(desk.texts)
        assert "The model's process ended: signal 9\nggml: abort\nlast line\nSay it again." in text
        await desk.say("hello again")
        await desk.wait_until(lambda: desk.texts[-1] == "Second.")


async def test_a_message_that_does_not_fit_is_told_so_and_the_next_takes_its_place() -> None:
    full = Turn((), fails=ContextFull("The prompt is 9,000 tokens; the context holds 8,192.", "Use --ctx."))
    conversation = FakeConversation([ONE, full, TWO])
    async with app_on(conversation) as desk:
        await desk.say("short")
        await desk.ready()
        await desk.say("long")
        await desk.wait_until(lambda: "9,000" in desk.texts[-1] and " ready" in desk.status)
        assert desk.texts == [
            "short",
            "First.",
            f"long\n{NOT_ANSWERED}\nThe prompt is 9,000 tokens; the context holds 8,192. Use --ctx.",
        ]
        await desk.over(RoomScreen)
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: desk.composer.text == "long")
        await desk.say("shorter")
        await desk.ready()
        assert desk.texts == ["short", "First.", "shorter\n◂ 2/2 ▸", "Second."]
        assert [each.content for each in conversation.messages()] == ["short", "First.", "shorter", "Second."]
        await desk.pilot.press("shift+tab", "up", "left")
        await desk.wait_until(lambda: desk.texts[-1].startswith("long\nNot answered"))


async def test_notices_and_failed_checkpoints_stay_with_the_answer() -> None:
    extra = (
        Notice(level="warning", text="Caching is off.", hint="Why: x."),
        CheckpointFailed(reason="disk full"),
    )
    async with app_on(FakeConversation([Turn(("Done.",), extra=extra)])) as desk:
        await desk.say("hello")
        await desk.ready()
        assert desk.texts[-1] == "Done.\n\nCaching is off. Why: x.\nNothing was recorded: disk full"


async def test_a_long_prefill_shows_its_progress() -> None:
    late = PrefillProgress(done=256, total=1024, at_ms=2000)
    async with app_on(FakeConversation([Turn((), extra=(late,), endless=True)])) as desk:
        await desk.say("hello")
        await desk.wait_until(lambda: "256 of 1,024 tokens" in desk.status)
        await desk.pilot.press("escape")
        await desk.ready()


class Unbegun(FakeConversation):
    """Is stopped before the first token of an answer, of which nothing is stored then."""

    def _last_step(self, question: Message, turn: Turn, total: Usage) -> Iterator[Event]:
        yield PrefillStarted(prompt=8, cached=4)
        self._cancelled.wait()
        yield StepFinished(finish_reason="cancelled")
        yield self._finished(total, "cancelled")


@pytest.mark.parametrize("steps", [(), (Step((Call("c1"),)),)])
async def test_a_stop_before_the_first_token_is_told(steps: tuple[Step, ...]) -> None:
    async with app_on(Unbegun([Turn(steps=steps)])) as desk:
        await desk.say("hello")
        called = "read_file a.txt\ndone"
        # It reads before the step too, in which the call would not be made any more.
        await desk.wait_until(lambda: "reading" in desk.status and (not steps or called in desk.texts))
        await desk.pilot.press("escape")
        await desk.ready()
        assert desk.texts[-1].endswith("\nStopped; what was done is kept. /continue goes on.")
        assert desk.texts[-1].startswith(called if steps else "hello")


async def test_an_answer_that_broke_off_says_so() -> None:
    conversation = FakeConversation()
    answer = conversation.add("assistant", "Half", conversation.add("user", "tell", None).id)
    conversation._tree[answer.id] = replace(answer, state="interrupted")
    async with app_on(conversation) as desk:
        assert desk.texts[-1] == "Half\n\nThe answer broke off; what was written is kept."


async def test_a_hint_goes_with_the_next_letter_and_not_with_one_that_was_typed_before_it() -> None:
    async with app_on(FakeConversation()) as desk:
        before = Composer.Typed()
        desk.app.query_one(StatusBar).change(hint="Do this.")
        desk.composer.post_message(before)  # told late, as after a time in the person's own editor
        for _ in range(3):
            await desk.pilot.pause()
        assert "Do this." in desk.status
        await desk.type("x")
        assert "Do this." not in desk.status
