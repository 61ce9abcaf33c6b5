"""Sliding windows come back exactly: an edited tail behind a restored window gives its replay's logits, bit for bit.

Attention adds up a window's rows in the order of their cells, so a restored row must be in the cell where it was
computed. What shows a row that is elsewhere: a window that does not begin at a whole tile of the attention kernel, a
long batch behind it, and without flash attention every step. Caches that wrap around are tested natively.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.engines import Bench, make_engine, numbers, same_logits
from tests.models.gemma4 import write_gemma4

pytestmark = [pytest.mark.native, pytest.mark.model]

TILE = 64
"""Queries and cells that the flash attention kernel for long batches takes at once."""
NAMES = ["gemma3-dense", "gemma4", "gpt-oss-moe", "lfm2-dense"]
SUMS = [("on", "f16"), ("on", "f32"), ("on", "q8_0"), ("off", "f16"), ("off", "f32")]
TURNS = [(100, 331), (6, 90), (40, 300), (10, 77)]
"""Tokens of each user's message, as it is and as it is after the edit."""
FindModel = Callable[[str], Path]


@pytest.fixture(scope="module")
def windowed_model(tiny_model: FindModel, tmp_path_factory: pytest.TempPathFactory) -> FindModel:
    """The tiny model of that name; a Gemma 4 is written here."""
    written = tmp_path_factory.mktemp("windows") / "gemma4.gguf"

    def find(name: str) -> Path:
        if name != "gemma4":
            return tiny_model(name)
        if not written.exists():
            write_gemma4(written)
        return written

    return find


@pytest.mark.parametrize(("flash_attention", "kv_type"), SUMS)
@pytest.mark.parametrize("name", NAMES)
def test_edited_tails_behind_restored_windows_equal_their_replay(
    name: str, flash_attention: str, kv_type: str, windowed_model: FindModel, tmp_path: Path
) -> None:
    def bench() -> Bench:
        path = windowed_model(name)
        return Bench(make_engine(path, tmp_path, flash_attention=flash_attention, kv_type=kv_type))

    told = bench()
    try:
        told.messages.append({"role": "system", "content": numbers(1, 301)})
        for seed, (tokens, _) in enumerate(TURNS):
            told.say(numbers(10 + seed, tokens), max_tokens=20)
    finally:
        told.engine.close()

    restored = []
    for turn, (_, tokens) in enumerate(TURNS):
        # Another engine each time, which holds nothing: windows come from disk.
        edited = bench()
        try:
            kept = 1 + 2 * turn
            edited.messages = [
                *told.messages[:kept],
                {"role": "user", "content": "11 " + numbers(20 + turn, tokens)},
            ]
            edited.answers = {at: answer for at, answer in told.answers.items() if at < kept}
            result = edited.step()
            _, cached, prefilled = result.counts
            assert result.finished.cache.source == "disk"
            assert prefilled >= TILE
            assert same_logits(result, edited.replay(result.reply))
            restored.append(cached)
        finally:
            edited.engine.close()
    assert all(position % TILE for position in restored)
