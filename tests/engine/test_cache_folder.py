"""What loading a model leaves in the cache folder, and what becomes of a turn when nothing can be left there."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.checkpoints.survey import model_notes
from skippy_chat.engine.loading import Loaded
from skippy_chat.events import CheckpointFailed, CheckpointRecorded
from tests.engine.engines import Bench, IdsRenderer, numbers, same_logits
from tests.engine.loaded import load

pytestmark = [pytest.mark.native, pytest.mark.model]
TinyModel = Callable[[str], Path]

PROMPT = [{"role": "user", "content": numbers(1, 150)}]


def bench(loaded: Loaded) -> Bench:
    loaded.engine.renderer = IdsRenderer()  # type: ignore[assignment] # the model has no template
    return Bench(loaded.engine, list(PROMPT))


def contents(root: Path) -> dict[str, str]:
    """Digest of every file, but for the shared memory of SQLite."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file() and not path.name.endswith("-shm")
    }


def test_a_model_that_is_opened_is_noted_by_name(tiny_model: TinyModel, tmp_path: Path) -> None:
    loaded = load(tiny_model("falcon-h1-dense"), tmp_path)
    loaded.engine.close()
    note = model_notes(tmp_path / "checkpoints")[loaded.reply.identity]
    assert (note.name, note.architecture, note.kind) == (loaded.reply.name, "falcon-h1", "hybrid")
    assert note.context == f"{loaded.reply.context_size} tokens, f16 cache, flash attention on"
    assert note.opened > 0


def test_a_folder_that_cannot_be_written_is_read_and_nothing_fails(
    tiny_model: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load(tiny_model("falcon-h1-dense"), tmp_path)
    cold = bench(first).step()
    first.engine.close()
    before = contents(tmp_path / "checkpoints")

    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK and access(path, mode))
    again = load(tiny_model("falcon-h1-dense"), tmp_path)
    assert "What it holds is used; nothing new is kept." in again.reply.cache_notice
    turns = bench(again)
    warm = turns.step()
    prompt, cached, _ = warm.counts
    assert cached == prompt
    assert same_logits(cold, warm)
    turns.keep(warm.reply)
    later = turns.say(numbers(2, 40))
    told = [event for event in later.events if isinstance(event, (CheckpointFailed, CheckpointRecorded))]
    assert told == []  # it was said once, at the start
    again.engine.close()
    assert contents(tmp_path / "checkpoints") == before
