from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from blake3 import blake3

from skippy_chat.errors import ModelFileError
from skippy_chat.models.digest import DigestCache

CONTENT = bytes(range(256)) * 40_000


class Reads:
    """Counts the bytes that were really read, and may do something while they are."""

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        self.total = 0
        self.then = then

    def __call__(self, what: str, done: int, total: int) -> None:
        self.total = done
        self.then()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(CONTENT)
    return path


def test_digests_are_those_of_the_bytes(model: Path) -> None:
    cache = DigestCache(None)
    assert cache.sha256(model) == hashlib.sha256(CONTENT).hexdigest()
    assert cache.blake3(model) == blake3(CONTENT).hexdigest()


def test_another_process_does_not_read_again(model: Path, tmp_path: Path) -> None:
    store = tmp_path / "cache" / "digests.json"
    first = DigestCache(store).blake3(model)
    reads = Reads()
    again = DigestCache(store, progress=reads)
    assert again.blake3(model) == first
    assert reads.total == 0
    again.sha256(model)
    assert reads.total == len(CONTENT)
    assert DigestCache(store, progress=(more := Reads())).blake3(model) == first
    assert more.total == 0


def test_a_changed_file_of_the_same_size_is_read_again(model: Path, tmp_path: Path) -> None:
    cache = DigestCache(tmp_path / "digests.json")
    first = cache.blake3(model)
    before = model.stat()
    with model.open("r+b") as file:
        file.write(b"changed")
    os.utime(model, ns=(before.st_atime_ns, before.st_mtime_ns))  # only ctime tells
    assert cache.blake3(model) != first


def test_a_replaced_file_of_the_same_times_is_read_again(model: Path, tmp_path: Path) -> None:
    cache = DigestCache(tmp_path / "digests.json")
    first = cache.sha256(model)
    other = tmp_path / "other"
    other.write_bytes(CONTENT[::-1])
    os.utime(other, ns=(model.stat().st_atime_ns, model.stat().st_mtime_ns))
    other.replace(model)
    assert cache.sha256(model) != first


def test_a_file_that_changes_while_it_is_read_has_no_digest(model: Path) -> None:
    def grow() -> None:
        with model.open("ab") as file:
            file.write(b"more")

    with pytest.raises(ModelFileError, match="changed while it was read"):
        DigestCache(None, progress=Reads(grow)).sha256(model)


def test_a_store_that_cannot_be_written_costs_only_time(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    cache = DigestCache(file / "digests.json")
    assert cache.blake3(model) == blake3(CONTENT).hexdigest()
    cache.remember_sha256(model, "0" * 64)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"k": 1}', '{"k": {"blake3": 1}}', "\x00"])
def test_a_damaged_store_is_replaced(model: Path, tmp_path: Path, text: str) -> None:
    store = tmp_path / "digests.json"
    store.write_text(text)
    digest = DigestCache(store).blake3(model)
    assert digest == blake3(CONTENT).hexdigest()
    assert [entry for entry in json.loads(store.read_text()).values() if entry == {"blake3": digest}]


def test_the_store_stays_small(tmp_path: Path) -> None:
    store = tmp_path / "digests.json"
    store.write_text(json.dumps({f"{index}": {"sha256": "0"} for index in range(5000)}))
    model = tmp_path / "m"
    model.write_bytes(b"x")
    DigestCache(store).sha256(model)
    kept = json.loads(store.read_text())
    assert len(kept) == 256
    assert {"sha256": hashlib.sha256(b"x").hexdigest()} in kept.values()


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"absent\.gguf: cannot be read"):
        DigestCache(None).blake3(tmp_path / "absent.gguf")
