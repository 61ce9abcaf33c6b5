"""What a text will cost, on the edge of the box: asked when typing pauses, and never of what is not there any more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.agent.looking import Checkpoints
from skippy_chat.engine.questions import Foreseen
from skippy_chat.errors import EngineDied
from skippy_chat.events import MissReason
from skippy_chat.tui.foresight import Foresight
from skippy_chat.tui.sessions import Choice, SessionPicker
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.aids import aids_in
from tests.tui.kept import edge, session_of, two_branches
from tests.tui.screen import Desk, app_on, overview

pytestmark = pytest.mark.timeout(180)

TOLD = Foreseen(1105, 1024, "disk", None, 0.4, 8192)


def foresight_of(desk: Desk) -> Foresight:
    parts = desk.app._parts
    assert parts is not None
    return next(
        owner for each in parts.typed if isinstance(owner := getattr(each, "__self__", None), Foresight)
    )


class Slow(FakeConversation):
    """Looks ahead only when it is let; ``most`` is how many did so at one time."""

    def __init__(self, *turns: Turn) -> None:
        super().__init__(turns)
        self.outlook = TOLD
        self.let = threading.Event()
        self.inside = 0
        self.most = 0

    def foresee(self, text: str, message: str | None = None) -> Foreseen:
        self.inside += 1
        self.most = max(self.most, self.inside)
        told = super().foresee(text, message)
        assert self.let.wait(20)
        self.inside -= 1
        return told


async def test_where_a_text_would_resume_stands_on_the_box_and_goes_when_it_is_sent() -> None:
    talk = FakeConversation([Turn(("Done.",))])
    talk.outlook = TOLD
    async with app_on(talk) as desk:
        desk.composer.put("hello there")  # at once: a long gap between two keys is a pause, too
        await desk.wait_until(lambda: edge(desk) == "resumes at 1,024 of 1,105 · about 0.4 s")
        assert talk.foreseen == [("hello there", None)]
        shown = "".join(segment.text for segment in desk.app.screen._compositor.render_strips()[-4])
        assert shown.endswith("── resumes at 1,024 of 1,105 · about 0.4 s ─")
        await desk.pilot.press("enter")
        assert edge(desk) == ""
        await desk.ready()
        assert edge(desk) == ""
        assert talk.foreseen == [("hello there", None)]


async def test_two_are_never_asked_at_once_and_the_last_text_wins() -> None:
    talk = Slow()
    async with app_on(talk) as desk:
        await desk.type("a")
        await desk.wait_until(lambda: talk.inside == 1)
        for text in ("ab", "abc"):
            await desk.type(text[-1])
            await desk.wait_until(lambda text=text: desk.composer.text == text)  # type: ignore[misc]
        # The next look waits behind the one that is under way, with the newest text.
        looks = foresight_of(desk)._looks
        await desk.wait_until(lambda: looks._waiting)
        assert talk.foreseen == [("a", None)]
        assert edge(desk) == ""
        talk.let.set()
        await desk.wait_until(lambda: edge(desk).startswith("resumes at"))
        assert talk.foreseen == [("a", None), ("abc", None)]
        assert talk.most == 1


async def test_what_comes_when_a_turn_has_begun_is_dropped_and_none_is_asked_while_it_runs() -> None:
    talk = Slow(Turn(("Once",), endless=True))
    async with app_on(talk) as desk:
        await desk.type("hello")
        await desk.wait_until(lambda: talk.inside == 1)
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: desk.texts[-1:] == ["Once"])
        talk.let.set()
        await desk.type("next")
        await desk.wait_until(lambda: talk.inside == 0)
        assert edge(desk) == ""
        assert len(talk.foreseen) == 1
        await desk.pilot.press("escape")
        await desk.ready()
        # What was typed meanwhile is asked about once the turn is over.
        await desk.wait_until(lambda: edge(desk).startswith("resumes at"))
        assert talk.foreseen[1:] == [("next", None)]


async def test_an_edit_tells_its_cost_before_and_after_a_word_is_changed() -> None:
    talk = session_of(two_branches())
    talk.outlook = Foreseen(60, 10, "live", MissReason("diverged", 12, 1), 0.3, 8192)
    async with app_on(talk) as desk:
        await desk.pilot.press("up")
        await desk.wait_until(
            lambda: edge(desk) == "changed from its start: resumes at 40, reads 12 tokens · about 0.5 s"
        )
        await desk.type("!")
        await desk.wait_until(lambda: edge(desk) == "resumes at 10 of 60 · about 0.3 s")
        assert talk.foreseen == [("And now?!", "M4")]
        await desk.pilot.press("escape")
        assert edge(desk) == ""


@pytest.mark.parametrize("text", ["/undo", "/etc/passwd", "  "])
async def test_what_is_not_sent_to_the_model_is_not_asked_about(text: str) -> None:
    talk = FakeConversation()
    talk.outlook = TOLD
    async with app_on(talk) as desk:
        desk.composer.put(text)
        desk.composer.put("//undo")
        await desk.wait_until(lambda: edge(desk))
        assert talk.foreseen == [("/undo", None)]
        desk.composer.put(text)
        await desk.wait_until(lambda: not edge(desk))


async def test_why_no_further_is_told_where_there_is_room() -> None:
    talk = FakeConversation()
    talk.outlook = Foreseen(1105, 0, "none", MissReason("nothing_stored"), None, 8192)
    for width, line in ((80, "reads all 1,105 tokens · "), (30, "reads all 1,105 tokens")):
        async with app_on(talk, size=(width, 24)) as desk:
            await desk.type("hello")
            await desk.wait_until(lambda line=line: edge(desk).startswith(line))  # type: ignore[misc]
            assert ("·" in edge(desk)) == (width == 80)


@pytest.mark.parametrize("error", [EngineDied("It ended."), ValueError("a fault")])
async def test_without_an_engine_it_is_silent_and_typing_goes_on(error: Exception) -> None:
    talk = FakeConversation()
    failed = threading.Event()

    def fails(text: str, message: str | None = None) -> Foreseen:
        talk.foreseen.append((text, message))
        failed.set()
        raise error

    foresee: Callable[[str, str | None], Foreseen] = talk.foresee
    talk.foresee = fails  # type: ignore[method-assign]
    async with app_on(talk) as desk:
        await desk.type("hello")
        await desk.wait_until(failed.is_set)
        assert edge(desk) == ""
        talk.outlook, talk.foresee = TOLD, foresee  # type: ignore[assignment, method-assign]
        await desk.type("!")
        await desk.wait_until(lambda: edge(desk).startswith("resumes at 1,024"))
        assert desk.composer.text == "hello!"


async def test_held_messages_go_first_so_nothing_is_told() -> None:
    talk = FakeConversation([Turn(("Once",), endless=True), Turn(("More.",))])
    talk.outlook = TOLD
    async with app_on(talk) as desk:
        await desk.say("tell")
        await desk.wait_until(lambda: desk.texts[-1] == "Once")
        await desk.say("queued")
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: "held: queued" in desk.queue and " ready" in desk.status)
        await desk.type("x")
        assert len(desk.app._parts.pending) == 1  # type: ignore[union-attr]
        await desk.pilot.press("backspace", "up")
        await desk.wait_until(lambda: edge(desk).startswith("resumes at"))
        assert talk.foreseen == [("queued", None)]


async def test_a_look_that_took_long_is_followed_by_a_longer_pause() -> None:
    talk = FakeConversation()
    talk.outlook = TOLD
    async with app_on(talk) as desk:
        foresight = foresight_of(desk)
        real = talk.foresee

        def slow(text: str, message: str | None = None) -> Foreseen:
            desk.clock[0] += 3.0
            return real(text, message)

        talk.foresee = slow  # type: ignore[method-assign]
        await desk.type("a")
        await desk.wait_until(lambda: edge(desk))
        assert foresight._pause == pytest.approx(6.0)


async def test_what_is_kept_of_an_edited_message_may_be_unknown() -> None:
    talk = session_of(two_branches())
    looked = threading.Event()
    kept = Checkpoints(talk.kept.tree, talk.kept.branches[1:], ())

    def checkpoints() -> Checkpoints:
        looked.set()
        return kept

    talk.checkpoints = checkpoints  # type: ignore[method-assign]
    async with app_on(talk) as desk:
        await desk.pilot.press("up")
        await desk.wait_until(looked.is_set)
        assert edge(desk) == ""


async def test_files_that_a_text_names_are_looked_at_with_it(tmp_path: Path) -> None:
    talk = session_of(two_branches())
    talk.outlook = TOLD
    async with app_on(talk, folder=tmp_path, aids=aids_in(tmp_path)) as desk:
        desk.composer.put("read @notes.md")
        await desk.wait_until(lambda: edge(desk))
        assert len(talk.foreseen) == 1
        assert "Buy milk." in talk.foreseen[0][0]
        desk.composer.put("")
        await desk.pilot.press("up")
        await desk.wait_until(lambda: edge(desk).startswith("changed"))
        desk.composer.put("Now @notes.md")
        await desk.wait_until(lambda: edge(desk).startswith("resumes"))
        assert "Buy milk." in talk.foreseen[-1][0]
        assert talk.foreseen[-1][1] == "M4"


async def test_a_hostile_reason_comes_out_clean() -> None:
    talk = FakeConversation()
    talk.outlook = Foreseen(
        9, 0, "none", MissReason("damaged", 4, 1, "\x1b[2Jbad\u202e\x9b31m\n[bold]"), 1.0, 64
    )
    async with app_on(talk, size=(120, 24)) as desk:
        await desk.type("hello")
        await desk.wait_until(lambda: edge(desk))
        assert edge(desk) == "reads all 9 tokens · about 1.0 s · damaged at token 4: bad [bold]"


async def test_what_is_searched_for_in_the_list_of_sessions_is_not_asked_about() -> None:
    talk = FakeConversation()
    talk.outlook = TOLD
    talk.add("user", "about two", None)
    async with app_on(
        talk, start=Choice(), sessions=[overview(1, "about one"), overview(2, "about two")]
    ) as desk:
        await desk.say("/sessions two")
        await desk.wait_until(
            lambda: isinstance(desk.app.screen, SessionPicker) and desk.composer.text == "two"
        )
        assert foresight_of(desk)._timer is None
        await desk.pilot.press("escape")
        await desk.wait_until(
            lambda: not isinstance(desk.app.screen, SessionPicker) and desk.composer.text == ""
        )
        await desk.type("x")
        await desk.wait_until(lambda: edge(desk))
        assert talk.foreseen == [("x", None)]
