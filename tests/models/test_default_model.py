"""The real default model in llama.cpp: hybrid, still speaking, its state felt."""

from __future__ import annotations

import dataclasses
import hashlib
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from jinja2 import Environment
from numpy.typing import NDArray

from skippy_chat.models import default
from skippy_chat.models.branch_file import read_branch
from skippy_chat.models.graft import graft
from skippy_chat.models.inspect import inspect_model
from tests.models.conftest import ignore
from tests.models.lane import Lane

pytestmark = [pytest.mark.model, pytest.mark.timeout(600)]

LAYERS = 30
HEADER_BYTES = 28  # of a partial state: two words of framing, one cell, two words of layout
CONV_ROW_BYTES = 3 * (256 + 2 * 32) * 4
STATE_ROW_BYTES = 256 * 32 * 4


@dataclasses.dataclass(frozen=True, slots=True)
class Turn:
    """A prompt with its last token held back, and the logits that token gives."""

    ids: list[int]
    state: bytes
    logits: NDArray[np.float32]


@pytest.fixture(scope="module")
def hybrid(base_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default model, made here and now rather than taken from the cache."""
    written = graft(
        base_gguf,
        tmp_path_factory.mktemp("model") / default.DEFAULT_FILE,
        read_branch(default.DEFAULT_BRANCH),
        default.default_label(),
        progress=ignore,
    )
    assert (written.size, written.sha256) == (default.DEFAULT_SIZE, default.DEFAULT_SHA256)
    return written.path


@pytest.fixture(scope="module")
def lane(hybrid: Path) -> Iterator[Lane]:
    with Lane(hybrid) as lane:
        yield lane


def prompt(path: Path, question: str, system: str = "Answer in one short sentence.") -> str:
    """Render a first turn with the chat template of ``path``."""
    template = inspect_model(path).chat_template
    assert template is not None
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    text: str = (
        Environment(autoescape=False)
        .from_string(template)
        .render(messages=messages, add_generation_prompt=True)
    )
    return text


@pytest.fixture(scope="module")
def turn(lane: Lane, hybrid: Path) -> Turn:
    ids = lane.tokens(prompt(hybrid, "What is the capital of France?"))
    lane.clear()
    lane.feed(ids[:-1])
    state = lane.partial_state()
    return Turn(ids, state, lane.feed(ids[-1:]))


def moved(lane: Lane, turn: Turn, state: bytes) -> float:
    """Return by how much the logits move when ``state`` stands in for the true one."""
    lane.clear()
    lane.feed(turn.ids[:-1])
    lane.set_partial_state(state)
    return float(np.abs(lane.feed(turn.ids[-1:]) - turn.logits).max())


def test_the_made_file_is_the_pinned_one(hybrid: Path) -> None:
    assert hashlib.sha256(hybrid.read_bytes()).hexdigest() == default.DEFAULT_SHA256


def test_llama_cpp_takes_it_for_a_hybrid(lane: Lane) -> None:
    assert lane.is_hybrid
    assert lane.metadata("general.architecture") == "falcon-h1"
    assert lane.metadata("general.license") == "apache-2.0"


def test_it_still_speaks(lane: Lane, turn: Turn) -> None:
    assert lane.answer(turn.ids, 16) == "The capital of France is Paris."


def test_its_base_is_not_a_hybrid(base_gguf: Path) -> None:
    with Lane(base_gguf) as base:
        assert not base.is_hybrid
        assert base.metadata("general.architecture") == "llama"


def test_the_state_has_a_row_for_every_layer(turn: Turn) -> None:
    assert len(turn.state) == HEADER_BYTES + LAYERS * (24 + CONV_ROW_BYTES + STATE_ROW_BYTES)


def test_its_own_state_moves_nothing(lane: Lane, turn: Turn) -> None:
    assert moved(lane, turn, turn.state) == 0


def test_a_foreign_state_moves_logits(lane: Lane, turn: Turn, hybrid: Path) -> None:
    text = prompt(
        hybrid, "Tell me a long story about a purple dragon who sings badly in the rain and likes it."
    )
    other = lane.tokens(text)[: len(turn.ids)]
    assert len(other) == len(turn.ids)
    lane.clear()
    lane.feed(other[:-1])
    assert moved(lane, turn, lane.partial_state()) > 0.1


@pytest.mark.parametrize("layer", [0, 1, 7, 14, 21, 28, 29])
@pytest.mark.parametrize("part", ["conv", "state"])
def test_one_lost_row_moves_logits(lane: Lane, turn: Turn, part: str, layer: int) -> None:
    size = CONV_ROW_BYTES if part == "conv" else STATE_ROW_BYTES
    start = HEADER_BYTES if part == "conv" else HEADER_BYTES + LAYERS * (12 + CONV_ROW_BYTES)
    start += layer * (12 + size)
    assert struct.unpack_from("<iQ", turn.state, start) == (0, size)
    lost = bytearray(turn.state)
    lost[start + 12 : start + 12 + size] = bytes(size)
    assert moved(lane, turn, bytes(lost)) > 0.01
