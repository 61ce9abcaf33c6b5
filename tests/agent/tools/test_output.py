"""Head and tail: whatever the pieces, the same text; whatever the length, nothing lost."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from skippy_chat.agent.tools.output import OutputKeeper, keep


@settings(deadline=None)
@given(
    data=st.binary(max_size=300) | st.text(alphabet="aé€😀\n", max_size=120).map(str.encode),
    limit=st.integers(2, 120),
    cuts=st.lists(st.integers(0, 300), max_size=6),
)
def test_pieces_do_not_matter_and_nothing_is_lost(data: bytes, limit: int, cuts: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole = OutputKeeper(Path(folder), "whole", limit)
        whole.add(data)
        pieces = OutputKeeper(Path(folder), "pieces", limit)
        edges = [0, *sorted(min(each, len(data)) for each in cuts), len(data)]
        for start, end in itertools.pairwise(edges):
            pieces.add(data[start:end])
        one, other = whole.finish(), pieces.finish()
        assert one.text.replace("whole.txt", "") == other.text.replace("pieces.txt", "")
        if len(data) <= limit:
            assert one.spilled is None
            assert one.text == data.decode("utf-8", "replace")
        else:
            assert one.spilled is not None
            assert other.spilled is not None
            assert one.spilled.read_bytes() == other.spilled.read_bytes() == data
            shown = len(one.text.encode("utf-8")) - len(str(one.spilled))
            assert shown <= 3 * limit + 60  # a broken byte becomes three


def test_characters_are_not_cut_in_two(tmp_path: Path) -> None:
    text = "é" * 1000
    kept = keep(text, tmp_path, "x", 101).text
    head, _, rest = kept.partition("\n[…")
    assert set(head) == set(rest.rpartition("…]\n")[2]) == {"é"}


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    first = keep("a" * 100, tmp_path, "call/../1", 10).spilled
    second = keep("b" * 100, tmp_path, "call/../1", 10).spilled
    assert first is not None
    assert second is not None
    assert first != second
    assert first.parent == second.parent == tmp_path
    assert first.read_text() == "a" * 100


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    kept = keep("a" * 100, blocked / "folder", "x", 10)
    assert kept.spilled is None
    assert "could not be kept" in kept.text
