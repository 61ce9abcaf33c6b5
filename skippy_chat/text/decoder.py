"""Bytes of tokens to text: a character may be spread over several tokens.

Invariant: how the bytes were split never shows in the text, and none are lost at the end.
"""

from __future__ import annotations

import codecs

_UTF8 = codecs.getincrementaldecoder("utf-8")


class Utf8Decoder:
    """Decodes UTF-8 piece by piece; bytes that are none become U+FFFD, as in ``bytes.decode(errors="replace")``."""

    def __init__(self) -> None:
        self._decoder = _UTF8("replace")

    def feed(self, data: bytes) -> str:
        """Return the text that is certain after ``data``."""
        return self._decoder.decode(data)

    def flush(self) -> str:
        """Return what an unfinished character at the end becomes, and begin anew."""
        rest = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return rest
