from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from skippy_chat.errors import ModelFileError
from skippy_chat.models.writing import NewTensor, replacing, write_gguf
from tests.models.conftest import ignore


def test_a_failure_leaves_the_old_file_and_no_part(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"old")

    def fail() -> bytes:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_gguf(path, [], [NewTensor("a", (1,), 0, 4, fail)], progress=ignore)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_tensor_of_another_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has 3 bytes, not 4"):
        write_gguf(tmp_path / "m", [], [NewTensor("a", (1,), 0, 4, lambda: b"abc")], progress=ignore)


@pytest.fixture
def small_limit() -> Iterator[None]:
    """Let files grow to 64 KiB only: the system itself refuses the rest, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_told_with_the_mend(tmp_path: Path, small_limit: None) -> None:
    path = tmp_path / "m.gguf"
    with pytest.raises(ModelFileError) as caught:
        write_gguf(
            path, [], [NewTensor("a", (1 << 18,), 0, 1 << 20, lambda: bytes(1 << 20))], progress=ignore
        )
    assert str(path) in caught.value.message
    assert "--cache-dir" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ModelFileError, match="cannot be written"), replacing(file / "m.gguf"):
        pytest.fail("the block must not run")
