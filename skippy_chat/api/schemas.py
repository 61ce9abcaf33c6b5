"""Answers as data: the JSON Schema that a script asks for, and the answer read by it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from skippy_chat.agent.schema_check import check_schema
from skippy_chat.errors import AnswerUnfit, UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel

_HINT = "Give a dict, or a class made from pydantic's BaseModel."

SchemaLike: TypeAlias = "Mapping[str, Any] | type[BaseModel]"


def schema_of(wanted: SchemaLike) -> dict[str, Any]:
    """Return the JSON Schema of a mapping or a pydantic model.

    Raises:
        UsageError: it is neither, or not a JSON Schema.
    """
    if isinstance(wanted, Mapping):
        check_schema(wanted, "json_schema", _HINT)
        return dict(wanted)
    make = getattr(wanted, "model_json_schema", None)
    if make is None:
        raise UsageError(f"{wanted!r} is no JSON Schema.", _HINT)
    schema: dict[str, Any] = make()
    return schema


def read_answer(text: str, wanted: SchemaLike) -> Any:
    """Return an answer as plain data, or as a value of the pydantic model that was asked for.

    Raises:
        AnswerUnfit: it is no JSON, or the model's own checks refuse it.
    """
    try:
        if isinstance(wanted, Mapping):
            return json.loads(text)
        return wanted.model_validate_json(text)
    except ValueError as error:  # pydantic's ValidationError is one
        raise AnswerUnfit(
            f"The answer cannot be read as it was asked for: {error}.",
            "It is kept in the session; ask again, or ask for less.",
        ) from error
