"""``skippy-chat tools``: what is offered here, and whether a file of one's own is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.host import Desk, Terminal

GOOD = '''
from skippy_chat.agent.tools.function import tool


@tool(read_only=True)
def celsius(fahrenheit: float) -> float:
    """Convert\x1b[2J a temperature to degrees Celsius."""
    return (fahrenheit - 32) / 1.8


@tool
def silent(text: str) -> str:
    return text
'''


@pytest.fixture
def tools_file(desk: Desk) -> Path:
    path = desk.root / "mine.py"
    path.write_text(GOOD)
    return path


def listed(desk: Desk, *arguments: str) -> dict[str, dict[str, object]]:
    assert desk.run("tools", "list", "--json", *arguments) == 0
    return {each["name"]: each for each in desk.json["tools"]}


def test_every_tool_is_listed_with_what_becomes_of_its_calls(desk: Desk) -> None:
    found = listed(desk)
    assert {
        each: found[each]["calls"] for each in ("calculator", "read_file", "write_file", "fetch_url")
    } == {
        "calculator": "allow",
        "read_file": "ask",
        "write_file": "ask",
        "fetch_url": "ask",
    }
    assert not any(each["offered"] for each in found.values())
    assert found["read_file"]["read_only"] is True
    assert found["run_command"]["read_only"] is False
    found = listed(desk, "--approve", "auto-read", "--tools", "read_file")
    assert [name for name, each in found.items() if each["offered"]] == ["read_file"]
    assert (found["read_file"]["calls"], found["write_file"]["calls"]) == ("allow", "ask")
    assert listed(desk, "--approve", "deny")["write_file"]["calls"] == "deny"


def test_the_default_ones_do_not_reach_the_network(desk: Desk) -> None:
    offered = {name for name, each in listed(desk, "--tools", "default").items() if each["offered"]}
    everything = {name for name, each in listed(desk, "--tools", "all").items() if each["offered"]}
    assert everything - offered == {"fetch_url"}


def test_functions_of_the_persons_own_are_listed(desk: Desk, tools_file: Path) -> None:
    found = listed(desk, "--tool-file", "mine.py")
    assert [name for name, each in found.items() if each["offered"]] == ["celsius", "silent"]
    assert (found["celsius"]["built_in"], found["read_file"]["built_in"]) == (False, True)
    assert not listed(desk, "--tool-file", "mine.py", "--tools", "none")["celsius"]["offered"]


def test_as_a_table(desk: Desk) -> None:
    assert desk.run("tools", "list", "--tools", "read_file", "--approve", "auto-read") == 0
    rows = {line.split()[0]: line for line in desk.out.splitlines()[1:]}
    assert rows["read_file"].split()[1:6] == ["yes", "yes", "run", "at", "once"]
    assert "ask first" in rows["write_file"]


def test_a_person_is_told_how_to_offer_some(desk: Desk) -> None:
    desk.stderr = Terminal()
    desk.run("tools", "list")
    assert "--tools default" in desk.err


def test_a_wrong_name_is_told_with_the_closest(desk: Desk, tools_file: Path) -> None:
    assert desk.run("tools", "list", "--tools", "read_fiel") == 2
    assert desk.err == "skippy-chat: --tools: there is no tool read_fiel. Did you mean read_file?\n"
    assert desk.run("tools", "list", "--tools", "celsus", "--tool-file", "mine.py") == 2
    assert "Did you mean celsius?" in desk.err


def test_check_shows_what_a_model_reads(desk: Desk, tools_file: Path) -> None:
    assert desk.run("tools", "check", "mine.py") == 0
    assert "celsius (only reads): Convert a temperature to degrees Celsius." in desk.out
    assert '"fahrenheit"' in desk.out
    assert desk.out.endswith("2 tools: usable.\n")
    assert "silent has no docstring" in desk.err
    assert "\x1b" not in desk.out
    assert desk.run("tools", "check", "mine.py", "--json") == 0
    assert [each["name"] for each in desk.json["tools"]] == ["celsius", "silent"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("x = 1\n", "makes no tools"),
        ("def f(:\n", "line 1"),
        ("\n\n1 / 0\n", "line 3: ZeroDivisionError"),
        (GOOD.replace("fahrenheit: float", "fahrenheit"), "fahrenheit"),
    ],
)
def test_check_names_the_fault(desk: Desk, content: str, told: str) -> None:
    (desk.root / "mine.py").write_text(content)
    assert desk.run("tools", "check", "mine.py") == 2
    assert told in desk.err
    assert desk.err.count("\n") == 1


def test_check_of_a_missing_file(desk: Desk) -> None:
    assert desk.run("tools", "check", "none.py") == 2
    assert "cannot be read" in desk.err
