"""What the box takes for a command, and what the commands do."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from skippy_chat.agent.protocol import ToolInfo
from skippy_chat.agent.tools.journal import Undone
from skippy_chat.chat.messages import Session
from skippy_chat.errors import EngineDied
from skippy_chat.tui.commands import Typed, read, unknown
from skippy_chat.tui.reading import ReadingScreen
from tests.fakes.conversation import FakeConversation, Step, Turn
from tests.tui.asking import asked_about, has_asked, has_focus
from tests.tui.screen import Desk, app_on

pytestmark = pytest.mark.timeout(180)


def reading(desk: Desk) -> str:
    assert isinstance(desk.app.screen, ReadingScreen)
    return "\n".join(str(each.render()) for each in desk.app.screen.query("Static"))


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("/undo", Typed(command="undo")),
        ("/undo ", Typed(command="undo")),
        ("/etc/passwd", Typed(message="/etc/passwd")),
        ("/undo that", Typed(command="undo", argument="that")),
        ("/undoing that", Typed(message="/undoing that")),
        ("/undo\nthat", Typed(message="/undo\nthat")),
        ("/export", Typed(command="export")),
        ("/export  md my notes.md ", Typed(command="export", argument="md my notes.md")),
        ("/rename Über alles", Typed(command="rename", argument="Über alles")),
        ("/rename it\nplease", Typed(message="/rename it\nplease")),
        ("/rename/it", Typed(message="/rename/it")),
        ("//undo", Typed(message="/undo")),
        ("/", Typed(message="/")),
        ("", Typed()),
    ],
)
def test_what_is_a_command(text: str, typed: Typed) -> None:
    assert read(text) == typed


def test_an_unknown_command_names_the_closest() -> None:
    assert unknown("undp").startswith("There is no command /undp. Did you mean /undo?")
    assert "/help lists them." in unknown("zzz")


async def test_words_behind_a_command_that_takes_none_are_not_sent() -> None:
    conversation = FakeConversation([Turn(("First.",))])
    async with app_on(conversation) as desk:
        await desk.say("/undo that please")
        await desk.wait_until(lambda: "/undo takes no words" in desk.status)
        assert desk.composer.text == "/undo that please"
        assert conversation.asked == []
        assert conversation.undos == 0


@pytest.mark.parametrize("word", ["quit", "exit"])
async def test_quit_leaves_and_is_no_draft(word: str) -> None:
    conversation = FakeConversation([Turn(("First.",))])
    async with app_on(conversation) as desk:
        await desk.say("hello")
        await desk.ready()
        await desk.say(f"/{word}")
        await desk.wait_until(lambda: desk.app.return_code == 0)
    assert conversation.draft == ""
    assert len(conversation.messages()) == 2


async def test_undo_tells_what_it_did_and_why_not() -> None:
    conversation = FakeConversation([Turn(("First.",))])
    conversation.undone = Undone(("a.txt",), ("new\x1b[2J.txt",))
    async with app_on(conversation) as desk:
        await desk.say("hello")
        await desk.ready()
        await desk.say("/undo")
        await desk.wait_until(lambda: conversation.undos == 1 and "Undone." in desk.texts[-1])
        assert desk.texts[-1] == "First.\n\nUndone.\nPut back: a.txt\nRemoved: new.txt"
        await desk.ready()
        await desk.say("/undo")
        await desk.wait_until(lambda: "No turn of this branch wrote files." in desk.texts[-1])
        assert conversation.asked == ["hello"]


async def test_continue_goes_on_where_a_limit_ended_the_turn() -> None:
    limited = Turn(steps=(Step((asked_about(),)),), limited=True)
    conversation = FakeConversation([limited, Turn(("Done after all.",)), Turn(("Queued.",))])
    async with app_on(conversation) as desk:
        await desk.say("go")
        await has_asked(desk)
        desk.composer.focus()
        await desk.say("next")
        await has_focus(desk)
        await desk.pilot.press("y")
        await desk.wait_until(lambda: "held: next" in desk.queue)
        assert desk.texts[-1] == (
            "run_command make test\nok\nStopped at the limit. It can go on.\n/continue goes on."
        )
        await desk.say("/continue")
        await desk.wait_until(lambda: desk.texts[-1] == "Queued.")
        await desk.ready()
        assert conversation.asked == ["go", "go_on", "next"]
        assert "Done after all." in desk.texts
        assert [view.message_id for view in desk.transcript.views] == [
            message.id for message in conversation.messages()
        ]


async def test_tools_lists_what_is_offered() -> None:
    conversation = FakeConversation()
    conversation.offered = (ToolInfo("run_command", "Run it. [bold]\x1b[2J", "ask"),)
    async with app_on(conversation) as desk:
        await desk.say("/tools")
        await desk.over(ReadingScreen)
        assert "run_command" in reading(desk)
        assert "asks first" in reading(desk)
        assert "[bold]" in reading(desk)
        assert "\x1b" not in reading(desk)
        await desk.pilot.press("escape")
        await desk.type("x")
        assert desk.composer.text == "x"


async def test_help_and_no_tools() -> None:
    async with app_on(FakeConversation()) as desk:
        await desk.say("/tools")
        await desk.over(ReadingScreen)
        assert "no tools" in reading(desk)
        await desk.pilot.press("q")
        await desk.say("/help")
        await desk.over(ReadingScreen)
        assert "/undo" in reading(desk)
        assert "Ctrl-O" in reading(desk)
        await desk.pilot.press("enter")
        assert not isinstance(desk.app.screen, ReadingScreen)


async def test_what_cannot_be_done_now_stays_in_the_box() -> None:
    conversation = FakeConversation([Turn(("Once",), endless=True)])
    async with app_on(conversation) as desk:
        await desk.say("tell")
        await desk.wait_until(lambda: desk.texts[-1] == "Once")
        await desk.say("/undo")
        assert "stop the answer first (Esc)" in desk.status
        assert desk.composer.text == "/undo"
        assert conversation.undos == 0
        await desk.say("/undp")
        assert "Did you mean /undo?" in desk.status
        await desk.pilot.press("escape")
        await desk.ready()


async def test_two_slashes_send_one() -> None:
    conversation = FakeConversation([Turn(("Ok.",))])
    async with app_on(conversation) as desk:
        await desk.say("//undo")
        await desk.ready()
        assert conversation.asked == ["/undo"]


def unnamed(*turns: Turn) -> FakeConversation:
    return FakeConversation(turns, session=Session("01FAKE", "", "/work", 0, 0, "fake-135m"))


async def test_export_tells_where_and_why_not(tmp_path: Path) -> None:
    async with app_on(FakeConversation([Turn(("First.",))]), folder=tmp_path) as desk:
        await desk.say("/export")
        await desk.wait_until(lambda: "nothing to export yet" in desk.status)
        await desk.say("hello")
        await desk.wait_until(lambda: desk.texts and desk.texts[-1] == "First.")
        await desk.ready()
        await desk.say("/export html")
        await desk.wait_until(lambda: "Wrote 2 messages to" in desk.texts[-1])
        assert "First." in (tmp_path / "demo.html").read_text("utf-8")
        await desk.ready()
        await desk.say("/export html")
        await desk.wait_until(lambda: "is there already." in desk.texts[-1])
        assert [each.name for each in tmp_path.iterdir()] == ["demo.html"]


async def test_rename_shows_the_name_and_tells_what_is_taken() -> None:
    conversation = FakeConversation()
    conversation.taken = "Mine"
    async with app_on(conversation) as desk:
        await desk.say("/rename")
        assert "Give a name: /rename TITLE" in desk.status
        assert desk.composer.text == "/rename"
        await desk.say("/rename Mine")
        await desk.wait_until(lambda: "exists already" in desk.status)
        assert conversation.session.title == "demo"
        await desk.say("/rename Other")
        await desk.wait_until(lambda: "This session is Other now." in desk.status)
        await desk.type("x")
        assert "Other" in desk.status


async def test_a_title_comes_by_itself_and_waits_for_nobody() -> None:
    go_on = threading.Event()

    def made() -> str:
        assert go_on.wait(20)
        return "About\x1b[2J greetings"

    conversation = unnamed(Turn(("First.",)), Turn(("Second.",)))
    conversation.naming = made
    async with app_on(conversation, size=(160, 24)) as desk:
        await desk.say("hello")
        await desk.wait_until(lambda: desk.texts and desk.texts[-1] == "First.")
        await desk.ready()
        await desk.say("more")
        await desk.wait_until(lambda: desk.texts[-1] == "Second.")
        await desk.ready()
        assert "About" not in desk.status
        go_on.set()
        await desk.wait_until(lambda: "About" in desk.status)
        assert "greetings" in desk.status
        assert "\x1b" not in desk.status
        assert conversation.asked == ["hello", "more"]


async def test_leaving_waits_for_no_title() -> None:
    never = threading.Event()
    conversation = unnamed(Turn(("First.",)))
    conversation.naming = lambda: str(never.wait(60))
    async with app_on(conversation) as desk:
        await desk.say("hello")
        await desk.wait_until(lambda: desk.texts and desk.texts[-1] == "First.")
        await desk.ready()
        assert desk.app.bridge.close(10)
        assert conversation.closed == 1
        assert desk.app.bridge.naming
    never.set()


async def test_a_failed_turn_asks_for_no_title() -> None:
    conversation = unnamed(Turn(("Half",), fails=EngineDied("It ended.")))
    conversation.naming = lambda: "Never"
    async with app_on(conversation) as desk:
        await desk.say("hello")
        await desk.wait_until(lambda: "It ended." in " ".join(desk.texts))
        await desk.ready()
        assert conversation.naming is not None
