"""Manual pages and examples: every command has both, and both are true."""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
import subprocess

import click
import pytest

from skippy_chat.cli.examples import EXAMPLES
from tests.cli.commands import PATHS
from tests.fakes.host import Desk


@pytest.mark.parametrize("path", PATHS)
def test_every_command_has_a_page_that_roff_takes(desk: Desk, path: str) -> None:
    assert desk.run("man", *path.split()) == 0
    page = desk.out
    name = " ".join(["skippy-chat", path]).strip().replace(" ", "-").replace("-", "\\-")
    assert f'.TH "{name.upper()}" "1"' in page
    for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS"):
        assert f".SH {heading}\n" in page
    options = [each for each in PATHS[path].params if isinstance(each, click.Option) and not each.hidden]
    for option in options:
        assert option.opts[-1].replace("-", "\\-") in page
    if shutil.which("groff"):
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-z"], input=page, capture_output=True, text=True, check=True, timeout=30
        )  # fmt: skip
        assert done.stderr == ""


def test_an_unknown_page_names_the_closest(desk: Desk) -> None:
    assert desk.run("man", "sesions") == 2
    assert "Did you mean sessions?" in desk.err
    assert desk.run("man", "sessions", "lst") == 2
    assert "Did you mean list?" in desk.err
    assert desk.run("man", "run", "list") == 2


def test_every_command_has_examples_and_help_shows_them(desk: Desk) -> None:
    assert set(EXAMPLES) == set(PATHS)
    for path, examples in EXAMPLES.items():
        desk.run(*path.split(), "--help")
        assert all(line in desk.out for line, _ in examples), path


@pytest.mark.parametrize(
    ("path", "line"), [(path, line) for path, lines in EXAMPLES.items() for line, _ in lines]
)
def test_the_command_line_takes_every_example(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, path: str, line: str
) -> None:
    taken: list[str] = []
    # All is read and checked as ever; only nothing is carried out.
    monkeypatch.setattr(click.Command, "invoke", lambda _, context: taken.append(context.command_path))
    typed = re.sub(r"^.*?(?=skippy-chat )", "", line).partition(")")[0]
    words = [*itertools.takewhile(lambda word: word not in "|>", shlex.split(typed))]
    assert desk.run(*words[1:]) == 0, desk.err
    assert taken[-1].startswith(" ".join(["skippy-chat", *path.split()]))
