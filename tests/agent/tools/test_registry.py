"""The registry never raises, whatever a model writes; and what models read of tools is the same bytes."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skippy_chat.agent.tools.built_in import DEFAULT_NAMES, NAMES, built_in_tools
from skippy_chat.agent.tools.protocol import Arguments, Call, Limits, Needs, ToolContext, ToolResult
from skippy_chat.agent.tools.registry import Registry
from skippy_chat.errors import ConfigError, UsageError

SCHEMAS = Path(__file__).parents[3] / "skippy_chat/agent/tools/schemas.json"


class Echo:
    """A tool that returns, or raises, what it was made with."""

    name = "echo"
    description = "Echo."
    parameters: Mapping[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
    read_only = True
    needs = Needs()

    def __init__(self, answer: str | Exception) -> None:
        self.answer = answer
        self.calls: list[Arguments] = []

    def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        self.calls.append(arguments)
        if isinstance(self.answer, Exception):
            raise self.answer
        return ToolResult("ok", self.answer)


def test_the_built_in_tools_are_the_frozen_ones() -> None:
    frozen = json.loads(SCHEMAS.read_text())
    assert Registry(built_in_tools(NAMES)).schemas() == frozen
    assert set(NAMES) - set(DEFAULT_NAMES) == {"fetch_url"}
    with pytest.raises(UsageError, match="no built-in tool"):
        built_in_tools(["rm"])


def test_order_does_not_matter() -> None:
    one = Registry(built_in_tools(["write_file", "calculator"]))
    other = Registry(built_in_tools(["calculator", "write_file"]))
    assert one.schemas_json() == other.schemas_json()


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="two tools named echo"):
        Registry([Echo(""), Echo("")])


def test_an_unknown_name_is_a_result(registry: Registry, context: ToolContext) -> None:
    result = registry.run("read_fil", "{}", context)
    assert result.status == "error"
    assert "Did you mean read_file?" in result.text
    assert registry.run("\ud800\0" * 500, "{}", context).status == "error"


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[]", "not a JSON object"),
        ("null", "not a JSON object"),
        ('{"n": 1} {"n": 2}', "not valid JSON"),
        ('{"n": 1, "n": 2}', "twice"),
        ('{"n": NaN}', "NaN"),
        ('{"n": Infinity}', "Infinity"),
        ('{"n": "1"}', "is not of type 'integer'"),
        ('{"n": 1.0}', "is not of type 'integer'"),
        ('{"n": true}', "is not of type 'integer'"),
        ('{"n": ' + "9" * 5000 + "}", "not valid JSON"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_arguments_that_do_not_fit_run_nothing(context: ToolContext, raw: str, complaint: str) -> None:
    """hermes#1796: a parse error was taken for {} and the tool ran; crush#1177: invalid JSON was passed on."""
    tool = Echo("ran")
    result = Registry([tool]).run("echo", raw, context)
    assert result.status == "error"
    assert complaint in result.text
    assert '"integer"' in result.text, "the model sees the schema"
    assert tool.calls == []


def test_what_was_called_is_what_runs(context: ToolContext) -> None:
    tool = Echo("ran")
    Registry([tool]).run("echo", '{"n": 3, "other": " x "}', context)
    assert tool.calls == [{"n": 3, "other": " x "}]


def test_a_tool_that_raises_is_a_result(context: ToolContext) -> None:
    result = Registry([Echo(RuntimeError("broken \ud800"))]).run("echo", "{}", context)
    assert result == ToolResult("error", "echo failed: RuntimeError: broken ?")


def test_a_foreign_schema_that_is_broken_or_points_elsewhere_is_a_result(context: ToolContext) -> None:
    for schema in ({"type": 5}, {"$ref": "http://127.0.0.1:9/schema.json"}, {"$ref": "#/nowhere"}):
        tool = Echo("ran")
        tool.parameters = schema
        assert Registry([tool]).run("echo", "{}", context).status == "error"
        assert tool.calls == []


def test_any_long_result_is_shortened_and_kept(context: ToolContext) -> None:
    """slicc#2010: 1.9 million characters of output went into the context."""
    text = "".join(f"{number}\n" for number in range(300_000))
    assert len(text) > 1_900_000
    result = Registry([Echo(text)]).run("echo", "{}", context)
    assert len(result.text.encode()) < 41 * 1024
    assert result.spilled is not None
    assert str(result.spilled) in result.text
    assert result.spilled.read_text() == text
    assert result.text.startswith("0\n1\n")
    assert result.text.endswith("299999\n")


def test_what_was_kept_can_be_read_by_the_model(registry: Registry, context: ToolContext) -> None:
    result = Registry([Echo("x\n" * 50_000)]).run("echo", "{}", context)
    arguments = json.dumps({"path": str(result.spilled), "first_line": 49_999})
    assert registry.run("read_file", arguments, context).text == "x\nx\n"


