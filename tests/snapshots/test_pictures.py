"""The app looks as it did; what changed on purpose is seen in the diff of its pictures."""

from __future__ import annotations

import asyncio
import difflib

import pytest
import textual

from tests.snapshots.scene import PICTURES
from tests.snapshots.scenes import SCENES

pytestmark = pytest.mark.timeout(180)

RENEW = "If that is meant: .venv/bin/python -m tests.snapshots"
LARGEST = 20_000  # bytes


@pytest.mark.parametrize("name", SCENES)
def test_the_app_looks_as_in_the_picture(name: str) -> None:
    kept = SCENES[name].file.read_text("utf-8")
    taken = asyncio.run(SCENES[name].taken())
    diff = "\n".join(
        difflib.unified_diff(kept.splitlines(), taken.splitlines(), "kept", "now", n=1, lineterm="")
    )
    assert not diff, f"{name}, with Textual {textual.__version__}:\n{diff}\n{RENEW} {name}"


def test_every_picture_has_a_scene_and_is_small() -> None:
    files = list(PICTURES.glob("*"))
    assert {each.name for each in files} == {each.file.name for each in SCENES.values()}
    assert all(each.stat().st_size <= LARGEST for each in files)
