"""The default model and its base in several quantisations: flash attention on and off, with one thread and two."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skippy_chat.models.resolve import BASE_ALIAS, DEFAULT_ALIAS, resolve_model
from skippy_chat.paths import Paths
from tests.architectures.proof import Setting, prove
from tests.architectures.quantise import FILE_TYPES, quantise

# Four processes load and read a whole model, and another test may have the other core.
pytestmark = [pytest.mark.native, pytest.mark.model, pytest.mark.timeout(400)]

RUNS = ((72, False), (20, False), (6, True), (9, False))
"""A batch on each side of 64 tokens, where flash attention changes its kernel, and single steps."""


@pytest.fixture(scope="module", params=[BASE_ALIAS, DEFAULT_ALIAS])
def original(request: pytest.FixtureRequest) -> Path:
    cache = Paths.resolve(env=os.environ).cache_dir
    return resolve_model(request.param, cache_dir=cache, progress=lambda what, done, total: None)


@pytest.mark.parametrize("file_type", FILE_TYPES)
def test_every_quantisation_comes_back_exactly(original: Path, file_type: str, tmp_path: Path) -> None:
    """Recorded with one thread; resumed from disk, and replayed, in a new process with two."""
    path = tmp_path / "model.gguf"
    quantise(original, path, file_type)
    for flash_attention in ("on", "off"):
        setting = Setting(flash_attention, threads_later=2, lanes=1, runs=RUNS)
        proof = prove(path, tmp_path / flash_attention, setting)
        assert (proof.method, proof.fault) == ("range", "")
    path.unlink()
