"""``@tool`` and the loader: typed functions become tools, and faults in them are told where they are."""

from __future__ import annotations

import dataclasses
import enum
import json
import threading
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import pytest

from skippy_chat.agent.tools.arguments import check_arguments
from skippy_chat.agent.tools.function import FunctionTool, tool
from skippy_chat.agent.tools.loader import load_tools
from skippy_chat.agent.tools.protocol import Limits, Needs, ToolContext, ToolResult
from skippy_chat.agent.tools.registry import Registry
from skippy_chat.errors import ConfigError


class Colour(enum.Enum):
    RED = "red"


class Point(pydantic.BaseModel):
    x: int
    title: str = ""


@tool
def everything(
    text: str,
    count: Annotated[int, pydantic.Field(ge=1, description="How many")],
    ratio: float = 0.5,
    kind: Literal["a", "b"] = "a",
    colour: Colour = Colour.RED,
    names: list[str] | None = None,
    point: Point | None = None,
    note: Annotated[str, "A note"] = "",
) -> dict[str, Any]:
    """Take
    everything.

    More for people.

    Args:
        text: The text,
            on two lines.
        ratio (float): A ratio: of things.
    """
    return {
        "text": text,
        "count": count,
        "ratio": ratio,
        "kind": kind,
        "colour": colour,
        "names": names,
        "point": point,
    }


def call(made: FunctionTool, context: ToolContext, **arguments: Any) -> ToolResult:
    return Registry([made]).run(made.name, json.dumps(arguments), context)


def test_the_schema_says_what_the_types_say() -> None:
    assert (everything.name, everything.description) == ("everything", "Take everything.")
    properties = everything.parameters["properties"]
    assert everything.parameters["required"] == ["text", "count"]
    assert everything.parameters["additionalProperties"] is False
    assert properties["text"] == {"description": "The text, on two lines.", "type": "string"}
    assert properties["count"] == {"description": "How many", "minimum": 1, "type": "integer"}
    assert properties["ratio"] == {"default": 0.5, "description": "A ratio: of things.", "type": "number"}
    assert properties["kind"]["enum"] == ["a", "b"]
    assert properties["note"]["description"] == "A note"
    assert "title" in everything.parameters["$defs"]["Point"]["properties"]
    assert "title" not in everything.parameters["$defs"]["Point"]
    check_arguments({"text": "", "count": 1}, everything.parameters)


def test_it_runs_with_typed_values(context: ToolContext) -> None:
    result = call(everything, context, text="é", count=2, ratio=1, colour="red", names=["x"], point={"x": 1})
    assert result.status == "ok"
    assert json.loads(result.text) == {
        "text": "é", "count": 2, "ratio": 1.0, "kind": "a", "colour": "red", "names": ["x"],
        "point": {"x": 1, "title": ""},
    }  # fmt: skip
    assert "é" in result.text


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"text": "x"},
        {"text": "x", "count": "2"},
        {"text": "x", "count": 2.0},
        {"text": "x", "count": True},
        {"text": 1, "count": 2},
        {"text": "x", "count": 0},
        {"text": "x", "count": 2, "kind": "c"},
        {"text": "x", "count": 2, "other": 1},
        {"text": "x", "count": 2, "point": {"x": "1"}},
        {"text": "x", "count": 2, "names": [1]},
    ],
)
def test_nothing_is_coerced(context: ToolContext, wrong: dict[str, Any]) -> None:
    assert call(everything, context, **wrong).status == "error"


def test_it_is_still_a_function() -> None:
    assert everything("x", 1)["count"] == 1


def test_what_it_says_of_itself() -> None:
    @tool(name="look", read_only=True, needs=Needs(reads=("path",)))
    def anything(path: str) -> str:
        return path

    assert (anything.name, anything.read_only, anything.needs.reads) == ("look", True, ("path",))
    assert (everything.read_only, everything.needs) == (False, Needs())


def test_a_fault_inside_is_a_result(context: ToolContext) -> None:
    @tool
    def broken() -> str:
        raise KeyError("nothing")

    assert call(broken, context) == ToolResult("error", "broken failed: KeyError: 'nothing'")


def test_it_is_left_when_it_takes_too_long_or_is_cancelled(context: ToolContext) -> None:
    release = threading.Event()
    begun = threading.Event()

    @tool
    def slow() -> str:
        begun.set()
        release.wait(60)
        return ""

    def cancel_once_begun() -> None:
        begun.wait(60)
        context.cancel.set()

    quick = dataclasses.replace(context, limits=Limits(function_seconds=0.2))
    try:
        assert "longer than 0.2 seconds" in call(slow, quick).text
        begun.clear()
        threading.Thread(target=cancel_once_begun).start()
        assert "cancelled" in call(slow, context).text
    finally:
        release.set()


def test_what_cannot_be_a_tool() -> None:
    def no_type(x) -> str:  # type: ignore[no-untyped-def]
        return str(x)

    def star(*x: int) -> str:
        return ""

    def hidden(_x: int) -> str:
        return ""

    async def later(x: int) -> str:
        return ""

    def no_json(x: threading.Event) -> str:
        return ""

    def unknown(x: Nowhere) -> str:  # type: ignore[name-defined]  # noqa: F821
        return ""

    for function in (no_type, star, hidden, later, no_json, unknown):
        with pytest.raises(ConfigError, match=function.__name__):
            tool(function)
    with pytest.raises(ConfigError, match="cannot be the name"):
        tool(name="a b")(star)


GOOD = '''
from __future__ import annotations
from skippy_chat.agent.tools.function import tool

@tool
def twice(n: int) -> int:
    """Double a number."""
    return 2 * n

@tool(read_only=True)
def again(text: str) -> str:
    """Say it again."""
    return text

same = twice
'''


def test_tools_are_loaded_from_a_file(tmp_path: Path, context: ToolContext) -> None:
    path = tmp_path / "mine.py"
    path.write_text(GOOD)
    loaded = load_tools(path)
    assert [each.name for each in loaded] == ["again", "twice"]
    assert Registry(loaded).run("twice", '{"n": 21}', context) == ToolResult("ok", "42")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1\n", "makes no tools"),
        ("x = 1\ndef (\n", "line 2: SyntaxError"),
        ("x = 1\n\n1 / 0\n", "line 3: ZeroDivisionError"),
        ("import nowhere_at_all\n", "line 1: ModuleNotFoundError"),
        ("raise SystemExit(3)\n", "line 1: SystemExit"),
        (
            "from skippy_chat.agent.tools.function import tool\n@tool\ndef f(x): pass\n",
            "argument x has no type",
        ),
    ],
)
def test_a_file_that_fails_is_told_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_tools(path)
    assert told in caught.value.message
    assert str(path) in caught.value.message


def test_a_file_that_cannot_be_trusted_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    with pytest.raises(ConfigError, match="cannot be read"):
        load_tools(path)
    with pytest.raises(ConfigError, match="not a Python file"):
        load_tools(tmp_path)
    path.write_text(GOOD)
    path.chmod(0o666)
    with pytest.raises(ConfigError, match="Others can write"):
        load_tools(path)
