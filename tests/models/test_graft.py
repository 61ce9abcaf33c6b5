from __future__ import annotations

import dataclasses
from pathlib import Path

import gguf
import numpy as np
import pytest

from skippy_chat.errors import ModelFileError
from skippy_chat.models.branch import BranchShape, BranchWeights, LayerBranch
from skippy_chat.models.graft import Label, graft, half_split_rows
from skippy_chat.models.header import read_header
from skippy_chat.models.inspect import inspect_model
from skippy_chat.models.writing import Written
from tests.models.conftest import ignore
from tests.models.lane import Lane
from tests.models.seeded import seeded_branch
from tests.models.small import HEADS, LAYERS, VOCABULARY, WIDTH, small_llama

SHAPE = BranchShape(inner=32, state=16, heads=2)
PLAIN_KEYS = 3  # version and the two counts, which the package lists among the metadata


@dataclasses.dataclass(frozen=True)
class SilentBranch:
    """A branch whose output is all zeros, so that the hybrid must compute what its base does."""

    shape: BranchShape

    def layer(self, index: int, width: int) -> LayerBranch:
        layer = seeded_branch(self.shape, 1).layer(index, width)
        return dataclasses.replace(layer, project_out=np.zeros_like(layer.project_out))


def grafted(
    base: Path,
    branch: BranchWeights | None = None,
    name: str = "hybrid.gguf",
    chat_template: str | None = None,
) -> Written:
    return graft(
        base,
        base.with_name(name),
        branch or seeded_branch(SHAPE, 1),
        Label("Hybrid", "made in a test", chat_template),
        progress=ignore,
    )


def tensors(path: Path) -> dict[str, gguf.ReaderTensor]:
    return {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}


