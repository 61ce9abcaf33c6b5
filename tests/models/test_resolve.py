from __future__ import annotations

from pathlib import Path

import pytest

from skippy_chat.errors import ModelFileError
from skippy_chat.models.default import DEFAULT_FILE, model_folder
from skippy_chat.models.fetch import BASE_FILE
from skippy_chat.models.resolve import model_names, resolve_model
from tests.models.conftest import ignore
from tests.models.packages import package, pin_small_models
from tests.models.small import bare


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    bare(folder / "Qwen3.5-4B.gguf")
    bare(folder / "granite-4-h.gguf")
    return folder


def resolved(name: str | None, cache: Path, folder: Path | None = None) -> Path:
    def fetch(scratch: Path) -> Path:
        pytest.fail("nothing is to be fetched")

    return resolve_model(name, cache_dir=cache, models_dir=folder, progress=ignore, fetch_base=fetch)


def test_built_in_names(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = pin_small_models(monkeypatch, tmp_path)

    def found(name: str | None) -> str:
        return resolve_model(
            name,
            cache_dir=cache,
            progress=ignore,
            fetch_base=lambda scratch: package(scratch / "p.whl", content),
        ).name

    assert found(None) == found("default") == DEFAULT_FILE
    assert found("smollm2") == BASE_FILE


def test_a_path(cache: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "granite-4-h.gguf"
    assert resolved(str(path), cache) == path
    monkeypatch.chdir(folder)
    assert resolved("granite-4-h.gguf", cache) == Path("granite-4-h.gguf")
    bare(folder / "default")
    assert resolved("./default", cache) == Path("default")


@pytest.mark.parametrize("name", ["Qwen3.5-4B", "Qwen3.5-4B.gguf"])
def test_a_short_name(cache: Path, folder: Path, name: str) -> None:
    assert resolved(name, cache, folder) == folder / "Qwen3.5-4B.gguf"


def test_the_persons_folder_wins_over_the_cache(cache: Path, folder: Path) -> None:
    model_folder(cache).mkdir(parents=True)
    for name in ("granite-4-h.gguf", "other.gguf", ".hidden.gguf", "notes.txt"):
        bare(model_folder(cache) / name)
    names = model_names(cache_dir=cache, models_dir=folder)
    assert set(names) == {"Qwen3.5-4B", "granite-4-h", "other"}
    assert names["granite-4-h"] == folder / "granite-4-h.gguf"


@pytest.mark.parametrize(
    ("wrong", "near"), [("defualt", "default"), ("smolm2", "smollm2"), ("qwen3.5", "Qwen3.5-4B")]
)
def test_the_nearest_names_are_told(cache: Path, folder: Path, wrong: str, near: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        resolved(wrong, cache, folder)
    assert repr(wrong) in caught.value.message
    assert f"Did you mean {near}" in caught.value.hint


def test_a_name_like_no_other_lists_them(cache: Path, folder: Path) -> None:
    with pytest.raises(ModelFileError, match="No model is called 'zzz'") as caught:
        resolved("zzz", cache, folder)
    assert "default, smollm2, Qwen3.5-4B" in caught.value.hint


def test_a_missing_path_names_its_neighbours(cache: Path, folder: Path) -> None:
    with pytest.raises(ModelFileError, match="no such file") as caught:
        resolved(str(folder / "granite-4.gguf"), cache)
    assert "granite-4-h.gguf" in caught.value.hint
