"""Is it a JSON Schema? Asked before anything is stored or loaded for it.

What the grammar cannot express of a good one is told by the engine when it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skippy_chat.errors import UsageError


def check_schema(schema: Mapping[str, Any], where: str, hint: str) -> None:
    """Look at a schema; ``where`` and ``hint`` say in the error where it came from, and how to give one.

    Raises:
        UsageError: it is no JSON Schema; the place in it is named.
    """
    import jsonschema  # noqa: PLC0415 - a tenth of a second, for what is seldom asked

    validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        validator.check_schema(schema)
    except jsonschema.exceptions.SchemaError as error:
        place = "/".join(str(each) for each in error.absolute_path) or "its top"
        raise UsageError(f"{where}: not a JSON Schema, at {place}: {error.message}.", hint) from error
