from __future__ import annotations

import dataclasses
from pathlib import Path

import gguf
import numpy as np
import pytest

from skippy_chat.errors import ModelFileError
from skippy_chat.models.branch import BranchShape, LayerBranch, PackedRows
from skippy_chat.models.branch_file import read_branch, write_branch
from skippy_chat.models.graft import Label, graft
from tests.models.conftest import ignore
from tests.models.seeded import seeded_branch
from tests.models.small import LAYERS, WIDTH, small_llama

SHAPE = BranchShape(inner=32, state=16, heads=2, gated_norm=True)
Q8_0 = gguf.GGMLQuantizationType.Q8_0


def packed(layer: LayerBranch) -> LayerBranch:
    """The projections as Q8_0, by the ``gguf`` package."""

    def rows(array: object) -> PackedRows:
        assert isinstance(array, np.ndarray)
        return PackedRows(
            array.shape, int(Q8_0), gguf.quants.quantize(array.astype(np.float32), Q8_0).tobytes()
        )

    return dataclasses.replace(layer, project_in=rows(layer.project_in), project_out=rows(layer.project_out))


def written(folder: Path, layers: int = LAYERS) -> Path:
    seeded = seeded_branch(SHAPE, 3)
    each = [packed(seeded.layer(index, WIDTH)) for index in range(layers)]
    path = folder / "branch.gguf"
    write_branch(path, SHAPE, each, WIDTH, "made in a test", progress=ignore)
    return path


def test_a_layer_comes_back_to_the_bit(tmp_path: Path) -> None:
    branch = read_branch(written(tmp_path))
    assert (branch.shape, branch.layers, branch.width) == (SHAPE, LAYERS, WIDTH)
    expected = packed(seeded_branch(SHAPE, 3).layer(1, WIDTH))
    found = branch.layer(1, WIDTH)
    found.check(SHAPE, WIDTH)
    for field in dataclasses.fields(LayerBranch):
        one, two = getattr(expected, field.name), getattr(found, field.name)
        assert np.array_equal(one, two) if isinstance(one, np.ndarray) else one == two, field.name


def test_the_hybrid_holds_the_files_bytes(tmp_path: Path) -> None:
    base = tmp_path / "base.gguf"
    small_llama(base, quantised=True)
    path = written(tmp_path)
    hybrid = graft(
        base, tmp_path / "hybrid.gguf", read_branch(path), Label("H", "test"), progress=ignore
    ).path
    own = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    made = {tensor.name: tensor for tensor in gguf.GGUFReader(hybrid).tensors}
    assert own.keys() <= made.keys()
    for name, tensor in own.items():
        assert made[name].tensor_type == tensor.tensor_type
        assert np.array_equal(made[name].data, tensor.data), name


def test_a_base_of_another_size_is_refused(tmp_path: Path) -> None:
    branch = read_branch(written(tmp_path, layers=1))
    with pytest.raises(ModelFileError, match="1 layers of width 64, not for layer 1"):
        branch.layer(1, WIDTH)
    with pytest.raises(ModelFileError, match="width 65"):
        branch.layer(0, WIDTH + 1)


def test_another_model_is_no_branch(tmp_path: Path) -> None:
    base = tmp_path / "base.gguf"
    small_llama(base)
    with pytest.raises(ModelFileError, match="is no branch"):
        read_branch(base)


def test_sizes_that_no_branch_has_are_refused(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "bad.gguf", "skippy-branch")
    for key, value in {"inner": 32, "state": 16, "heads": 5, "groups": 1, "conv": 4}.items():
        writer.add_uint32(f"skippy-branch.{key}", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(ModelFileError, match="sizes that no branch has"):
        read_branch(tmp_path / "bad.gguf")


def test_a_missing_tensor_is_told(tmp_path: Path) -> None:
    layer = packed(seeded_branch(SHAPE, 3).layer(0, WIDTH))
    path = tmp_path / "branch.gguf"
    write_branch(path, SHAPE, [dataclasses.replace(layer, norm=None)], WIDTH, "", progress=ignore)
    with pytest.raises(ModelFileError, match=r"lacks blk\.0\.ssm_norm\.weight"):
        read_branch(path).layer(0, WIDTH)