class TestRows:
    def test_pairs_part(self) -> None:
        rows = bytes(range(8))
        assert half_split_rows(rows, heads=1, rows=8) == bytes([0, 2, 4, 6, 1, 3, 5, 7])
        assert half_split_rows(rows, heads=2, rows=8) == bytes([0, 2, 1, 3, 4, 6, 5, 7])
        assert half_split_rows(rows, heads=1, rows=4) == bytes([0, 1, 4, 5, 2, 3, 6, 7])

    def test_undoes_what_the_converter_does(self, tmp_path: Path) -> None:
        base = tmp_path / "base.gguf"
        trained = small_llama(base)
        found = tensors(grafted(base).path)
        for name in (
            "blk.0.attn_q.weight",
            "blk.1.attn_q.weight",
            "blk.0.attn_k.weight",
            "blk.1.attn_k.weight",
        ):
            assert not np.array_equal(tensors(base)[name].data, trained[name])
            assert np.array_equal(found[name].data, trained[name])

    def test_quantised_rows_move_whole(self, tmp_path: Path) -> None:
        base = tmp_path / "base.gguf"
        small_llama(base, quantised=True)
        before, after = (
            tensors(base)["blk.0.attn_q.weight"],
            tensors(grafted(base).path)["blk.0.attn_q.weight"],
        )
        assert before.tensor_type == after.tensor_type == gguf.GGMLQuantizationType.Q4_1
        old = gguf.quants.dequantize(before.data, before.tensor_type)
        new = gguf.quants.dequantize(after.data, after.tensor_type)
        head = WIDTH // HEADS
        for row in range(WIDTH):
            start, within = row // head * head, row % head
            assert np.array_equal(new[start + within // 2 + within % 2 * head // 2], old[row])


class TestFile:
    @pytest.mark.parametrize("quantised", [False, True])
    def test_all_other_weights_are_copied(self, tmp_path: Path, quantised: bool) -> None:
        base = tmp_path / "base.gguf"
        small_llama(base, quantised=quantised)
        found = tensors(grafted(base).path)
        for name, tensor in tensors(base).items():
            if ".attn_q." in name or ".attn_k." in name:
                continue
            other = found[name.removesuffix(".weight") if ".ffn_norm." in name else name]
            assert other.tensor_type == tensor.tensor_type
            assert other.data.tobytes() == tensor.data.tobytes()

    def test_all_metadata_is_copied(self, llama: Path) -> None:
        before, after = gguf.GGUFReader(llama).fields, gguf.GGUFReader(grafted(llama).path).fields
        renamed = {key.replace("llama.", "falcon-h1.", 1): field for key, field in before.items()}
        own = {"general.architecture", "general.name", "GGUF.tensor_count", "GGUF.kv_count"}
        for key in renamed.keys() - own:
            assert after[key].contents() == renamed[key].contents(), key
        assert after["general.architecture"].contents() == "falcon-h1"
        assert {key for key in after.keys() - renamed.keys() if not key.startswith("falcon-h1.ssm.")} == {
            "general.description"
        }

    def test_the_branch_is_there(self, llama: Path) -> None:
        branch = seeded_branch(SHAPE, 1)
        found = tensors(grafted(llama, branch).path)
        for index in range(LAYERS):
            layer = branch.layer(index, WIDTH)
            for name, array in (
                ("ssm_in.weight", layer.project_in),
                ("ssm_conv1d.weight", layer.conv_weight),
                ("ssm_conv1d.bias", layer.conv_bias),
                ("ssm_dt.bias", layer.dt_bias),
                ("ssm_a", layer.decay),
                ("ssm_d", layer.skip),
                ("ssm_out.weight", layer.project_out),
            ):
                assert isinstance(array, np.ndarray)
                assert np.array_equal(found[f"blk.{index}.{name}"].data, array), name

    def test_passes_our_own_inspection(self, llama: Path) -> None:
        written = grafted(llama)
        found = inspect_model(written.path)
        assert (found.architecture, found.name, found.size) == ("falcon-h1", "Hybrid", written.size)

    def test_the_same_bytes_every_time(self, llama: Path) -> None:
        first, second = grafted(llama), grafted(llama, name="again.gguf")
        assert first.sha256 == second.sha256
        assert first.path.read_bytes() == second.path.read_bytes()


class TestRefusals:
    def refused(self, base: Path) -> str:
        with pytest.raises(ModelFileError) as caught:
            grafted(base)
        assert not base.with_name("hybrid.gguf").exists()
        return caught.value.message

    def test_another_architecture(self, tmp_path: Path) -> None:
        small_llama(tmp_path / "m.gguf", architecture="qwen2")
        assert "'qwen2'" in self.refused(tmp_path / "m.gguf")

    def test_a_head_that_is_rotated_in_part(self, tmp_path: Path) -> None:
        small_llama(tmp_path / "m.gguf", rotated=16)
        assert "only a part" in self.refused(tmp_path / "m.gguf")

    def test_a_tensor_without_a_place(self, tmp_path: Path) -> None:
        small_llama(tmp_path / "m.gguf", extra="blk.0.attn_q.bias")
        assert "'blk.0.attn_q.bias'" in self.refused(tmp_path / "m.gguf")

    def test_a_branch_of_other_sizes(self, llama: Path) -> None:
        @dataclasses.dataclass(frozen=True)
        class Wrong(SilentBranch):
            def layer(self, index: int, width: int) -> LayerBranch:
                return super().layer(index, width + 2)

        with pytest.raises(ValueError, match="project_in"):
            grafted(llama, Wrong(SHAPE))


@pytest.mark.model
class TestInLlamaCpp:
    """With F32 weights no rounding of activations hides a wrong row, head or name."""

    IDS = tuple((7 * index + 3) % VOCABULARY for index in range(48))

    def test_a_silent_branch_computes_what_the_base_does(self, llama: Path) -> None:
        with Lane(llama) as lane:
            base = lane.feed(self.IDS)
        with Lane(grafted(llama, SilentBranch(SHAPE)).path) as lane:
            assert lane.is_hybrid
            hybrid = lane.feed(self.IDS)
        assert np.abs(hybrid - base).max() < 2e-4 * base.std()

    def test_the_order_of_rows_matters(self, llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Shows that the test above can fail."""
        with Lane(llama) as lane:
            base = lane.feed(self.IDS)
        monkeypatch.setattr("skippy_chat.models.graft.half_split_rows", lambda data, heads, rows: data)
        with Lane(grafted(llama, SilentBranch(SHAPE)).path) as lane:
            hybrid = lane.feed(self.IDS)
        assert np.abs(hybrid - base).max() > 1e-2 * base.std()

    @pytest.mark.parametrize("gated_norm", [False, True])
    def test_the_recurrent_state_moves_logits(self, llama: Path, gated_norm: bool) -> None:
        shape = dataclasses.replace(SHAPE, gated_norm=gated_norm)
        with Lane(grafted(llama, seeded_branch(shape, 1)).path) as lane:
            lane.feed(self.IDS[::-1][:-1])
            other = lane.partial_state()
            lane.clear()
            lane.feed(self.IDS[:-1])
            own = lane.partial_state()
            true = lane.feed(self.IDS[-1:])
            moved = []
            for state in (own, other):
                lane.clear()
                lane.feed(self.IDS[:-1])
                lane.set_partial_state(state)
                moved.append(np.abs(lane.feed(self.IDS[-1:]) - true).max())
        assert moved[0] == 0
        assert moved[1] > 1e-3 * true.std()


def test_another_chat_template_takes_the_place_of_the_bases_own(llama: Path) -> None:
    keys = [
        read_header(grafted(llama, chat_template=template).path).text("tokenizer.chat_template")
        for template in (None, "{{ messages }}")
    ]
    assert keys == [read_header(llama).text("tokenizer.chat_template"), "{{ messages }}"]
