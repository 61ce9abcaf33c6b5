"""The context is full: said by how much, and no message is lost whatever is chosen."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from textual.widgets import OptionList, Static

from skippy_chat.agent.protocol import LoadedModel, TurnOptions
from skippy_chat.agent.room import Room
from skippy_chat.errors import ContextFull, EngineDied, NativeError
from skippy_chat.events import Event, Notice
from skippy_chat.tui.room_screen import RoomScreen
from tests.fakes.conversation import MODEL, FakeConversation, Turn
from tests.fakes.script import Call, Step
from tests.tui.screen import Desk, app_on

pytestmark = pytest.mark.timeout(180)

FULL = ContextFull(
    "The conversation has 8,300 tokens, the context holds 8,192: 109 too many to answer.", "Do this."
)
SPACE = Room(8300, 8192, 40, 1200, 3060, 4000, droppable=2100)
LONG = "A long message that does not fit."


class Roomy(FakeConversation):
    """Its model was trained for more than it has."""

    trained = 32768

    def __init__(self, turns: Sequence[Turn] = ()) -> None:
        super().__init__(turns)
        self.hold = threading.Event()
        self.hold.set()

    def send(self, text: str, options: TurnOptions | None = None) -> Iterator[Event]:
        assert self.hold.wait(30)
        return super().send(text, options)

    @property
    def model(self) -> LoadedModel:
        return replace(MODEL, trained_context=self.trained)


def talk(*turns: Turn) -> Roomy:
    conversation = Roomy(turns)
    user = conversation.add("user", "Look it up.", None)
    called = conversation.add("assistant", "I will.", user.id)
    result = conversation.add("tool", "x" * 900, called.id)
    answer = conversation.add("assistant", "Found.", result.id)
    question = conversation.add("user", "And then?", answer.id)
    conversation.add("assistant", "That.", question.id)
    conversation.space = SPACE
    return conversation


def words(desk: Desk) -> str:
    """What the panel says."""
    assert isinstance(desk.app.screen, RoomScreen)
    lines = [str(each.render()) for each in desk.app.screen.query(Static)]
    options = desk.app.screen.query_one(OptionList)
    return "\n".join(
        [*lines, *(str(options.get_option_at_index(n).prompt) for n in range(options.option_count))]
    )


async def refused(desk: Desk, text: str = LONG) -> None:
    """Send a message that does not fit, and wait for the panel with its figures."""
    await desk.say(text)
    await asked(desk)


async def asked(desk: Desk) -> None:
    """Wait for the panel, its figures, and that it takes keys."""
    await desk.wait_until(
        lambda: (
            isinstance(desk.app.screen, RoomScreen)
            and "Counting" not in words(desk)
            and desk.app.screen.listening
        )
    )


async def closed(desk: Desk) -> None:
    await desk.wait_until(lambda: not isinstance(desk.app.screen, RoomScreen))
    await desk.ready()


async def test_it_says_by_how_much_and_what_fills_it() -> None:
    async with app_on(talk(Turn(fails=FULL))) as desk:
        await refused(desk)
        told = words(desk)
        assert "109 tokens too many to answer." in told
        assert "8,300 of 8,192 tokens in use (101 %)." in told
        assert "system prompt 40 · tools 1,200 · messages 3,060 · tool output 4,000" in told
        for key, way in (
            ("c", "Compact"),
            ("d", "Drop"),
            ("f", "Fork"),
            ("l", "Larger context: 16,384 tokens"),
        ):
            assert f"{key}  {way}" in told
        assert "about 2,100 tokens" in told


async def test_nothing_chosen_puts_the_message_back() -> None:
    conversation = talk(Turn(fails=FULL), Turn(("Fits.",)))
    async with app_on(conversation) as desk:
        await refused(desk)
        await desk.pilot.press("escape")
        await closed(desk)
        assert desk.composer.text == LONG
        assert conversation.messages()[-1].state == "failed"
        await desk.say("Short.")
        await desk.wait_until(lambda: desk.texts[-1].startswith("Fits."))
        assert [each.content for each in conversation.messages() if each.role == "user"][-1] == "Short."


async def test_what_was_typed_meanwhile_stays_in_the_box() -> None:
    conversation = talk(Turn(fails=FULL))
    async with app_on(conversation) as desk:
        await refused(desk)
        desk.composer.put("something else")
        await desk.pilot.press("escape")
        await closed(desk)
        assert desk.composer.text == "something else"
        assert LONG in desk.texts[-1]


async def test_who_still_types_goes_on_typing_and_chooses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skippy_chat.tui.room_screen.QUIET", 600)
    conversation = talk(Turn(fails=FULL), Turn(("Now it fits.",)))
    async with app_on(conversation) as desk:
        await desk.say(LONG)
        assert not (await desk.over(RoomScreen)).listening
        await desk.pilot.press("enter", "down", "c", "l", "enter")
        await desk.wait_until(lambda: not isinstance(desk.app.screen, RoomScreen))
        await desk.wait_until(
            lambda: "/room shows what fills it" in desk.status or conversation.asked[-1] == "cl"
        )
        assert "compact" not in conversation.asked
        assert not desk.chosen[1:]


async def test_a_text_in_the_box_is_not_disturbed_and_the_message_waits_for_room() -> None:
    conversation = talk(Turn(fails=FULL, extra=(Notice(text="One moment."),)), Turn(("Now it fits.",)))
    async with app_on(conversation) as desk:
        conversation.hold.clear()
        await desk.say(LONG)
        desk.composer.put("I was writing this")
        conversation.hold.set()
        await desk.wait_until(lambda: "/room shows what fills it" in desk.status)
        assert not isinstance(desk.app.screen, RoomScreen)
        assert desk.composer.text == "I was writing this"
        await desk.say("/room")
        await asked(desk)
        await desk.pilot.press("d")
        await desk.wait_until(lambda: desk.texts[-1].startswith("Now it fits."))
        await desk.ready()
        assert [each.content for each in conversation.messages()][-2:] == [LONG, "Now it fits."]


async def test_compact_makes_room_and_sends_the_message() -> None:
    conversation = talk(Turn(fails=FULL), Turn(("It was about looking up.",)), Turn(("Now it fits.",)))
    async with app_on(conversation) as desk:
        before = [each.content for each in conversation.messages()]
        await refused(desk)
        await desk.pilot.press("c")
        await desk.wait_until(lambda: desk.texts and desk.texts[-1].startswith("Now it fits."))
        await desk.ready()
        stored = conversation.messages()
        assert [each.content for each in stored][1:] == [
            "It was about looking up.",
            "And then?",
            "That.",
            LONG,
            "Now it fits.",
        ]
        assert [text.split("\n")[0] for text in desk.texts][1:] == [each.content for each in stored][1:]
        assert desk.composer.text == ""
        await desk.say("/back")
        await desk.wait_until(lambda: desk.texts[0].startswith(before[0]))


async def test_drop_makes_room_and_sends_the_message() -> None:
    conversation = talk(Turn(fails=FULL), Turn(("Now it fits.",)))
    async with app_on(conversation) as desk:
        await refused(desk)
        await desk.pilot.press("down", "enter")
        await desk.wait_until(lambda: desk.texts[-1].startswith("Now it fits."))
        await desk.ready()
        stored = conversation.messages()
        assert stored[2].content == "[left out]"
        assert [each.content for each in stored][-2:] == [LONG, "Now it fits."]


async def test_a_way_that_fails_gives_the_message_back() -> None:
    conversation = talk(Turn(fails=FULL), Turn(fails=NativeError("The model is broken.")))
    async with app_on(conversation) as desk:
        await refused(desk)
        await desk.pilot.press("c")
        await desk.wait_until(lambda: desk.composer.text == LONG)
        await desk.ready()
        assert "The model is broken." in "\n".join(desk.texts)
        assert conversation.messages()[-1].state == "failed"


async def test_a_summary_that_is_stopped_gives_the_message_back() -> None:
    conversation = talk(Turn(fails=FULL), Turn(("Half of",), endless=True))
    async with app_on(conversation) as desk:
        await refused(desk)
        await desk.pilot.press("c")
        await desk.wait_until(lambda: desk.texts[-1].startswith("Half of"))
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: desk.composer.text == LONG)
        await desk.ready()
        assert conversation.messages()[-1].content == LONG


async def test_a_larger_context_is_opened_and_the_message_sent() -> None:
    conversation = talk(Turn(fails=FULL), Turn(("Now it fits.",)))
    async with app_on(conversation) as desk:
        await refused(desk)
        await desk.pilot.press("l")
        await desk.wait_until(lambda: desk.texts and desk.texts[-1].startswith("Now it fits."))
        await desk.ready()
        assert desk.chosen[-1].session == conversation.session.id
        assert desk.chosen[-1].changes == {"ctx": 16384}
        assert [each.content for each in conversation.messages()][-2:] == [LONG, "Now it fits."]


async def test_a_copy_has_the_message_in_its_box() -> None:
    conversation = talk(Turn(fails=FULL))
    async with app_on(conversation) as desk:
        await refused(desk)
        await desk.pilot.press("f")
        await desk.wait_until(lambda: desk.composer.text == LONG)
        fork = desk.chosen[-1].fork
        assert fork is not None
        assert fork.session == conversation.session.id


async def test_only_ways_that_lead_somewhere_are_there() -> None:
    conversation = talk(Turn(fails=FULL))
    conversation.trained = MODEL.context_size
    conversation.space = replace(SPACE, droppable=0)
    async with app_on(conversation) as desk:
        await refused(desk)
        told = words(desk)
        assert "Drop" not in told
        assert "Larger context" not in told
        assert "it was trained for 8,192 tokens." in told
        await desk.pilot.press("l", "d")
        assert isinstance(desk.app.screen, RoomScreen)


async def test_where_nothing_can_be_counted_it_says_so_and_the_ways_are_there() -> None:
    class Uncounted(Roomy):
        def room(self) -> Room:
            raise EngineDied("There is no worker to ask.", "The next turn starts one.")

    conversation = Uncounted([Turn(fails=FULL)])
    async with app_on(conversation) as desk:
        await refused(desk)
        told = words(desk)
        assert "It cannot be counted: There is no worker to ask." in told
        assert "Compact" in told


async def test_a_turn_that_fills_the_context_in_its_middle_asks_too() -> None:
    step = Step(calls=(Call("c1", "report", ("{}",)),))
    conversation = Roomy([Turn(steps=(step,), finish_reason="context_full")])
    conversation.space = SPACE
    async with app_on(conversation) as desk:
        await desk.say("Go.")
        await asked(desk)
        assert "/continue goes on once there is room" in words(desk)
        await desk.pilot.press("escape")
        await closed(desk)
        assert desk.composer.text == ""


async def test_room_by_command_only_looks() -> None:
    conversation = talk()
    conversation.space = replace(SPACE, used=3300, messages=2060, results=0, droppable=0)
    async with app_on(conversation) as desk:
        before = conversation.messages()
        await desk.say("/room")
        await asked(desk)
        assert "3,300 of 8,192" in words(desk)
        assert "too many" not in words(desk)
        await desk.pilot.press("escape")
        await closed(desk)
        assert conversation.messages() == before
        assert desk.composer.text == ""


async def test_compact_drop_and_context_by_command() -> None:
    conversation = talk(Turn(("Summary.",)))
    async with app_on(conversation) as desk:
        await desk.say("/drop")
        await desk.wait_until(lambda: "Left out 1 result of tools: 100 tokens less." in desk.texts[-1])
        await desk.ready()
        await desk.say("/drop")
        await desk.wait_until(lambda: "no tool output to leave out" in desk.texts[-1])
        await desk.ready()
        await desk.say("/compact")
        await desk.wait_until(lambda: len(conversation.messages()) == 4)
        await desk.ready()
        assert [text.split("\n")[0] for text in desk.texts][1:] == ["Summary.", "And then?", "That."]
        await desk.say("/context")
        assert "holds 8,192 tokens; the model's longest has 32,768." in desk.status
        for wrong in ("12", "many", "99999", "9" * 40):
            await desk.say(f"/context {wrong}")
            assert "Give a number from 256 to 32,768." in desk.status
            assert desk.composer.text == f"/context {wrong}"
        await desk.say("/context 16,384")
        await desk.wait_until(lambda: desk.chosen[-1].changes == {"ctx": 16384})


@pytest.mark.parametrize("command", ["/compact", "/drop", "/context 16384"])
async def test_a_message_that_waits_is_sent_also_when_room_is_made_by_command(command: str) -> None:
    summary = [Turn(("Summary.",))] if command == "/compact" else []
    conversation = talk(Turn(fails=FULL), *summary, Turn(("Now it fits.",)))
    async with app_on(conversation) as desk:
        await refused(desk)
        await desk.pilot.press("escape")
        await closed(desk)
        await desk.say(command)
        await desk.wait_until(lambda: desk.texts and desk.texts[-1].startswith("Now it fits."))
        await desk.ready()
        assert [each.content for each in conversation.messages()][-2:] == [LONG, "Now it fits."]


async def test_hostile_words_do_not_reach_the_screen() -> None:
    conversation = talk(Turn(fails=ContextFull("Full.\x1b]52;c;eA==\x07 \x9b2J")))
    async with app_on(conversation) as desk:
        await refused(desk, "x")
        assert "\x1b" not in words(desk)
        assert "\x9b" not in words(desk)
