"""From a function's signature to a pydantic model and a JSON Schema that a model can read.

Invariant: unknown arguments are refused and values are taken strictly, so the schema says all that is accepted.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import pydantic
from pydantic.fields import FieldInfo

from skippy_chat.errors import ConfigError

_STRICT = pydantic.ConfigDict(strict=True, extra="forbid", arbitrary_types_allowed=False)
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def arguments_model(
    tool: str, function: Callable[..., Any], told: Mapping[str, str]
) -> type[pydantic.BaseModel]:
    """Return a model of the function's arguments; ``told`` describes them where their types do not.

    Raises:
        ConfigError: an argument without a type or with one that JSON has not, or one that has no name.
    """
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise ConfigError(
            f"The tool {tool}: its types cannot be read: {error}.", "Import what they name."
        ) from error
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in _NAMED:
            raise ConfigError(f"The tool {tool}: argument {name} has no fixed name.", "Name every argument.")
        if name.startswith("_"):
            raise ConfigError(f"The tool {tool}: argument {name} begins with _.", "Rename it.")
        if name not in hints:
            raise ConfigError(
                f"The tool {tool}: argument {name} has no type.", f"Write {name}: str, for example."
            )
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[name] = (_described(hints[name], told.get(name)), default)
    try:
        return pydantic.create_model(f"{tool}_arguments", __config__=_STRICT, **fields)
    except (pydantic.errors.PydanticUserError, TypeError, NameError) as error:
        raise ConfigError(
            f"The tool {tool}: {str(error).splitlines()[0]}", "Use types that JSON has, or pydantic models."
        ) from error


def json_schema(model: type[pydantic.BaseModel]) -> dict[str, Any]:
    """Return the model's JSON Schema without titles, which say nothing that names do not.

    Raises:
        ConfigError: a type that no JSON Schema tells.
    """
    try:
        schema = model.model_json_schema()
    except pydantic.errors.PydanticInvalidForJsonSchema as error:
        raise ConfigError(
            f"{model.__name__}: {str(error).splitlines()[0]}", "Use types that JSON has."
        ) from error
    bare: dict[str, Any] = _without_titles(schema)
    return {
        "type": "object",
        "properties": bare.get("properties", {}),
        "required": bare.get("required", []),
        "additionalProperties": False,
        **({"$defs": bare["$defs"]} if "$defs" in bare else {}),
    }


def _described(hint: Any, told: str | None) -> Any:
    """Add a description, unless the type has one; a bare text in ``Annotated`` counts as one."""
    extras = getattr(hint, "__metadata__", ())
    if any(isinstance(each, FieldInfo) and each.description for each in extras):
        return hint
    texts = [each for each in extras if isinstance(each, str)]
    if texts:
        return Annotated[hint, pydantic.Field(description=texts[0])]
    return Annotated[hint, pydantic.Field(description=told)] if told else hint


def _without_titles(schema: Any, *, names: bool = False) -> Any:
    """Drop titles; ``names`` tells that keys are names of properties, one of which may be "title"."""
    if isinstance(schema, list):
        return [_without_titles(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_titles(value, names=not names and key in ("properties", "$defs"))
        for key, value in schema.items()
        if names or key != "title" or not isinstance(value, str)
    }
