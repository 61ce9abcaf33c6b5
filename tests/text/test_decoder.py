from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.text.decoder import Utf8Decoder


def decode(pieces: list[bytes]) -> str:
    decoder = Utf8Decoder()
    return "".join([*map(decoder.feed, pieces), decoder.flush()])


def test_holds_a_character_until_its_last_byte() -> None:
    decoder = Utf8Decoder()
    assert [decoder.feed(bytes([byte])) for byte in "a😀b".encode()] == ["a", "", "", "", "😀", "b"]
    assert decoder.flush() == ""


def test_an_unfinished_character_shows_at_the_end() -> None:
    assert decode([b"a\xf0\x9f", b"\x98"]) == "a\ufffd"


def test_can_be_used_again_after_a_flush() -> None:
    decoder = Utf8Decoder()
    decoder.feed(b"\xe2\x82")
    decoder.flush()
    assert decoder.feed(b"\xac") == "\ufffd"


_bytes = st.one_of(
    st.binary(), st.lists(st.sampled_from([0x41, 0x80, 0x9F, 0xC3, 0xE2, 0xED, 0xF0, 0xF4, 0xFF])).map(bytes)
)


@given(st.lists(_bytes))
def test_equals_decoding_all_at_once(pieces: list[bytes]) -> None:
    assert decode(pieces) == b"".join(pieces).decode(errors="replace")
