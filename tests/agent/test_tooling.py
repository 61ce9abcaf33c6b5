"""From settings to a toolbox: which tools, whose rules, what is refused beforehand, what is cleared away."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from skippy_chat.agent import tooling
from skippy_chat.agent.approvals.values import Allow, Ask, Deny
from skippy_chat.agent.tooling import (
    ToolPlan,
    all_tools,
    chosen_tools,
    plan_tools,
    policy_for,
    prune_output,
)
from skippy_chat.agent.tools.function import tool
from skippy_chat.agent.tools.protocol import Call
from skippy_chat.config import load_settings
from skippy_chat.errors import ConfigError
from skippy_chat.paths import Paths

NOW = datetime(2026, 3, 14, 15, 9, tzinfo=timezone.utc)
MINE = '''
from skippy_chat.agent.tools.function import tool


@tool(read_only=True)
def double(number: int) -> int:
    """Double a number."""
    return 2 * number
'''


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "data", tmp_path / "cache", tmp_path / "config")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text("hello\n")
    return folder


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return str(path)


def planned(
    paths: Paths,
    workspace: Path,
    *,
    environment: Mapping[str, str] | None = None,
    project_file: Path | None = None,
    **flags: Any,
) -> ToolPlan | None:
    settings = load_settings(flags=flags, project_file=project_file)
    env = {"PATH": os.environ["PATH"]} if environment is None else environment
    return plan_tools(settings, paths, workspace, can_ask=False, environment=env, now=lambda: NOW)


def names(**flags: Any) -> list[str]:
    return sorted(each.name for each in chosen_tools(load_settings(flags=flags)))


def test_what_the_words_mean(mine: str) -> None:
    assert names() == []
    assert names(tools="none") == []
    assert names(tools="read_file,calculator,read_file") == ["calculator", "read_file"]
    default, everything = names(tools="default"), names(tools="all")
    assert set(everything) - set(default) == {"fetch_url"}
    assert names(tools="default,fetch_url") == everything
    assert names(tool_files=[mine]) == ["double"]
    assert names(tools="read_file", tool_files=[mine]) == ["double", "read_file"]
    assert names(tools="double", tool_files=[mine]) == ["double"]
    assert names(tools="none", tool_files=[mine]) == []
    assert [each.name for each in all_tools(load_settings(flags={"tool_files": [mine]}))] == sorted(
        [*everything, "double"]
    )


def test_no_tools_no_toolbox_and_nothing_is_made(paths: Paths, workspace: Path) -> None:
    assert planned(paths, workspace) is None
    assert planned(paths, workspace, tools="default") is not None
    assert not any(each.exists() for each in (paths.data_dir, paths.cache_dir, paths.config_dir))


def test_arithmetic_does_not_care_where_it_is_done(paths: Paths, workspace: Path) -> None:
    for words, expected in (
        ("calculator,current_time", False),
        ("calculator,read_file", True),
        ("run_command", True),
    ):
        plan = planned(paths, workspace, tools=words)
        assert plan is not None
        assert plan.reaches_files is expected


def test_a_toolbox_is_what_the_settings_say(paths: Paths, workspace: Path) -> None:
    plan = planned(
        paths, workspace, tools="read_file", max_steps=3, max_turn_tokens=70, parallel_tools=True,
        tool_choice="required", pass_variables=["GH_TOKEN"], approve="deny",
    )  # fmt: skip
    assert plan is not None
    box = plan.toolbox("S1")
    assert [each.name for each in box.registry] == ["read_file"]
    assert (box.limits.steps, box.limits.tokens, box.parallel, box.tool_choice) == (3, 70, True, "required")
    assert (box.policy.mode, box.can_ask) == ("deny", False)
    assert box.context.pass_variables == {"GH_TOKEN"}
    assert box.context.workspace == workspace.resolve()
    assert box.journal is not None
    assert box.journal.folder == paths.undo_dir
    assert box.context.now() == NOW


def test_output_that_was_spilled_can_be_read_again_but_not_another_sessions(
    paths: Paths, workspace: Path
) -> None:
    plan = planned(paths, workspace, tools="read_file,run_command")
    assert plan is not None
    box = plan.toolbox("S1")
    result = box.registry.run("run_command", '{"command": "seq 20000"}', box.context)
    assert result.spilled is not None
    assert result.spilled.parent == paths.tool_output_dir / "S1"
    again = f'{{"path": "{result.spilled}"}}'
    assert box.registry.run("read_file", again, box.context).status == "ok"
    other = plan.toolbox("S2")
    assert "outside the workspace" in other.registry.run("read_file", again, other.context).text


def test_functions_given_by_a_program_are_offered_beside_the_settings(paths: Paths, workspace: Path) -> None:
    @tool
    def hello() -> str:
        """Say hello."""
        return "hello"

    for words, expected in (("calculator", ["calculator", "hello"]), ("none", ["hello"])):
        plan = plan_tools(
            load_settings(flags={"tools": words}), paths, workspace, functions=(hello,), can_ask=True,
            environment={}, now=lambda: NOW,
        )  # fmt: skip
        assert plan is not None
        box = plan.toolbox("S")
        assert ([each.name for each in box.registry], box.can_ask) == (expected, True)


@pytest.mark.parametrize(
    ("flags", "told", "hint"),
    [
        ({"tools": "read_fiel"}, "--tools: there is no tool read_fiel", "read_file"),
        ({"tools": "zzzzzz"}, "--tools: there is no tool zzzzzz", "calculator"),
        ({"tools": "defualt"}, "no tool defualt", "default"),
        ({"tool_files": ["/no/such.py"]}, "cannot be read", "tool-file"),
        ({"tool_choice": "required"}, "a call is required", "--tools"),
    ],
)
def test_mistakes_are_told_with_their_place(
    paths: Paths, workspace: Path, flags: dict[str, Any], told: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        planned(paths, workspace, **flags)
    assert told in raised.value.message
    assert hint in raised.value.hint


def test_a_session_whose_tool_file_is_not_given_again_says_so() -> None:
    with pytest.raises(ConfigError, match="no tool double") as raised:
        chosen_tools(load_settings(flags={}, session={"tools": ["double"]}))
    assert "give --tool-file again" in raised.value.hint


def test_two_tools_of_one_name_are_refused(paths: Paths, workspace: Path, mine: str) -> None:
    Path(mine).write_text(MINE.replace("double", "read_file"))
    with pytest.raises(ConfigError, match="two tools named read_file"):
        planned(paths, workspace, tools="read_file", tool_files=[mine])


def test_a_sandbox_that_is_not_there_is_refused_where_commands_would_run(
    paths: Paths, workspace: Path
) -> None:
    nothing = {"PATH": str(workspace)}
    with pytest.raises(ConfigError, match="bubblewrap") as raised:
        planned(paths, workspace, environment=nothing, tools="run_command", sandbox=True)
    assert raised.value.message.startswith("--sandbox: ")
    assert planned(paths, workspace, environment=nothing, tools="read_file", sandbox=True) is not None
    program = workspace / "bwrap"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    plan = planned(paths, workspace, environment=nothing, tools="run_command", sandbox=True)
    assert plan is not None
    box = plan.toolbox("S")
    assert (box.context.sandbox, box.context.bubblewrap) == (True, program)


def test_rules_of_the_person_and_of_a_trusted_project_count(paths: Paths, workspace: Path) -> None:
    paths.config_dir.mkdir()
    paths.approvals_file.write_text('[[rule]]\ntool = "write_file"\npattern = "*.txt"\naction = "allow"\n')
    project = workspace / ".skippy-chat.toml"
    project.write_text('top_k = 3\n[[rule]]\ntool = "*"\npattern = "secret.txt"\naction = "deny"\n')
    plan = planned(paths, workspace, project_file=project, tools="default", approve="ask")
    assert plan is not None
    box = plan.toolbox("S")

    def judged(path: str) -> object:
        call = box.registry.resolve("write_file", f'{{"path": "{path}", "content": "x"}}')
        assert isinstance(call, Call)
        return box.policy.judge(call, box.context)

    assert isinstance(judged("b.txt"), Allow)
    assert isinstance(judged("secret.txt"), Deny)
    assert isinstance(judged("b.md"), Ask)
    # A rule for all files does not reach the file that holds the rules.
    paths.approvals_file.write_text('[[rule]]\ntool = "write_file"\npattern = "**"\naction = "allow"\n')
    plan = planned(paths, workspace, project_file=project, tools="default", approve="ask")
    assert plan is not None
    box = plan.toolbox("S")
    assert isinstance(judged("b.md"), Allow)
    assert isinstance(judged(".skippy-chat.toml"), Ask)


@pytest.mark.parametrize(
    "content", ["[[rule]]\ntool = 3", "rule = 3", "[[rule]]\ntool = 'x'\naction = 'maybe'"]
)
def test_rules_that_cannot_be_read_stop_the_session(paths: Paths, workspace: Path, content: str) -> None:
    paths.config_dir.mkdir()
    paths.approvals_file.write_text(content)
    with pytest.raises(ConfigError, match=r"approvals\.toml"):
        planned(paths, workspace, tools="default")


def test_a_rule_for_a_tool_of_nearly_that_name_is_found(paths: Paths, workspace: Path, mine: str) -> None:
    paths.config_dir.mkdir(parents=True)
    tools = ("run_comand", "double", "dubble", "fetch_url", "weather", "*")
    paths.approvals_file.write_text(
        "".join(f'[[rule]]\ntool = "{name}"\npattern = ""\naction = "deny"\n' for name in tools)
    )
    plan = planned(paths, workspace, tools=["read_file"], tool_files=[mine])
    assert plan is not None
    # "weather" may be a function of another day.
    assert plan.misspelt_rules == {"dubble": "double", "run_comand": "run_command"}


def test_a_project_allows_nothing(paths: Paths, workspace: Path) -> None:
    project = workspace / ".skippy-chat.toml"
    project.write_text('[[rule]]\ntool = "*"\naction = "allow"\n')
    with pytest.raises(ConfigError, match="may not allow"):
        policy_for(load_settings(flags={}, project_file=project), paths)


def test_what_older_sessions_left_is_bounded(
    paths: Paths, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = paths.undo_dir / "01A", paths.undo_dir / "01B"
    spilled = paths.tool_output_dir / "S0"
    for folder in (old, new, spilled):
        folder.mkdir(parents=True)
        (folder / "000000.before").write_bytes(b"x" * 100)
    monkeypatch.setattr(tooling, "MOST_UNDO_BYTES", 150)
    monkeypatch.setattr(tooling, "MOST_OUTPUT_BYTES", 50)
    plan = planned(paths, workspace, tools="calculator")
    assert plan is not None
    assert old.exists(), "planning removes nothing"
    plan.toolbox("S1")
    assert (old.exists(), new.exists(), spilled.exists()) == (False, True, False)


def test_the_oldest_output_goes_first(tmp_path: Path) -> None:
    folder = tmp_path / "tool-output"
    for number, name in enumerate(("S1/a.txt", "S1/b.txt", "S2/c.txt")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 100)
        os.utime(path, (number, number))
    assert prune_output(folder, 300) == 0
    assert prune_output(folder, 199) == 2
    assert [str(each.relative_to(folder)) for each in folder.rglob("*")] == ["S2", "S2/c.txt"]
    assert prune_output(tmp_path / "none", 0) == 0


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize("name", ["", "config.toml", "approvals.toml"])
def test_settings_and_rules_that_others_can_write_open_nothing(
    paths: Paths, workspace: Path, mine: str, name: str
) -> None:
    paths.config_dir.mkdir(mode=0o700)
    for each in (paths.user_config, paths.approvals_file):
        each.write_text("")
    loose = paths.config_dir / name
    plan = functools.partial(
        plan_tools,
        load_settings(flags={"tool_files": mine}),
        paths,
        workspace,
        can_ask=False,
        environment={},
        now=lambda: NOW,
    )
    before = loose.stat().st_mode
    loose.chmod(before | 0o002)
    with pytest.raises(ConfigError, match=f"Others can write to {loose} ") as told:
        plan()
    assert told.value.hint.endswith(f"chmod o-w '{loose}'")
    loose.chmod(before)
    assert plan() is not None
