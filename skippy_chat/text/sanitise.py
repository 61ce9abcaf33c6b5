"""Making foreign text safe for a terminal: the one sanitiser of all faces and logs.

Complete escape sequences go as a whole; of incomplete ones goes the control character, and the harmless rest shows.
Stored text stays raw: this belongs at the display boundary.

Invariant: what comes out holds no control character but newline and tab, and is the same however the text was split.
"""

from __future__ import annotations

import re
import unicodedata

# A sequence that does not end within these lengths is none, so that no text is held back for long or swallowed.
_LONGEST = 4096
_PARAMETERS = 128

_CSI = rf"(?:\x1b\[|\x9b)[0-?]{{0,{_PARAMETERS}}}[ -/]{{0,{_PARAMETERS}}}"
# A newline, ESC, CAN, SUB or C1 in a string breaks it off, as in terminals (newline: so that text goes on showing).
_OSC = rf"(?:\x1b\]|\x9d)[^\x07\n\x18\x1a\x1b\x80-\x9f]{{0,{_LONGEST}}}"
_STRING = rf"(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\n\x18\x1a\x1b\x80-\x9f]{{0,{_LONGEST}}}"
_LONG_ESCAPE = r"\x1b[ -/]{1,8}"
_END = r"(?:\x1b\\|\x9c)"

_COMPLETE = rf"{_CSI}[@-~]|{_OSC}(?:\x07|{_END})|{_STRING}{_END}|{_LONG_ESCAPE}[0-~]|\x1b[0-OQ-WYZ\\`-~]"
_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_UNFINISHED = rf"(?P<unfinished>(?:{_CSI}|{_OSC}\x1b?|{_STRING}\x1b?|{_LONG_ESCAPE}|\x1b)\Z)"

_WHOLE = re.compile(f"{_COMPLETE}|{_CONTROL}")
_STREAM = re.compile(f"{_COMPLETE}|{_UNFINISHED}|{_CONTROL}")
_SUSPECT = re.compile(r"[^\n\t -~\xa0-\ud7ff\ue000-\U0010ffff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")

# Not of category Cf, and yet invisible or a line break of its own.
_ALSO_HIDDEN = frozenset("\u2028\u2029\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")


class Sanitiser:
    """Cleans a stream; holds back only what may be an unfinished escape sequence."""

    def __init__(self, *, strip_format: bool = False) -> None:
        """``strip_format`` also removes bidi and other invisible format characters, as approvals need."""
        self._strip_format = strip_format
        self._held = ""

    def feed(self, text: str) -> str:
        """Return what is safe to show of the text so far."""
        text = self._held + text
        kept = []
        at = 0
        self._held = ""
        for match in _STREAM.finditer(text):
            kept.append(text[at : match.start()])
            at = match.end()
            if match["unfinished"] is not None:
                self._held = match[0]
        kept.append(text[at:])
        return _visible("".join(kept), strip_format=self._strip_format)

    def flush(self) -> str:
        """Return what is safe of the unfinished end, and begin anew."""
        rest, self._held = self._held, ""
        return sanitise(rest, strip_format=self._strip_format)


def sanitise(text: str, *, strip_format: bool = False) -> str:
    """Return ``text`` without control characters (newline and tab stay) and escape sequences.

    Lone surrogates become U+FFFD. ``strip_format`` also removes bidi and other invisible format characters.
    """
    if _SUSPECT.search(text):
        text = _WHOLE.sub("", text)
    return _visible(text, strip_format=strip_format)


def _visible(text: str, *, strip_format: bool) -> str:
    if text.isascii():
        return text
    text = _SURROGATE.sub("\ufffd", text)
    if not strip_format:
        return text
    return "".join(each for each in text if unicodedata.category(each) != "Cf" and each not in _ALSO_HIDDEN)
