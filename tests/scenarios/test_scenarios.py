"""Every scenario on every face."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repl.screen import Screen
from tests.scenarios.drivers import HeadlessDriver, ReplDriver
from tests.scenarios.scenario import FOLDER, Shown, Step, load, play

pytestmark = pytest.mark.timeout(180)
SCENARIOS = sorted(path.stem for path in FOLDER.glob("*.json"))


@pytest.mark.parametrize("name", SCENARIOS)
def test_headless(name: str) -> None:
    scenario = load(name)
    play(scenario, HeadlessDriver(scenario.conversation()))


@pytest.mark.parametrize("name", SCENARIOS)
def test_repl(name: str, tmp_path: Path) -> None:
    folders = {f"SKIPPY_{each}_DIR": str(tmp_path / each.lower()) for each in ("DATA", "CACHE", "CONFIG")}
    with Screen(name, "repl", env=folders, program="tests.scenarios.program") as screen:
        play(load(name), ReplDriver(screen))


def test_a_face_that_shows_something_else_is_caught() -> None:
    scenario = load("everyday")

    class Silent(HeadlessDriver):
        def carry_out(self, step: Step) -> Shown:
            shown = super().carry_out(step)
            return Shown(shown.text.replace("Madrid", ""), shown.ended)

    with pytest.raises(AssertionError, match=r"'Madrid\.' is missing; step 3 \(edit\)"):
        play(scenario, Silent(scenario.conversation()))
