"""What the box takes for a command, and what the commands do."""

from __future__ import annotations

import pytest

from skippy_chat.agent.protocol import ToolInfo
from skippy_chat.agent.tools.journal import Undone
from skippy_chat.tui.commands import Typed, read, unknown
from skippy_chat.tui.reading import ReadingScreen
from tests.fakes.conversation import FakeConversation, Step, Turn
from tests.tui.asking import asked_about, has_asked, has_focus
from tests.tui.screen import Desk, app_on

pytestmark = pytest.mark.timeout(60)


def reading(desk: Desk) -> str:
    assert isinstance(desk.app.screen, ReadingScreen)
    return "\n".join(str(each.render()) for each in desk.app.screen.query("Static"))


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("/undo", Typed(command="undo")),
        ("/undo ", Typed(command="undo")),
        ("/etc/passwd", Typed(message="/etc/passwd")),
        ("/undo that", Typed(message="/undo that")),
        ("/undo\nthat", Typed(message="/undo\nthat")),
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
        assert "no tools" in reading(desk)
        await desk.pilot.press("q")
        await desk.say("/help")
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
