"""The terminal that journeys go through, and the pictures that are drawn of it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pyte
import pytest

from scripts.journeys.drawing import drawn
from scripts.journeys.place import answered
from scripts.journeys.terminal import Terminal

pytestmark = pytest.mark.timeout(60)


def screen_of(text: str) -> pyte.Screen:
    screen = pyte.Screen(30, 2)
    pyte.Stream(screen).feed(text)
    return screen


def test_a_program_is_typed_to_and_read(tmp_path: Path) -> None:
    script = "stty -echo; printf 'name? '; read name; printf 'hello %s' $name; read wait"
    terminal = Terminal(
        ["/bin/sh", "-c", script], env=dict(os.environ), home=str(tmp_path), folder=tmp_path, size=(40, 5)
    )
    terminal.until("name?")
    terminal.say("ship")
    terminal.until("hello ship")
    terminal.end()
    assert terminal.process.returncode is not None


def test_a_picture_has_the_text_its_colours_and_no_path_of_the_machine() -> None:
    picture = drawn(screen_of("\x1b[1;38;2;255;0;0m<b>\x1b[0m in /tmp/x7/voyage"), "a <title>", "/tmp/x7")
    root = ET.fromstring(picture)
    texts = {each.text: each for each in root.iter("{http://www.w3.org/2000/svg}text")}
    # Browsers keep these spaces, several of them too.
    assert set(texts) == {"<b>", "in\N{NO-BREAK SPACE}~/voyage"}
    assert texts["<b>"].get("fill") == "#ff0000"
    assert texts["<b>"].get("font-weight") == "bold"
    assert re.search("<title>a &lt;title&gt;</title>", picture)


def test_a_question_counts_when_it_is_in_the_transcript_and_its_turn_is_over() -> None:
    over = answered("Name a sea.", otherwise="full")
    assert over("   » Name a sea.\n ready")
    assert not over(" » Name a sea.\n ready")  # still in the box
    assert not over("   » Name a sea.\n writing, You can type already")
    assert over("The context is full")
