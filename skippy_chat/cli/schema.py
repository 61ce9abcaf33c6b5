"""``--json-schema``: a JSON Schema from the command line or a file, checked before a model is loaded for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from skippy_chat.agent.schema_check import check_schema
from skippy_chat.errors import UsageError

_HINT = 'Write it out, --json-schema \'{"type": "object", …}\', or name a file that holds it.'


def read_schema(given: str) -> dict[str, Any]:
    """Return the schema that a text is, or that the file of this name holds; ``@`` before a file is allowed.

    Raises:
        UsageError: no such file, no JSON, or no JSON Schema.
    """
    text, where = given, "--json-schema"
    if not given.lstrip().startswith("{"):
        path = Path(given.removeprefix("@")).expanduser()
        where = f"--json-schema {path}"
        try:
            text = path.read_text("utf-8-sig")
        except OSError as error:
            raise UsageError(f"{where}: cannot be read: {error.strerror}.", _HINT) from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{where}: not UTF-8 text.", "Save it as UTF-8.") from error
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: not JSON: {error}.", _HINT) from error
    if not isinstance(schema, dict):
        raise UsageError(f"{where}: a JSON Schema is an object.", _HINT)
    check_schema(schema, where, _HINT)
    return schema
