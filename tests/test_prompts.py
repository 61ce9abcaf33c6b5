"""Slash prompts from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from skippy_chat.personas import NamedFolder
from skippy_chat.prompts import Prompt, expand, find_prompts


@pytest.mark.parametrize(
    ("text", "typed", "expected"),
    [
        ("Explain $ARGUMENTS.", " a b ", "Explain a b."),
        ("$1, then $2; $3!", "a b", "a, then b; !"),
        ("$$1 and $$ARGUMENTS", "a", "$1 and $ARGUMENTS\n\na"),
        ("$10 $ARGUMENTSX", "a", "$10 $ARGUMENTSX\n\na"),
        ("Say $ARGUMENTS", "$1 $ARGUMENTS $$", "Say $1 $ARGUMENTS $$"),
        ("No place.", "a b", "No place.\n\na b"),
        ("No place.", "", "No place."),
        ("One: $1", "", "One: "),
        (r"\g<0> $ARGUMENTS", r"\1", r"\g<0> \1"),
    ],
)
def test_arguments_are_put_in_once(text: str, typed: str, expected: str) -> None:
    assert expand(Prompt("p", Path("p.md"), "", text), typed) == expected


def test_every_usable_file_is_found_and_the_others_are_told(tmp_path: Path) -> None:
    mine, theirs = tmp_path / "prompts", tmp_path / "theirs"
    mine.mkdir()
    theirs.mkdir()
    (mine / "explain.md").write_text('+++\ndescription = "A word"\n+++\nExplain $1.\n')
    (mine / "bad.md").write_text("+++\nmodel = 'x'\n+++\nx")
    (mine / "empty.md").write_text("\n")
    (mine / "no name.md").write_text("x")
    (mine / "notes.txt").write_text("x")
    (theirs / "explain.md").write_text("Theirs.")
    (theirs / "fix.md").write_text("Fix it.")
    found, wrong = find_prompts(
        [NamedFolder(mine), NamedFolder(theirs, of_project=True), NamedFolder(tmp_path / "no")]
    )
    assert {name: each.text for name, each in found.items()} == {"explain": "Explain $1.", "fix": "Fix it."}
    assert (found["explain"].description, found["explain"].of_project, found["fix"].of_project) == (
        "A word",
        False,
        True,
    )
    assert [error.message for error in wrong] == [
        f"{mine}/bad.md, line 2, key model: unknown key.", f"{mine}/empty.md has no text."
    ]  # fmt: skip
