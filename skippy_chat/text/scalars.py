"""Text that can always be written as UTF-8."""

from __future__ import annotations


def scalar_text(text: str) -> str:
    """Join surrogate pairs and replace surrogates without a partner by U+FFFD; all else stays.

    Such halves come from undecodable bytes on stdin or from ``\\ud83d`` in JSON; no database and no
    tokenizer takes them.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
