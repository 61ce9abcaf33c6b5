"""JSON that a terminal may show and any stream can encode.

Invariant: no control character of foreign text reaches standard output through it.
"""

from __future__ import annotations

import json
import re
from typing import Any, TextIO

# JSON leaves these bare, yet a terminal acts on them: DEL, C1, line separators, bidi marks; and lone surrogates,
# which cannot be encoded.
_BARE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def json_line(value: Any, stream: TextIO, *, indent: int | None = None) -> str:
    """Return a value as JSON that ``stream`` can encode and a terminal can show, with its line break."""
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "")
    text = json.dumps(value, ensure_ascii=encoding != "utf8", indent=indent)
    return escaped(text) + "\n"


def escaped(text: str) -> str:
    """Return JSON text with what a terminal acts on, or no encoding takes, written as escapes; it means the same."""
    return _BARE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
