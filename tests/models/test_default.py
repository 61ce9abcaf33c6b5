from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.errors import ModelFileError, SkippyError
from skippy_chat.models.default import DEFAULT_FILE, base_model, default_model, model_folder
from skippy_chat.models.fetch import BASE_FILE, PACKAGE_FILE
from skippy_chat.models.inspect import inspect_model
from tests.models.conftest import ignore
from tests.models.packages import package, pin_base, pin_small_models


class Source:
    """Hands out the small base, counting how often it is asked."""

    def __init__(self, content: bytes, then: Callable[[], object] = lambda: None) -> None:
        self.content = content
        self.asked = 0
        self.then = then

    def __call__(self, folder: Path) -> Path:
        self.asked += 1
        self.then()
        return package(folder / PACKAGE_FILE, self.content)


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Source:
    return Source(pin_small_models(monkeypatch, tmp_path))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_it_is_made_once(cache: Path, source: Source) -> None:
    path = default_model(cache, progress=ignore, fetch_base=source)
    assert inspect_model(path).architecture == "falcon-h1"
    assert default_model(cache, progress=ignore, fetch_base=source) == path
    assert inspect_model(base_model(cache, progress=ignore, fetch_base=source)).architecture == "llama"
    assert source.asked == 1
    names = {entry.name for entry in model_folder(cache).iterdir()}
    assert names == {DEFAULT_FILE, BASE_FILE, ".lock"}


def test_a_second_start_reads_nothing(cache: Path, source: Source) -> None:
    default_model(cache, progress=ignore, fetch_base=source)
    reports: list[str] = []
    default_model(cache, progress=lambda what, done, total: reports.append(what), fetch_base=source)
    assert reports == []


@pytest.mark.parametrize("name", [DEFAULT_FILE, BASE_FILE])
def test_a_damaged_file_is_made_again(cache: Path, source: Source, name: str) -> None:
    path = default_model(cache, progress=ignore, fetch_base=source)
    whole = path.read_bytes()
    damaged = path.with_name(name)
    with damaged.open("r+b") as file:
        file.seek(-100, os.SEEK_END)
        file.write(b"damage")
    assert base_model(cache, progress=ignore, fetch_base=source).read_bytes() == source.content
    assert default_model(cache, progress=ignore, fetch_base=source).read_bytes() == whole
    assert source.asked == (2 if name == BASE_FILE else 1)


def test_what_a_killed_process_left_is_swept(cache: Path, source: Source) -> None:
    folder = model_folder(cache)
    folder.mkdir(parents=True, mode=0o700)
    (folder / f".{DEFAULT_FILE}.99999.part").write_bytes(b"half")
    (folder / ".fetch-dead").mkdir()
    default_model(cache, progress=ignore, fetch_base=source)
    assert {entry.name for entry in folder.iterdir()} == {DEFAULT_FILE, BASE_FILE, ".lock"}


def test_two_at_once_make_it_once(cache: Path, source: Source) -> None:
    waiting = threading.Event()
    source.then = lambda: waiting.wait(60)
    found: list[Path] = []

    def second_progress(what: str, done: int, total: int) -> None:
        if what.startswith("waiting for another"):
            waiting.set()

    def make(progress: Callable[[str, int, int], None]) -> None:
        found.append(default_model(cache, progress=progress, fetch_base=source))

    first = threading.Thread(target=make, args=(ignore,))
    first.start()
    while source.asked == 0 and first.is_alive():
        first.join(0.01)
    second = threading.Thread(target=make, args=(second_progress,))
    second.start()
    first.join(60)
    second.join(60)
    assert waiting.is_set()
    assert len(set(found)) == 1
    assert len(found) == 2
    assert source.asked == 1


def test_a_package_put_there_by_hand_is_used(cache: Path, source: Source) -> None:
    folder = model_folder(cache)
    folder.mkdir(parents=True, mode=0o700)
    package(folder / PACKAGE_FILE, source.content)
    default_model(cache, progress=ignore, fetch_base=source)
    assert source.asked == 0


def test_other_bytes_than_pinned_are_not_kept(
    cache: Path, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skippy_chat.models.default.DEFAULT_SHA256", "0" * 64)
    with pytest.raises(ModelFileError, match="other bytes"):
        default_model(cache, progress=ignore, fetch_base=source)
    assert not (model_folder(cache) / DEFAULT_FILE).exists()


def test_a_wrong_base_is_told_and_not_kept(
    cache: Path, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin_base(monkeypatch, b"another")
    with pytest.raises(ModelFileError, match="SHA-256 differs"):
        base_model(cache, progress=ignore, fetch_base=source)
    assert not (model_folder(cache) / BASE_FILE).exists()


def test_a_cache_that_cannot_be_written(tmp_path: Path, source: Source) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(SkippyError, match="file"):
        default_model(file / "cache", progress=ignore, fetch_base=source)
    assert source.asked == 0


def test_a_made_model_needs_no_writing(cache: Path, source: Source) -> None:
    path = default_model(cache, progress=ignore, fetch_base=source)
    (model_folder(cache) / ".lock").unlink()
    (cache / "digests.json").unlink()
    assert default_model(cache, progress=ignore, fetch_base=source) == path
    assert not (model_folder(cache) / ".lock").exists()
