"""Reading the arguments a model wrote: JSON, checked against the tool's schema and never mended.

``jsonschema`` judges built-in tools, ``@tool`` functions and foreign tools alike, since all of them are JSON Schemas.

Invariant: what was called is what runs. Nothing is coerced, filled in or dropped: not "3" for 3, not 3.0 for 3.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import jsonschema
import referencing
from jsonschema.protocols import Validator

_LONGEST = 24 << 20  # characters of JSON; a file may be written with it
_SHOWN = 200


class BadArguments(ValueError):
    """Arguments that cannot be used; the message says what is wrong with them."""


def _is_integer(_checker: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_STRICT: Any = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


def read_arguments(raw: str) -> dict[str, Any]:
    """Return the JSON object that ``raw`` holds.

    Raises:
        BadArguments: no JSON, no object, a name twice, or a number JSON does not have.
    """
    if len(raw) > _LONGEST:
        raise BadArguments(f"the arguments are longer than {_LONGEST:,} characters")
    try:
        value = json.loads(raw, object_pairs_hook=_unique, parse_constant=_no_constant)
    except BadArguments:
        raise
    except RecursionError as error:
        raise BadArguments("the arguments are nested too deep") from error
    except ValueError as error:
        raise BadArguments(f"the arguments are not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadArguments("the arguments are not a JSON object")
    return value


def check_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Compare arguments with a JSON Schema.

    Raises:
        BadArguments: they do not fit; the message names the argument.
    """
    # Without a registry of its own, jsonschema would fetch what a foreign schema's "$ref" points to.
    validator: Validator = _STRICT(schema, registry=referencing.Registry())
    try:
        error = jsonschema.exceptions.best_match(validator.iter_errors(arguments))
    except RecursionError as fault:
        raise BadArguments("the arguments are nested too deep") from fault
    except Exception as fault:  # a foreign schema may be broken in any way
        raise BadArguments(
            f"the tool's own schema cannot be used: {type(fault).__name__}: {fault}"
        ) from fault
    if error is not None:
        where = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in error.absolute_path)
        raise BadArguments(f"{where.lstrip('.')}: {_short(error.message)}".removeprefix(": "))


def _short(text: str) -> str:
    # A message quotes the value, which may be a whole file.
    return text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]} … {text[-_SHOWN:]}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadArguments("the arguments name something twice")
    return found


def _no_constant(name: str) -> object:
    raise BadArguments(f"{name} is no JSON number")
