from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.text.scalars import scalar_text


def test_halves_are_replaced_and_pairs_joined() -> None:
    assert scalar_text("a\udc80b") == "a\ufffdb"
    assert scalar_text("\ud83d\ude00\ud83d") == "😀\ufffd"


@given(st.text(st.characters(exclude_categories=())))
def test_always_writable_and_valid_text_stays(text: str) -> None:
    clean = scalar_text(text)
    clean.encode()
    assert scalar_text(clean) == clean
    if not any(0xD800 <= ord(each) < 0xE000 for each in text):
        assert clean == text
