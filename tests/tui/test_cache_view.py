"""The cache view under Pilot: the tree, its keys, live news, and ways out of it."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from textual.geometry import Offset
from textual.strip import Strip
from textual.widgets import Static

from skippy_chat.agent.looking import Checkpoints
from skippy_chat.errors import EngineDied
from skippy_chat.events import MissReason
from skippy_chat.tui.cache_rows import TreeRow
from skippy_chat.tui.cache_screen import CacheScreen
from skippy_chat.tui.cache_tree import CheckpointTreeView
from skippy_chat.tui.message import MessageView
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.kept import long, session_of, two_branches
from tests.tui.screen import Desk, app_on

pytestmark = pytest.mark.timeout(180)


def tree(desk: Desk) -> CheckpointTreeView:
    assert isinstance(desk.app.screen, CacheScreen)
    return desk.app.screen.query_one(CheckpointTreeView)


def lines(desk: Desk) -> list[str]:
    view = tree(desk)
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


def painted(desk: Desk) -> list[str]:
    """What the terminal shows, without the scrollbar."""
    rows = ["".join(part.text for part in row) for row in desk.app.screen._compositor.render_strips()]
    return [row.rstrip(" ▁▂▃▄▅▆▇█") for row in rows]


def said(desk: Desk, where: str) -> str:
    return str(desk.app.screen.query_one(f"#cache-{where}", Static).render())


async def opened(desk: Desk) -> None:
    await desk.pilot.press("ctrl+t")
    await desk.wait_until(lambda: isinstance(desk.app.screen, CacheScreen) and tree(desk).row is not None)


async def test_the_tree_the_budget_and_the_misses_at_80_by_24() -> None:
    async with app_on(session_of(two_branches())) as desk:
        await opened(desk)
        assert [line for line in lines(desk) if line] == [
            "  token  message                                size      in     an edit reads",
            "     10  ● System: Be brief.                12.0 KiB    both",
            "     30  ● You 1: Hello there               22.0 KiB    both                24",
            "     34  ● Assistant · start of the answer   6.0 KiB    both",
            "     38  ● Assistant · end of the answer     6.0 KiB    both",
            "     40  ● Assistant: Hi.                    4.0 KiB    both",
            "     50  ├─○ You 2: Something else.         12.0 KiB    disk",
            "     48  ● You 2: And now?                         -  memory        12 · 0.5 s",
        ]
        assert (
            said(desk, "title")
            == "Kept of this session: 7 checkpoints, 62.0 KiB on disk, 48 tokens in memory"
        )
        assert said(desk, "budget").endswith("3.0 MiB of the 300 MiB there are for all models (1 %)")
        assert said(desk, "misses").startswith("Missed at “Hello there”: 10 of 34 tokens reused; ")
        row = tree(desk).row
        assert row is not None
        assert row.position == 48
        assert said(desk, "detail").splitlines() == [
            "You 2: And now?",
            "tokens 40 to 48, read: end of the message",
            "changed from its start: resumes at 40, reads 12 tokens · about 0.5 s",
        ]


async def test_moving_folding_and_closing() -> None:
    async with app_on(session_of(two_branches())) as desk:
        await opened(desk)
        await desk.pilot.press("up", "up", "up")
        assert tree(desk).row.position == 38  # type: ignore[union-attr]
        assert said(desk, "detail").startswith("Assistant: Hi.\ntokens 34 to 38, written")
        await desk.pilot.press("m")
        assert len([line for line in lines(desk) if line]) == 6
        assert tree(desk).row.name == "Assistant"  # type: ignore[union-attr]
        assert "10 tokens in 3 checkpoints" in said(desk, "detail")
        await desk.pilot.press("home")
        assert tree(desk).row.position == 10  # type: ignore[union-attr]
        await desk.pilot.press("end", "down")
        assert tree(desk).row.position == 48  # type: ignore[union-attr]
        await desk.pilot.press("escape")
        assert not isinstance(desk.app.screen, CacheScreen)
        await desk.type("x")
        assert desk.composer.text == "x"


async def test_enter_goes_to_the_message_and_e_edits_it() -> None:
    async with app_on(session_of(two_branches())) as desk:
        await opened(desk)
        await desk.pilot.press("home", "down", "enter")
        await desk.wait_until(lambda: desk.app.focused is desk.transcript.find("M2"))
        await opened(desk)
        await desk.pilot.press("home", "e")
        assert "There is no message here that can be edited." in said(desk, "detail")
        await desk.pilot.press("down", "e")
        await desk.wait_until(lambda: desk.composer.text == "Hello there")


async def test_enter_on_another_branch_goes_there() -> None:
    async with app_on(session_of(two_branches())) as desk:
        await opened(desk)
        await desk.pilot.press("up")
        await desk.pilot.press("e")
        assert "on another branch" in said(desk, "detail")
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: "Something else." in desk.texts[-1])
        await desk.wait_until(lambda: desk.app.focused is desk.transcript.find("M5"))


async def test_a_click_puts_the_cursor_and_a_second_one_goes_there() -> None:
    async with app_on(session_of(two_branches())) as desk:
        await opened(desk)
        await desk.pilot.click(CheckpointTreeView, Offset(20, 2))
        assert tree(desk).row.position == 30  # type: ignore[union-attr]
        await desk.pilot.click(CheckpointTreeView, Offset(20, 2))
        await desk.wait_until(lambda: desk.app.focused is desk.transcript.find("M2"))


async def test_the_end_of_a_turn_is_news_and_keeps_the_place() -> None:
    kept = two_branches()
    talk = session_of(kept, Turn(("Once",), endless=True))
    async with app_on(talk) as desk:
        await desk.say("tell")
        await desk.wait_until(lambda: desk.texts[-1] == "Once")
        await opened(desk)
        await desk.pilot.press("home", "down")
        talk.kept = replace(kept, tree=replace(kept.tree, nodes=kept.tree.nodes[:3], live_tokens=99))
        desk.app.bridge.stop()
        await desk.wait_until(lambda: "99 tokens in memory" in said(desk, "title"))
        assert tree(desk).row.position == 30  # type: ignore[union-attr]
        assert len([line for line in lines(desk) if line]) == 4
        talk.kept = kept
        await desk.pilot.press("r")
        await desk.wait_until(lambda: "48 tokens in memory" in said(desk, "title"))


async def test_a_dead_engine_and_nothing_kept_are_said() -> None:
    talk = FakeConversation()

    def dead() -> Checkpoints:
        raise EngineDied("It ended.\x1b[2J", "The next turn starts one.")

    async with app_on(talk) as desk:
        await desk.say("/cache")
        await desk.wait_until(lambda: "Nothing is kept of this session yet." in said(desk, "detail"))
        assert said(desk, "misses") == "No misses since the session was opened."
        await desk.pilot.press("down", "enter", "e", "m", "q")
        talk.checkpoints = dead  # type: ignore[method-assign]
        await desk.pilot.press("ctrl+t")
        await desk.wait_until(lambda: "Nothing can be told: It ended." in said(desk, "detail"))
        assert "\x1b" not in said(desk, "detail")


async def test_a_cache_that_is_off_says_why() -> None:
    kept = two_branches()
    off = replace(kept.tree, nodes=(), off=MissReason("off"), store_bytes=0, budget_bytes=0)
    async with app_on(session_of(replace(kept, tree=off))) as desk:
        await desk.pilot.press("ctrl+t")
        await desk.wait_until(lambda: "Nothing is stored: " in said(desk, "budget"))


@pytest.mark.parametrize("size", [(20, 10), (60, 20), (80, 24), (200, 50)])
async def test_every_line_fits_at_every_size(size: tuple[int, int]) -> None:
    wide = two_branches("系统" * 60, "é\u0301" * 90, "👩‍👩‍👧" * 30, "\x1b[31mred\u202e" * 20, "x" * 400)
    async with app_on(session_of(wide), size=size) as desk:
        await opened(desk)
        view = tree(desk)
        strips: list[Strip] = [view.render_line(y) for y in range(view.size.height)]
        assert {strip.cell_length for strip in strips} == {view.scrollable_content_region.width}
        text = "".join(strip.text for strip in strips) + said(desk, "detail") + said(desk, "misses")
        assert "\x1b" not in text
        assert "\u202e" not in text


async def test_a_message_far_above_is_gone_to() -> None:
    async with app_on(session_of(long(600))) as desk:
        await opened(desk)
        assert desk.transcript.find("M4") is None
        await desk.pilot.press("home", "pagedown", "enter")
        await desk.wait_until(lambda: isinstance(desk.app.focused, MessageView))
        view = desk.app.focused
        assert isinstance(view, MessageView)
        assert int(view.message_id[1:]) < 20
        await desk.wait_until(lambda: view.region.y >= 0 and desk.transcript.region.overlaps(view.region))


async def test_it_says_that_only_the_newest_branches_are_told_of() -> None:
    kept = two_branches()
    talk = session_of(kept)
    talk.kept = replace(kept, branches=kept.branches * 8)
    async with app_on(talk, size=(100, 24)) as desk:
        await opened(desk)
        assert said(desk, "title").endswith(", 48 tokens in memory, the newest 16 branches")


async def test_a_scrollbar_hides_nothing() -> None:
    kept = long(40)
    async with app_on(session_of(kept)) as desk:
        await opened(desk)
        await desk.pilot.press("home")
        rows = painted(desk)
        assert any(row.endswith("an edit reads") for row in rows)
        assert any(row.endswith("20 · 0.1 s") for row in rows)


async def test_a_tree_of_thousands_is_windowed() -> None:
    kept = long(2000)
    async with app_on(session_of(kept)) as desk:
        await opened(desk)
        view = tree(desk)
        painted: list[int] = []
        real = view._pieces

        def noted(row: TreeRow, width: int) -> list[tuple[str, str]]:
            painted.append(row.position)
            return real(row, width)

        view._pieces = noted  # type: ignore[method-assign]
        began = time.process_time()
        for key in ("home", "pagedown", "end", "up", "up"):
            await desk.pilot.press(key)
        assert "message 1998" in "".join(lines(desk))
        assert len(painted) < 12 * view.size.height
        # A bar against work that grows with the tree; measured: some 20 ms for each key, most of it waiting.
        assert time.process_time() - began < 3
