"""Every scenario on the app: the same files that drive the REPL and headless."""

from __future__ import annotations

import asyncio

import pytest

from tests.scenarios.scenario import FOLDER, load, play
from tests.tui.driver import AppDriver
from tests.tui.screen import app_on

pytestmark = pytest.mark.timeout(180)
SCENARIOS = sorted(path.stem for path in FOLDER.glob("*.json"))


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
@pytest.mark.parametrize("name", SCENARIOS)
async def test_app(name: str, size: tuple[int, int]) -> None:
    scenario = load(name)
    conversation = scenario.conversation()
    async with app_on(conversation, size=size) as desk:
        driver = AppDriver(desk, conversation, asyncio.get_running_loop())
        await asyncio.to_thread(play, scenario, driver)
