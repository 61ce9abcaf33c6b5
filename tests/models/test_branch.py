from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import pytest

from skippy_chat.models.branch import BranchShape, LayerBranch
from tests.models.seeded import seeded_branch

SHAPE = BranchShape()
WIDTH = 576


def digest(layer: LayerBranch) -> str:
    state = hashlib.sha256()
    for field in dataclasses.fields(layer):
        array = getattr(layer, field.name)
        if array is not None:
            state.update(array.tobytes())
    return state.hexdigest()


def test_the_bits_are_these_on_every_machine() -> None:
    layer = seeded_branch(SHAPE, 2).layer(3, WIDTH)
    assert digest(layer) == "4761e81244f7bc5751bb423ea33bc683c654bb3677570edced4b9d61d06cefd7"


def test_layers_and_seeds_differ() -> None:
    layers = [seeded_branch(SHAPE, seed).layer(index, WIDTH) for seed in (1, 2) for index in (0, 1)]
    assert len({digest(layer) for layer in layers}) == 4


def test_projections_of_one_layer_are_not_of_one_stream() -> None:
    layer = seeded_branch(SHAPE, 1).layer(0, WIDTH)
    assert isinstance(layer.project_in, np.ndarray)
    assert isinstance(layer.project_out, np.ndarray)
    first, second = layer.project_in.ravel()[:4000], layer.project_out.ravel()[:4000]
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1


def test_numbers_have_the_deviation_that_was_asked_for() -> None:
    layer = seeded_branch(SHAPE, 7, gains=(4.0,)).layer(0, WIDTH)
    assert isinstance(layer.project_in, np.ndarray)
    assert isinstance(layer.project_out, np.ndarray)
    assert layer.project_out.std(dtype=np.float64) == pytest.approx(0.3 / np.sqrt(192), rel=0.02)
    assert layer.project_in.std(dtype=np.float64) == pytest.approx(4 / np.sqrt(WIDTH), rel=0.02)
    assert abs(layer.project_in.mean(dtype=np.float64)) < 1e-3


def test_rows_of_the_projection() -> None:
    shape = BranchShape(inner=256, state=32, heads=4, gated_norm=True)
    assert shape.conv_rows == 256 + 2 * 32
    assert shape.projection_rows == 256 + 320 + 4


def test_a_gated_norm_comes_with_its_weights() -> None:
    shape = BranchShape(inner=256, heads=4, gated_norm=True)
    layer = seeded_branch(shape, 1).layer(0, WIDTH)
    layer.check(shape, WIDTH)
    with pytest.raises(ValueError, match="norm is None"):
        dataclasses.replace(layer, norm=None).check(shape, WIDTH)
    with pytest.raises(ValueError, match="says it has none"):
        layer.check(dataclasses.replace(shape, gated_norm=False), WIDTH)


def test_shapes_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="cannot be shared"):
        BranchShape(inner=100, heads=3)
    with pytest.raises(ValueError, match="at least"):
        BranchShape(conv=1)


def test_weights_of_other_sizes_are_refused() -> None:
    layer = seeded_branch(SHAPE, 1).layer(0, WIDTH)
    with pytest.raises(ValueError, match="project_in"):
        layer.check(SHAPE, WIDTH + 1)
    with pytest.raises(ValueError, match="negative"):
        dataclasses.replace(layer, decay=np.zeros((6, 1), np.float32)).check(SHAPE, WIDTH)
