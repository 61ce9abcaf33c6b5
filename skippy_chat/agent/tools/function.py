"""``@tool``: a typed Python function as a tool, its schema drawn from its types by pydantic.

The first paragraph of the docstring is what the model reads; ``Args:`` lines, ``Annotated[…, "text"]`` and pydantic
fields describe the arguments. Arguments are checked strictly: a text is never taken for a number.
"""

from __future__ import annotations

import contextvars
import inspect
import json
import queue
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, overload

from skippy_chat.agent.tools.printing import prints_go_to
from skippy_chat.agent.tools.protocol import Arguments, Needs, ToolContext, ToolResult
from skippy_chat.errors import ConfigError, ToolError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_ARGUMENT = re.compile(r"\s+(\w+)(?:\s*\([^)]*\))?:\s+(.*)")
_Function: TypeAlias = Callable[..., Any]


class FunctionTool:
    """A Python function that a model may call; calling it from Python calls the function."""

    def __init__(self, function: _Function, *, name: str | None, read_only: bool, needs: Needs) -> None:
        """Draw the schema.

        Raises:
            ConfigError: an argument without a type, a kind of argument no schema has, or an async function.
        """
        # Late: pydantic takes a third of a second to import, and most sessions have no such tool.
        from skippy_chat.agent.tools.signature import arguments_model, json_schema  # noqa: PLC0415

        self.function = function
        self.name = name or function.__name__
        self.read_only = read_only
        self.needs = needs
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"{self.name!r} cannot be the name of a tool.", "Use letters, digits and _.")
        if inspect.iscoroutinefunction(function):
            raise ConfigError(f"The tool {self.name} is async.", "Make it a plain function.")
        self.description, told = _docstring(function)
        self._model = arguments_model(self.name, function, told)
        self.parameters: Mapping[str, Any] = json_schema(self._model)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function."""
        return self.function(*arguments, **named)

    def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Call the function with checked values; what it returns is text, or becomes JSON."""
        from pydantic import ValidationError  # noqa: PLC0415

        try:
            values = self._model.model_validate_json(json.dumps(arguments))
        except ValidationError as error:
            faults = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
            raise ToolError(f"{self.name} was not run: {faults}.") from error
        named = {field: getattr(values, field) for field in type(values).model_fields}
        return ToolResult("ok", _text(self._call(named, context)))

    def _call(self, named: dict[str, Any], context: ToolContext) -> Any:
        """Call it in a thread, which is left to itself when it takes too long: Python cannot stop one."""
        answers: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()
        surroundings = contextvars.copy_context()
        surroundings.run(prints_go_to, context.emit)

        def work() -> None:
            try:
                answers.put((True, surroundings.run(self.function, **named)))
            except BaseException as error:  # noqa: BLE001  told below, in the thread that waits
                answers.put((False, error))

        threading.Thread(target=work, daemon=True, name=f"tool-{self.name}").start()
        until = time.monotonic() + context.limits.function_seconds
        while True:
            if context.cancel.is_set():
                raise ToolError(f"{self.name} was cancelled; what it began may go on.")
            left = until - time.monotonic()
            if left <= 0:
                raise ToolError(
                    f"{self.name} took longer than {context.limits.function_seconds:g} seconds; it may still be at it."
                )
            try:
                good, value = answers.get(timeout=min(left, 0.05))
            except queue.Empty:
                continue
            if good:
                return value
            raise ToolError(f"{self.name} failed: {type(value).__name__}: {value}") from value


@overload
def tool(function: _Function, /) -> FunctionTool: ...
@overload
def tool(
    *, name: str | None = None, read_only: bool = False, needs: Needs | None = None
) -> Callable[[_Function], FunctionTool]: ...
def tool(
    function: _Function | None = None,
    /,
    *,
    name: str | None = None,
    read_only: bool = False,
    needs: Needs | None = None,
) -> FunctionTool | Callable[[_Function], FunctionTool]:
    """Make a typed function a tool, as ``@tool`` or ``@tool(read_only=True)``.

    ``read_only`` says that it changes nothing: it may then run beside others. ``needs`` names arguments that are paths,
    a command or an address, so that rules can look at them.

    Raises:
        ConfigError: as ``FunctionTool``.
    """
    made = Needs() if needs is None else needs

    def decorate(each: _Function) -> FunctionTool:
        return FunctionTool(each, name=name, read_only=read_only, needs=made)

    return decorate if function is None else decorate(function)


def _docstring(function: _Function) -> tuple[str, dict[str, str]]:
    """Return the first paragraph, and what an ``Args:`` section says of each argument."""
    text = inspect.getdoc(function) or ""
    first = " ".join(text.partition("\n\n")[0].split())
    told: dict[str, str] = {}
    current = None
    section = re.search(r"^(?:Args|Arguments|Parameters):\n((?:[ \t]+.*\n?|\n)+)", text, re.MULTILINE)
    lines = section[1].splitlines() if section else []
    indent = min((len(each) - len(each.lstrip()) for each in lines if each.strip()), default=0)
    for line in lines:
        found = _ARGUMENT.fullmatch(line)
        if found and len(line) - len(line.lstrip()) == indent:
            current = found[1]
            told[current] = found[2].strip()
        elif current and line.strip():
            told[current] += f" {line.strip()}"
    return first, told


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    from pydantic_core import to_jsonable_python  # noqa: PLC0415

    return json.dumps(to_jsonable_python(value, fallback=str), ensure_ascii=False)
