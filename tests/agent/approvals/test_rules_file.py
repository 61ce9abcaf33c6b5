"""The rules file: comments stay, mistakes are told, a project cannot loosen."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from skippy_chat.agent.approvals.rules_file import add_rules, load_rules
from skippy_chat.agent.approvals.values import Rule
from skippy_chat.errors import ConfigError

TEXT = """# my rules
[[rule]]
tool = "run_command"   # the shell
pattern = "git log *"
action = "allow"

# no deleting
[[rule]]
tool = "*"
pattern = "rm *"
action = "deny"
"""


def test_rules_are_read(tmp_path: Path) -> None:
    path = tmp_path / "approvals.toml"
    assert load_rules(path, "user") == []
    path.write_text(TEXT)
    assert load_rules(path, "user") == [
        Rule("run_command", "git log *", "allow", "user"),
        Rule("*", "rm *", "deny", "user"),
    ]


def test_adding_keeps_everything_else(tmp_path: Path) -> None:
    path = tmp_path / "config" / "approvals.toml"
    path.parent.mkdir()
    path.write_text(TEXT)
    add_rules(
        path, [Rule("run_command", "echo 'a \"b\" \\ é'", "allow"), Rule("run_command", "git log *", "allow")]
    )
    text = path.read_text()
    assert text.startswith(TEXT)
    assert load_rules(path, "user")[2:] == [Rule("run_command", "echo 'a \"b\" \\ é'", "allow", "user")]
    assert path.stat().st_mode & 0o077 == 0
    add_rules(path, [Rule("run_command", "git log *", "allow")])
    assert path.read_text() == text


def test_a_new_file_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "approvals.toml"
    add_rules(path, [Rule("read_file", "**", "allow")])
    assert load_rules(path, "user") == [Rule("read_file", "**", "allow", "user")]
    assert path.stat().st_mode & 0o077 == 0
    assert {each.name for each in path.parent.iterdir()} <= {"approvals.toml", "approvals.toml.lock"}


def test_rules_written_as_one_line_stay(tmp_path: Path) -> None:
    path = tmp_path / "approvals.toml"
    path.write_text('rule = [{tool = "a", action = "ask"}]\n')
    add_rules(path, [Rule("b", "", "allow")])
    assert [each.tool for each in load_rules(path, "user")] == ["a", "b"]


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "approvals.toml"
    writers = [
        threading.Thread(target=add_rules, args=(path, [Rule("t", str(number), "allow")]))
        for number in range(8)
    ]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert sorted(each.pattern for each in load_rules(path, "user")) == [str(number) for number in range(8)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rule = [\n", "not valid TOML"),
        ("rules = []\n", "unknown key rules"),
        ("rule = 1\n", "not a list"),
        ("rule = [1]\n", "rule 1: not a table"),
        ('[[rule]]\naction = "allow"\n', "rule 1: no tool"),
        ('[[rule]]\ntool = "a"\naction = "alow"\n', "action is 'alow'"),
        ('[[rule]]\ntool = "a"\n', "action is None"),
        ('[[rule]]\ntool = "a"\npattern = 1\naction = "ask"\n', "pattern is not a text"),
        ('[[rule]]\ntool = "a"\naction = "ask"\nscope = 1\n', "unknown key scope"),
        ("\xff", "cannot be read"),
    ],
)
def test_mistakes_are_told_and_nothing_is_allowed(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "approvals.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=told):
        load_rules(path, "user")
    with pytest.raises(ConfigError):
        add_rules(path, [Rule("b", "", "allow")])
    assert path.read_bytes() == text.encode("latin-1")


def test_a_project_may_only_tighten(tmp_path: Path) -> None:
    path = tmp_path / "approvals.toml"
    path.write_text('[[rule]]\ntool = "a"\naction = "deny"\n')
    assert load_rules(path, "project") == [Rule("a", "", "deny", "project")]
    path.write_text(TEXT)
    with pytest.raises(ConfigError, match="may not allow"):
        load_rules(path, "project")