def test_nothing_begins_after_cancel(context: ToolContext) -> None:
    tool = Echo("ran")
    cancelled = threading.Event()
    cancelled.set()
    result = Registry([tool]).run("echo", "{}", dataclasses.replace(context, cancel=cancelled))
    assert (result.status, tool.calls) == ("error", [])


def test_a_call_can_be_resolved_before_it_runs(registry: Registry) -> None:
    call = registry.resolve("read_file", '{"path": "x"}')
    assert isinstance(call, Call)
    assert (call.tool.name, call.arguments) == ("read_file", {"path": "x"})


# Ten thousand random calls of each tool.

TEXTS = ["", "a", ".", "..", "/", "/etc/passwd", "../x", "x/y/z", "a.txt", "sub", "link", "\0", "\ud800", "é" * 300,
         "(", "a|b", "(a+)+$", "1+1", "9**9**9", "__import__('os')", "Europe/Rome", "http://127.0.0.1/",
         "file:///etc/passwd", "https://[::1", "\u202e", "x" * 5000, "~", "\\", "%s", "{}", "$(id)"]  # fmt: skip
NUMBERS = [0, 1, -1, 2, 600, 601, 10**30, 1.5, -0.0, 1e308]


def random_value(random_: random.Random, depth: int = 0) -> Any:
    kind = random_.randrange(8 if depth < 3 else 5)
    if kind <= 2:
        return random_.choice(TEXTS)
    if kind == 3:
        return random_.choice(NUMBERS)
    if kind == 4:
        return random_.choice([None, True, False])
    if kind == 5:
        return [random_value(random_, depth + 1) for _ in range(random_.randrange(3))]
    return {random_.choice(TEXTS): random_value(random_, depth + 1) for _ in range(random_.randrange(3))}


def random_arguments(random_: random.Random, schema: Mapping[str, Any]) -> str:
    """Arguments that often fit the schema, often nearly, and now and then are no JSON."""
    found: dict[str, Any] = {}
    for name, about in schema["properties"].items():
        draw = random_.random()
        if draw < 0.15 and name not in schema["required"]:
            continue
        if draw < 0.8:
            text = about["type"] == "string"
            found[name] = random_.choice(TEXTS) if text else random_.choice(NUMBERS[:6])
        elif draw < 0.97:
            found[name] = random_value(random_)
    if random_.random() < 0.1:
        found[random_.choice(TEXTS)] = random_value(random_)
    raw = json.dumps(found)
    return raw if random_.random() < 0.95 else raw[: random_.randrange(len(raw) + 1)]


@pytest.mark.parametrize("name", [each for each in NAMES if each not in ("run_command", "search_files")])
@pytest.mark.timeout(300)
def test_ten_thousand_random_calls_raise_nothing(
    registry: Registry, context: ToolContext, workspace: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # minutes of waiting for the disk
    (workspace / "a.txt").write_text("a|b\n")
    (workspace / "sub").mkdir()
    (workspace / "link").symlink_to("/etc")
    tool = registry.get(name)
    assert tool is not None
    random_ = random.Random(name)
    statuses = set()
    for _ in range(10_000):
        result = registry.run(name, random_arguments(random_, tool.parameters), context)
        assert isinstance(result, ToolResult)
        result.text.encode()  # no half characters
        statuses.add(result.status)
    assert statuses == ({"error"} if name == "fetch_url" else {"ok", "error"})
    assert {each.name for each in workspace.parent.iterdir()} == {"workspace", "output"}


@pytest.mark.parametrize("name", ["run_command", "search_files"])
@pytest.mark.timeout(300)
def test_ten_thousand_random_calls_of_tools_that_start_programs(
    registry: Registry, context: ToolContext, workspace: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything but the start of the program itself is real; programs are started in a sample of them."""
    from skippy_chat.agent.tools import command, process, search  # noqa: PLC0415

    (workspace / "a.txt").write_text("a|b\n")
    tool = registry.get(name)
    assert tool is not None
    random_ = random.Random(name)
    context = dataclasses.replace(context, limits=Limits(command_seconds=2, search_seconds=2))
    real = process.run_program
    started = 0

    def sample(program: process.Program, on_output: Any, cancel: threading.Event) -> process.Ended:
        nonlocal started
        started += 1
        if started % 400 == 0:
            return real(dataclasses.replace(program, seconds=2.0), on_output, cancel)
        on_output(random_.randbytes(random_.randrange(200)))
        return process.Ended(random_.choice(["exit", "signal", "timeout", "failed"]), random_.randrange(130))

    module = command if name == "run_command" else search
    monkeypatch.setattr(module, "run_program", sample)
    for _ in range(10_000):
        result = registry.run(name, random_arguments(random_, tool.parameters), context)
        assert isinstance(result, ToolResult)
        result.text.encode()
    assert started > 1000
