"""A context that is full: by how much, the choices, and what was refused, which waits for room."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skippy_chat.agent.room import Room
from skippy_chat.errors import ContextFull, EngineDied
from skippy_chat.repl.going import GoOn
from tests.fakes.conversation import MODEL, FakeConversation, Turn
from tests.repl.chatting import Person, chat
from tests.repl.conftest import Open

pytestmark = pytest.mark.timeout(180)

FULL = Turn((), fails=ContextFull("Full by 12 tokens.", "Use --ctx."))
SPACE = Room(8203, 8192, 300, 0, 5000, 2903, 2500)


def full(*turns: Turn) -> FakeConversation:
    conversation = FakeConversation([Turn(("First.",)), FULL, *turns])
    conversation.space = SPACE
    conversation.loaded = replace(MODEL, trained_context=32768)
    return conversation


def test_room_tells_what_fills_the_context() -> None:
    conversation = FakeConversation()
    conversation.space = Room(4096, 8192, 96, 0, 4000, 0)
    out = chat(conversation, "/room\n").out
    assert (
        "The prompt takes 4,096 of 8,192 tokens (50 %).\n"
        "The system prompt: 96 tokens.\nWhat was said: 4,000 tokens.\n"
    ) in out
    assert "/compact" not in out.split("(50 %)")[1]


def test_a_full_context_says_by_how_much_and_offers_choices() -> None:
    chatted = chat(full(), "one\ntwo\n/room\n")
    assert "Full by 12 tokens." in chatted.err
    assert "/compact goes on with a summary, in a new branch; the old one stays.\n" in chatted.out
    assert "/drop leaves out what tools gave in older turns, about 2,500 tokens.\n" in chatted.out
    assert (
        "/context 16384 opens this session with a larger context; up to 32,768 tokens can be.\n"
        in chatted.out
    )
    assert "It is 12 tokens too long to be answered.\n" in chatted.out
    assert chatted.ended == 4


def test_choices_are_told_without_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_: FakeConversation) -> Room:
        raise EngineDied("There is no worker to ask.", "The next turn starts one.")

    monkeypatch.setattr(FakeConversation, "room", gone)
    out = chat(full(), "one\ntwo\n").out
    assert "/drop leaves out what tools gave in older turns.\n" in out


def test_what_was_refused_is_offered_again_after_a_summary() -> None:
    conversation = full(Turn(("A summary.",)), Turn(("At last.",)))
    out = chat(conversation, "one\ntwo\n/history\n/compact\n\n/history\n", kind=Person).out
    before, _, after = out.partition("Assistant: A summary.\n")
    assert "Typed before, and not sent: two\n" not in before
    assert (
        "Typed before, and not sent: two\nAn empty line sends it; anything else takes its place.\n" in after
    )
    assert "Assistant: At last.\n" in after
    assert conversation.asked == ["one", "two", "compact", "two"]
    assert conversation.drafts == ["two", "", "two", ""] or conversation.drafts[-1] == ""


def test_a_summary_that_is_stopped_keeps_nothing_and_says_so(terminal: Open) -> None:
    screen = terminal("endless")
    screen.wait_for_prompt(1)
    screen.type("tell\r")
    screen.wait_for("Once upon a time")
    screen.type("\x03")
    screen.wait_for_prompt(2)
    screen.type("/compact\r")
    screen.wait_for("After that.")
    screen.wait_for_prompt(3)
    assert screen.text.count("marked interrupted") == 1
    screen = terminal("summing")
    screen.wait_for_prompt(1)
    screen.type("hello\r")
    screen.wait_for_prompt(2)
    screen.type("/compact\r")
    screen.wait_for("Once upon a time")
    screen.type("\x03")
    screen.wait_for("Stopped; this branch stays as it was.")
    assert "marked interrupted" not in screen.text


def test_what_was_refused_is_not_offered_once_something_else_is_sent() -> None:
    conversation = full(Turn(("Short.",)))
    out = chat(conversation, "one\ntwo\nshort\n/history\n", kind=Person).out
    assert "Typed before" not in out


def test_a_pipe_is_offered_nothing_it_did_not_say() -> None:
    conversation = full(Turn(("A summary.",)))
    out = chat(conversation, "one\ntwo\n/compact\n").out
    assert "Typed before" not in out
    assert conversation.drafts == []


def test_drop() -> None:
    chatted = chat(FakeConversation([Turn()]), "one\n/drop\n")
    assert "There is no tool output to leave out." in chatted.err


def test_a_larger_context_opens_the_session_anew() -> None:
    conversation = full()
    chatted = chat(conversation, "one\n/context\n/context 999999\n/context x\n/context 16,384\nnever\n")
    assert "The context holds 8,192 tokens, of 32,768 tokens that the model was trained for.\n" in chatted.out
    assert chatted.err.count("Give a number from 256 to 32,768.") == 2
    assert chatted.ended == GoOn(session="01FAKE", changes={"ctx": 16384}, code=2)
    empty = full()
    assert chat(empty, "/context 16384\n").ended == GoOn(new=True, title="demo", changes={"ctx": 16384})


def test_on_a_terminal_what_was_refused_stands_in_the_prompt_again(terminal: Open) -> None:
    screen = terminal("fuller")
    screen.wait_for_prompt(1)
    screen.type("one\r")
    screen.wait_for_prompt(2)
    screen.type("far too much\r")
    screen.wait_for("/compact goes on with a summary")
    screen.wait_for_prompt(3)
    screen.type("/compact\r")
    screen.wait_for("A summary.")
    screen.wait_for(lambda text: text.endswith("> far too much"))
    screen.type("\r")
    screen.wait_for("Answered.")
