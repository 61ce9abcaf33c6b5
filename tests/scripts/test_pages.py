"""What the Markdown pages link to is there, and the commands they show are commands of the program."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from skippy_chat.cli.root import skippy_chat

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    each.relative_to(ROOT).as_posix()
    for each in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"), ROOT / "examples/README.md")
)
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_COMMAND = re.compile(r"(?:^    |`|\| )(?:\S*/)?skippy-chat ([^`|\n][^`\n]*)", re.MULTILINE)
_REST = re.compile(r"\s(?:#|\||>|<|&&|…|\.\.\.).*|\s{2,}.*")


@pytest.mark.parametrize("name", PAGES)
def test_its_links_lead_somewhere(name: str) -> None:
    text = _FENCED.sub("", (ROOT / name).read_text("utf-8"))
    for target in _LINK.findall(text):
        path, _, anchor = target.partition("#")
        if path.startswith(("http:", "https:")):
            continue
        file = (ROOT / name).parent / path if path else ROOT / name
        assert file.exists(), target
        assert not anchor or anchor in set(anchors(file)), target


@pytest.mark.parametrize("name", PAGES)
def test_its_commands_are_known(name: str) -> None:
    for line in commands(ROOT / name):
        check(line)


def test_every_picture_is_on_a_page() -> None:
    shown = {
        (ROOT / name).parent.joinpath(target).resolve()
        for name in PAGES
        for target in _LINK.findall((ROOT / name).read_text("utf-8"))
        if target.endswith(".svg") and "://" not in target
    }
    kept = {*ROOT.glob("docs/screenshots/*.svg"), *ROOT.glob("docs/journeys/pictures/*.svg")}
    assert {each.resolve() for each in kept} <= shown


def test_an_unknown_command_or_option_is_found() -> None:
    check("sessions list --all")
    with pytest.raises(AssertionError, match="frobnicate"):
        check("sessions frobnicate")
    with pytest.raises(AssertionError, match="--colour"):
        check("run --colour red hello")


def commands(page: Path) -> Iterator[str]:
    for found in _COMMAND.findall(page.read_text("utf-8")):
        yield _REST.sub("", found.strip()).replace("[", "").replace("]", "")


def check(line: str) -> None:
    """Follow the words to a command; see that it has each of the options."""
    words = shlex.split(line)
    command: click.Command = skippy_chat
    options = known(command)
    while words and isinstance(command, click.Group):
        if words[0].startswith("-"):
            option = words.pop(0).partition("=")[0]
            assert option in options, f"{line}: {option}"
            if options[option] and words:
                words.pop(0)
            continue
        name = words.pop(0)
        if name.isupper():
            return  # a stand-in
        below = None
        for each in name.split("|"):
            below = command.get_command(click.Context(command, **skippy_chat.context_settings), each)
            assert below is not None, f"{line}: {name}"
        assert below is not None
        command = below
        options.update(known(command))
    for word in words:
        if word == "--":
            break
        if re.match(r"--?[a-z]", word):
            assert word.partition("=")[0] in options, f"{line}: {word}"


def known(command: click.Command) -> dict[str, bool]:
    """Return the command's options, and whether each takes a value."""
    with click.Context(command, **skippy_chat.context_settings) as context:  # it is remembered by click
        return {
            name: isinstance(param, click.Option) and not param.is_flag and not param.count
            for param in command.get_params(context)
            for name in (*param.opts, *param.secondary_opts)
        }


def anchors(page: Path) -> Iterator[str]:
    """Return what the page's headings are called in links."""
    for heading in re.findall(r"^#+ (.+)$", _FENCED.sub("", page.read_text("utf-8")), re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
