"""RWKV in llama.cpp, on models of our own making: recurrent, its whole state felt, restored to the bit."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from skippy_chat.native.context import Context, MemoryClass, Part
from skippy_chat.native.library import load
from skippy_chat.native.model import Model
from tests.engine.engines import Bench, make_engine, same_logits
from tests.engine.engines import numbers as ids_text
from tests.models.restoring import OPTIONS, Checkpoint, Logits, go_on, read, restore, take
from tests.models.rwkv import ARCHITECTURES, HEAD_SIZE, LAYERS, write_rwkv
from tests.models.untrained import VOCABULARY, numbers

pytestmark = [pytest.mark.native, pytest.mark.model]

HEADS = 2
WIDTH = HEADS * HEAD_SIZE
SHIFTED = {"rwkv6": 2, "rwkv7": 2, "rwkv6qwen2": 1, "arwkv7": 1}
HEADER_BYTES = 28  # of a partial state: two words of framing, one cell, two words of layout
ROW_HEADER = 12  # its type and its size
STATE_ROW_BYTES = WIDTH * HEAD_SIZE * 4
POSITION = 300
BATCHES = (40, 1, 1, 1)
IDS = numbers(1, POSITION + sum(BATCHES))


@pytest.fixture(scope="module", params=ARCHITECTURES)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found: Path = tmp_path_factory.mktemp("rwkv") / f"{request.param}.gguf"
    write_rwkv(found, request.param)
    return found


@pytest.fixture(scope="module")
def model(path: Path) -> Iterator[Model]:
    model = Model(load(), path)
    yield model
    model.close()


@pytest.fixture(scope="module")
def context(model: Model) -> Iterator[Context]:
    context = Context(model, OPTIONS)
    yield context
    context.close()


@pytest.fixture(scope="module")
def checkpoint(context: Context) -> Checkpoint:
    read(context, IDS[:POSITION])
    return take(context, POSITION)


def next_logits(context: Context) -> Logits:
    return go_on(context, IDS, POSITION, (1,))


def test_a_file_is_small_and_follows_from_its_seed(path: Path, tmp_path: Path) -> None:
    assert path.stat().st_size < 2_000_000
    write_rwkv(tmp_path / "same", path.stem)
    write_rwkv(tmp_path / "other", path.stem, seed=1235)
    assert (tmp_path / "same").read_bytes() == path.read_bytes()
    assert (tmp_path / "other").read_bytes() != path.read_bytes()


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'llama' is no RWKV"):
        write_rwkv(tmp_path / "m", "llama")
    assert list(tmp_path.iterdir()) == []


def test_llama_cpp_takes_it_for_a_recurrent_model(model: Model, context: Context, path: Path) -> None:
    assert model.metadata("general.architecture") == path.stem
    assert model.n_vocab == VOCABULARY
    assert context.memory_class is MemoryClass.RECURRENT
    read(context, IDS[:POSITION])
    parts = context.parts()
    assert parts.recr == Part(POSITION - 1, POSITION - 1, 1)
    assert parts.attn.cells == parts.swa.cells == 0
    assert context.range_size(0, POSITION) == 0


def test_the_state_has_rows_for_every_layer(checkpoint: Checkpoint, path: Path) -> None:
    rows = SHIFTED[path.stem] * WIDTH * 4 + STATE_ROW_BYTES
    assert len(checkpoint.state) == HEADER_BYTES + LAYERS * (2 * ROW_HEADER + rows)


def test_a_restored_state_goes_on_to_the_bit(context: Context, checkpoint: Checkpoint) -> None:
    read(context, IDS[:POSITION])
    never_stopped = go_on(context, IDS, POSITION, BATCHES)
    after = bytes(context.export_state())
    restore(context, checkpoint)
    assert context.parts().recr == Part(POSITION - 1, POSITION - 1, 1)
    assert bytes(context.export_state()) == checkpoint.state
    restored = go_on(context, IDS, POSITION, BATCHES)
    assert restored.tobytes() == never_stopped.tobytes()
    assert bytes(context.export_state()) == after


def test_a_new_context_goes_on_to_the_bit(model: Model, context: Context, checkpoint: Checkpoint) -> None:
    read(context, IDS[:POSITION])
    never_stopped = go_on(context, IDS, POSITION, BATCHES)
    other = Context(model, OPTIONS)
    try:
        restore(other, checkpoint)
        assert go_on(other, IDS, POSITION, BATCHES).tobytes() == never_stopped.tobytes()
    finally:
        other.close()


@pytest.mark.parametrize("layer", range(LAYERS))
@pytest.mark.parametrize("part", ["shift", "state"])
def test_one_lost_row_moves_logits(
    context: Context, checkpoint: Checkpoint, path: Path, part: str, layer: int
) -> None:
    shift = SHIFTED[path.stem] * WIDTH * 4
    size = shift if part == "shift" else STATE_ROW_BYTES
    start = HEADER_BYTES if part == "shift" else HEADER_BYTES + LAYERS * (ROW_HEADER + shift)
    start += layer * (ROW_HEADER + size)
    assert struct.unpack_from("<iQ", checkpoint.state, start) == (0, size)
    start += ROW_HEADER
    lost = checkpoint.state[:start] + bytes(size) + checkpoint.state[start + size :]
    restore(context, checkpoint)
    expected = next_logits(context)
    restore(context, Checkpoint(POSITION, b"", lost))
    assert np.abs(next_logits(context) - expected).max() > 0.1


def test_the_oldest_token_is_still_felt(context: Context, checkpoint: Checkpoint) -> None:
    restore(context, checkpoint)
    expected = next_logits(context)
    read(context, [(IDS[0] + 1) % VOCABULARY, *IDS[1:POSITION]])
    assert np.abs(next_logits(context) - expected).max() > 1e-3


@pytest.mark.timeout(60, method="thread")  # a hang in native code does not see the signal
def test_more_threads_than_heads_neither_hang_nor_move_a_bit(path: Path, tmp_path: Path) -> None:
    # Threads without a head used to leave before the barrier at which the others then waited for ever.
    write_rwkv(tmp_path / path.name, path.stem, heads=1)
    model = Model(load(), tmp_path / path.name)
    context = Context(model, OPTIONS)
    try:
        read(context, IDS[:POSITION])
        with_one = go_on(context, IDS, POSITION, BATCHES)
        context.set_threads(2)
        read(context, IDS[:POSITION])
        assert go_on(context, IDS, POSITION, BATCHES).tobytes() == with_one.tobytes()
    finally:
        context.close()
        model.close()


def test_a_conversation_is_resumed_and_replayed_exactly(path: Path, tmp_path: Path) -> None:
    first = Bench(make_engine(path, tmp_path))
    try:
        first.messages.append({"role": "system", "content": ids_text(1, 300)})
        first.say(ids_text(2, 40))
        turn = first.say(ids_text(3, 20))
        prompt, cached, prefilled = turn.counts
        assert 300 < cached < prompt
        assert cached + prefilled == prompt
        assert same_logits(turn, first.replay(turn.reply))
    finally:
        first.engine.close()

    second = Bench(make_engine(path, tmp_path), first.messages[:-1], first.answers)
    try:
        again = second.step()
        assert again.counts == (prompt, prompt, 0)
        assert again.finished.cache.source == "disk"
        assert same_logits(again, turn)
    finally:
        second.engine.close()
