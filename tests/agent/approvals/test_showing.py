"""What a person approves is all there is, and nothing in it can hide."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.agent.approvals.showing import show

NASTY = st.text(
    alphabet=st.sampled_from(list("ab \n\t\\{}⟪⟫U+20\x1b\r\0\u202e\u200b\u00a0\u0301\ufe0f\ud800")),
    max_size=60,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, ünïcode 漢字 😀", "plain text, ünïcode 漢字 😀"),
        ("a\x1b[2Jb", "a⟪U+001B⟫[2Jb"),
        ("a\rb", "a⟪U+000D⟫b"),
        ("safe\u202etxt.exe", "safe⟪U+202E⟫txt.exe"),
        ("a\u200bb\u00a0c\u2028d", "a⟪U+200B⟫b⟪U+00A0⟫c⟪U+2028⟫d"),
        ("\u3164\u2800", "⟪U+3164⟫⟪U+2800⟫"),
        ("\U000e0041", "⟪U+E0041⟫"),
        ("\ud800", "⟪U+D800⟫"),
        ("⟪U+001B⟫", "⟪U+27EA⟫U+001B⟪U+27EB⟫"),
        ("echo ok" + " " * 300 + "; rm -rf x", "echo ok⟪300 spaces⟫; rm -rf x"),
        ("echo ok" + "\n" * 300 + "rm -rf x", "echo ok\n⟪298 newlines⟫\nrm -rf x"),
        ("a" + "\t" * 90 + "b", "a⟪90 tabs⟫b"),
        ("    indented\n        more", "    indented\n        more"),
        ("end \nend  ", "end⟪1 space⟫\nend⟪2 spaces⟫"),
        ("e" + "\u0301" * 5, "e" + "\u0301" * 3 + "⟪U+0301⟫" * 2),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    assert show(text) == shown


@given(NASTY | st.text(max_size=60))
def test_only_visible_characters_come_out(text: str) -> None:
    for each in show(text):
        assert each in "\n\t " or unicodedata.category(each)[0] not in "CZ"


def read_back(shown: str) -> str:
    """Undo what ``show`` did."""

    def one(match: re.Match[str]) -> str:
        inner = match[1]
        if inner.startswith("U+"):
            return chr(int(f"0x{inner[2:]}", 0))
        count, kind = inner.split()
        return {"s": " ", "n": "\n", "t": "\t"}[kind[0]] * int(count)

    return re.sub("⟪([^⟪⟫]*)⟫", one, shown)


@given(NASTY | st.text(max_size=60) | st.from_regex(r"\A[ab]? {0,60}[\n ]{0,9}[ab]?\t{0,12}[b]?\Z"))
def test_nothing_is_left_out_and_no_two_texts_look_alike(text: str) -> None:
    assert read_back(show(text)) == text
