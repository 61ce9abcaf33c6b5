"""The app on the default model: what was foretold on the box is what the turn then reports."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from skippy_chat.agent.protocol import Conversation
from skippy_chat.cli.host import process_host
from skippy_chat.config import load_settings
from skippy_chat.paths import Paths
from skippy_chat.tui.bridge import OnProgress
from skippy_chat.tui.cache_screen import CacheScreen
from skippy_chat.tui.cache_tree import CheckpointTreeView
from skippy_chat.tui.sessions import Choice
from tests.fakes.conversation import FakeConversation
from tests.tui.kept import edge
from tests.tui.screen import Desk, app_on

pytestmark = [pytest.mark.native, pytest.mark.model, pytest.mark.timeout(240)]

SEA = "Tell me about the sea, its tides, its colours and its storms. " * 6
_TOLD = re.compile(r"(?:resumes at ([\d,]+) of|reads all) ([\d,]+)")
_DONE = re.compile(r"(?:reused ([\d,]+) of|read) ([\d,]+) tokens")


@asynccontextmanager
async def app_in(root: Path, model: Path) -> AsyncIterator[Desk]:
    """Run the app on session "sea" in folders below ``root``; a second time is another worker."""
    settings = load_settings(
        flags={"temperature": 0.0, "threads": 1, "max_tokens": 8, "titles": False, "ctx": 2048},
        assignments=[],
        env={},
        session={},
        user_file=None,
    )
    paths = Paths.resolve(
        env={"SKIPPY_CONFIG_DIR": str(root / "config"), "HOME": str(root)},
        data_dir=root / "data",
        cache_dir=root / "cache",
    )

    def open_it(progress: OnProgress) -> Conversation:
        return process_host().open_conversation(
            paths=paths,
            settings=replace(settings, model=str(model)),
            session="sea",
            continue_newest=False,
            new=False,
            folder=root,
            on_progress=progress,
            can_ask=True,
        )

    # The scripted conversation's protocol is the real one's.
    opener = cast("Callable[[OnProgress], FakeConversation]", open_it)
    async with app_on(opener, start=Choice(None, "sea"), size=(100, 30)) as desk:
        yield desk


def counts(found: re.Match[str] | None) -> tuple[int, int]:
    """Return how many tokens are reused, and how many there are."""
    assert found is not None
    reused, prompt = (int((each or "0").replace(",", "")) for each in found.groups())
    return reused, prompt


async def sent(desk: Desk) -> tuple[int, int]:
    """Wait for what is foretold of the text in the box, send it, and see that it comes so."""
    await desk.wait_until(lambda: _TOLD.search(edge(desk)) and "changed" not in edge(desk))
    told = counts(_TOLD.search(edge(desk)))
    began: list[bool] = []
    desk.app._turns.began.append(lambda: began.append(True))  # whoever looks may come when it is over again
    await desk.pilot.press("enter")
    await desk.wait_until(lambda: began)
    assert edge(desk) == ""
    await desk.ready()
    assert counts(_DONE.search(desk.status)) == told
    return told


async def test_what_was_foretold_is_what_the_turn_reports(tmp_path: Path, default_model: Path) -> None:
    async with app_in(tmp_path, default_model) as desk:
        desk.composer.put(SEA)
        reused, first = await sent(desk)
        assert reused == 0
        desk.composer.put("And the shore?")
        reused, second = await sent(desk)
        assert first < reused < second
        # The last message edited, and the one before it.
        await desk.pilot.press("up")
        await desk.wait_until(lambda: edge(desk).startswith("changed from its start: resumes at "))
        await desk.type("!")
        reused, _ = await sent(desk)
        assert first < reused < second
        await desk.pilot.press("ctrl+t")
        await desk.wait_until(
            lambda: (
                isinstance(desk.app.screen, CacheScreen)
                and desk.app.screen.query_one(CheckpointTreeView).row is not None
            )
        )
        await desk.pilot.press("m", "home", "e")
        await desk.wait_until(lambda: desk.composer.text == SEA)
        await desk.pilot.press("x")
        reused, _ = await sent(desk)
        assert reused < first

    async with app_in(tmp_path, default_model) as desk:
        desk.composer.put("Go on.")
        reused, prompt = await sent(desk)
        assert first < reused < prompt
        assert "(from disk)" in desk.status
