from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from skippy_chat.bench.pagecache import residency, resident_bytes

SIZE = 3 * (1 << 20) + 5


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"x" * SIZE)
    return path


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="no mincore")
class TestResident:
    def test_what_was_just_written_is_there_to_the_last_byte(self, file: Path) -> None:
        assert resident_bytes(file) == SIZE

    def test_an_empty_file_and_one_that_is_gone_count_nothing(self, tmp_path: Path, file: Path) -> None:
        (tmp_path / "empty").touch()
        assert resident_bytes(tmp_path / "empty") == 0
        found = residency("files", "now", [file, tmp_path / "empty", tmp_path / "gone"])
        assert (found.size, found.resident, found.fraction) == (SIZE, SIZE, 1.0)

    @pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="no way to drop pages")
    def test_what_was_dropped_is_not(self, file: Path) -> None:
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        left = resident_bytes(file)
        assert left is not None
        if left == SIZE:
            pytest.skip("this file system keeps its pages, as one in memory does")
        assert left < SIZE // 2


def test_where_it_cannot_be_told_that_is_said(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    monkeypatch.setattr(sys, "platform", "plan9")
    found = residency("model", "now", [file])
    assert (found.size, found.resident, found.fraction) == (SIZE, None, None)
