"""Gemma 4 in llama.cpp, on a model of our own making: windows and shared keys, restored to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from skippy_chat.native.context import Context, MemoryClass
from skippy_chat.native.library import load
from skippy_chat.native.model import Model
from tests.models.gemma4 import WINDOW, write_gemma4
from tests.models.restoring import OPTIONS, Checkpoint, go_on, read, restore, take
from tests.models.untrained import VOCABULARY, numbers

pytestmark = [pytest.mark.native, pytest.mark.model]

TILE = 64
"""Queries and cells that the flash attention kernel for long batches takes at once."""
IDS = numbers(1, 900)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("gemma4") / "gemma4.gguf"
    write_gemma4(found)
    return found


@pytest.fixture(scope="module", params=["on", "off"], ids=["flash", "plain"])
def context(path: Path, request: pytest.FixtureRequest) -> Iterator[Context]:
    model = Model(load(), path)
    context = Context(model, replace(OPTIONS, flash_attention=request.param))
    yield context
    context.close()
    model.close()


def test_a_file_is_small_and_follows_from_its_seed(path: Path, tmp_path: Path) -> None:
    assert path.stat().st_size < 2_000_000
    write_gemma4(tmp_path / "same")
    write_gemma4(tmp_path / "other", seed=1235)
    assert (tmp_path / "same").read_bytes() == path.read_bytes()
    assert (tmp_path / "other").read_bytes() != path.read_bytes()


def test_llama_cpp_gives_it_windows(context: Context) -> None:
    assert context.model.metadata("general.architecture") == "gemma4"
    assert context.model.n_vocab == VOCABULARY
    assert context.memory_class is MemoryClass.ISWA


# Long batches sum the rows of a tile of cells together, and without flash attention so does every step: each row must
# come back to the cell where it was computed, also where the window does not begin at a whole tile.
@pytest.mark.parametrize(
    ("position", "batches"),
    [
        (40, (1, 256, 1)),
        (300, (1,) * 20),
        (300, (40, 1, 1)),
        (300, (TILE - 1, 1)),
        (300, (TILE, 1)),
        (301, (200, 256, 1)),
        (320, (TILE, 1)),
        (320, (200, 256, 1)),
        (512, (256, 70, 1)),
        (555, (256, 70, 1)),
    ],
)
def test_a_restored_window_goes_on_to_the_bit(
    context: Context, position: int, batches: tuple[int, ...]
) -> None:
    read(context, IDS[:position])
    checkpoint = take(context, position)
    never_stopped = go_on(context, IDS, position, batches)
    after = context.export_range(0, position + sum(batches))
    restore(context, checkpoint)
    parts = context.parts()
    seen = min(position, WINDOW)
    assert (parts.attn.cells, parts.swa.pos_min, parts.swa.cells) == (position, position - seen, seen)
    assert take(context, position) == checkpoint
    assert go_on(context, IDS, position, batches).tobytes() == never_stopped.tobytes()
    assert context.export_range(0, position + sum(batches)) == after


@pytest.mark.parametrize("part", ["rows", "state"])
def test_both_parts_of_another_past_move_logits(context: Context, part: str) -> None:
    read(context, IDS[:300])
    true = take(context, 300)
    expected = go_on(context, IDS, 300, (1,))
    read(context, numbers(2, 300))
    other = take(context, 300)
    mixed = (
        Checkpoint(300, other.rows, true.state) if part == "rows" else Checkpoint(300, true.rows, other.state)
    )
    restore(context, mixed)
    assert np.abs(go_on(context, IDS, 300, (1,)) - expected).max() > 0.1
