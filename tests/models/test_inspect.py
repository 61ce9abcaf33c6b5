from __future__ import annotations

import os
import struct
import tracemalloc
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skippy_chat.errors import ModelFileError
from skippy_chat.models.inspect import inspect_model
from skippy_chat.models.tensor_types import FILE_TYPES, TENSOR_TYPES
from tests.models.small import LAYERS, TEMPLATE, bare, small_llama

COUNTS = 8  # where the header's two counts begin


def refused(path: Path) -> ModelFileError:
    with pytest.raises(ModelFileError) as caught:
        inspect_model(path)
    assert str(path) in caught.value.message
    assert "\n" not in str(caught.value)
    return caught.value


def patched(path: Path, position: int, data: bytes) -> Path:
    content = bytearray(path.read_bytes())
    content[position : position + len(data)] = data
    path.write_bytes(content)
    return path


class TestWholeModels:
    def test_tells_what_the_file_says(self, llama: Path) -> None:
        found = inspect_model(llama)
        assert (found.architecture, found.name, found.licence) == ("llama", "Small", "mit")
        assert (found.context_length, found.block_count) == (256, LAYERS)
        assert found.chat_template == TEMPLATE
        assert found.size == llama.stat().st_size
        assert found.parts == (llama,)

    def test_counts_tensors_and_parameters_as_the_package_does(self, tmp_path: Path) -> None:
        path = tmp_path / "m.gguf"
        small_llama(path, quantised=True)
        tensors = gguf.GGUFReader(path).tensors
        found = inspect_model(path)
        assert found.n_tensors == len(tensors)
        assert found.n_parameters == sum(int(np.prod(tensor.shape)) for tensor in tensors)

    def test_without_a_claim_the_type_with_most_bytes_is_told(self, tmp_path: Path) -> None:
        path = bare(tmp_path / "m.gguf")
        assert inspect_model(path).quantisation == "F32"
        assert inspect_model(path).chat_template is None

    def test_weights_are_not_read(self, tmp_path: Path) -> None:
        path = tmp_path / "big.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        n_bytes = 1 << 36  # 64 GiB, all of it a hole: reading it would take minutes
        writer.add_tensor_info("big", (1 << 14, 1 << 20), np.dtype(np.float32), n_bytes)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        writer.close()
        os.truncate(path, path.stat().st_size + n_bytes + 32)
        assert inspect_model(path).n_parameters == 1 << 34

    def test_types_are_those_of_the_package(self) -> None:
        for kind, (block, n_bytes) in gguf.GGML_QUANT_SIZES.items():
            if kind.value in TENSOR_TYPES and kind.name != "Q8_1":  # stale there, and never in a file
                ours = TENSOR_TYPES[kind.value]
                assert (ours.name, ours.block, ours.block_bytes) == (kind.name, block, n_bytes)
        assert len(TENSOR_TYPES.keys() & {kind.value for kind in gguf.GGML_QUANT_SIZES}) >= 30

    def test_file_types_are_those_of_the_package(self) -> None:
        for kind in gguf.LlamaFileType:
            if kind.value in FILE_TYPES:
                name = kind.name.removeprefix("MOSTLY_").removeprefix("ALL_").removesuffix("_MOE")
                assert FILE_TYPES[kind.value] == name


class TestNotAModel:
    def test_missing(self, tmp_path: Path) -> None:
        assert "no such file" in refused(tmp_path / "absent.gguf").message

    def test_folder(self, tmp_path: Path) -> None:
        assert "is a folder" in refused(tmp_path).message

    def test_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        path = tmp_path / "pipe.gguf"
        os.mkfifo(path)
        assert "not a regular file" in refused(path).message

    @pytest.mark.parametrize(
        ("start", "what"),
        [
            (b"", "is empty"),
            (b"PK\x03\x04" + bytes(60), "zip archive"),
            (b"\n<!DOCTYPE html><html>", "web page"),
            (b"<html><head><title>Sign in", "web page"),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "Git LFS pointer"),
            (struct.pack("<Q", 64) + b'{"__metadata__":{}}', "safetensors"),
            (b"lmgg" + bytes(60), "before GGUF"),
            (b"\x80\x02}q", "pickle"),
            (b"\x1f\x8b\x08" + bytes(20), "compressed"),
            (b'{"error":"not found"}', "JSON"),
            (bytes(100), "something else"),
        ],
    )
    def test_foreign_formats_are_named(self, tmp_path: Path, start: bytes, what: str) -> None:
        path = tmp_path / "m.gguf"
        path.write_bytes(start)
        error = refused(path)
        assert what in error.message
        assert error.hint

    def test_big_endian(self, llama: Path) -> None:
        assert "big-endian" in refused(patched(llama, 4, struct.pack(">I", 3))).message

    @pytest.mark.parametrize("version", [1, 4])
    def test_other_versions(self, llama: Path, version: int) -> None:
        assert f"version {version}" in refused(patched(llama, 4, struct.pack("<I", version))).message

    def test_vocabulary_only(self, tmp_path: Path) -> None:
        assert "only a vocabulary" in refused(bare(tmp_path / "v.gguf", tensors=0)).message

    @pytest.mark.parametrize(("kind", "what"), [("adapter", "LoRA"), ("mmproj", "projector")])
    def test_files_that_belong_to_a_model(self, tmp_path: Path, kind: str, what: str) -> None:
        path = tmp_path / "m.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_type(kind)
        writer.add_tensor("a", np.zeros(32, dtype=np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        assert what in refused(path).message


class TestDamage:
    def test_every_truncation_is_told(self, llama: Path) -> None:
        whole = llama.read_bytes()
        end = max(int(tensor.data_offset + tensor.n_bytes) for tensor in gguf.GGUFReader(llama).tensors)
        for size in [*range(4, 3000, 7), *range(3000, end, 9973), end - 1]:
            llama.write_bytes(whole[:size])
            assert "truncated" in refused(llama).message
        llama.write_bytes(whole[:end])
        inspect_model(llama)

    def test_truncation_names_both_sizes(self, llama: Path) -> None:
        end = max(int(tensor.data_offset + tensor.n_bytes) for tensor in gguf.GGUFReader(llama).tensors)
        os.truncate(llama, end - 1000)
        assert f"expected {end} bytes, has {end - 1000}" in refused(llama).message

    @pytest.mark.parametrize("count", [1 << 20, 1 << 40, (1 << 64) - 1])
    @pytest.mark.parametrize("position", [COUNTS, COUNTS + 8, COUNTS + 16])
    def test_hostile_counts_allocate_nothing(self, llama: Path, position: int, count: int) -> None:
        patched(llama, position, struct.pack("<Q", count))  # tensors, entries, length of the first key
        tracemalloc.start()
        refused(llama)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2 << 20

    @pytest.mark.parametrize("count", [1 << 20, 1 << 62])
    def test_hostile_array(self, llama: Path, count: int) -> None:
        key = b"tokenizer.ggml.tokens"
        position = llama.read_bytes().index(key) + len(key) + 8
        assert "promises" in refused(patched(llama, position, struct.pack("<Q", count))).message

    def test_hostile_shape(self, llama: Path) -> None:
        name = b"output_norm.weight"
        position = llama.read_bytes().index(name) + len(name) + 4
        assert "impossible shape" in refused(patched(llama, position, struct.pack("<Q", 1 << 63))).message

    def test_unknown_tensor_type(self, llama: Path) -> None:
        name = b"output_norm.weight"
        position = llama.read_bytes().index(name) + len(name) + 12
        assert "type 200" in refused(patched(llama, position, struct.pack("<I", 200))).message

    def test_tensor_that_lies_elsewhere(self, llama: Path) -> None:
        name = b"output_norm.weight"
        position = llama.read_bytes().index(name) + len(name) + 16
        assert "starts at 32" in refused(patched(llama, position, struct.pack("<Q", 32))).message

    def test_tensor_of_one_name_twice(self, llama: Path) -> None:
        content = llama.read_bytes()
        llama.write_bytes(content.replace(b"blk.1.attn_q.weight", b"blk.0.attn_q.weight"))
        assert "appears twice" in refused(llama).message

    @pytest.mark.parametrize("alignment", [0, 3, 48])
    def test_alignment_that_is_no_power_of_two(self, tmp_path: Path, alignment: int) -> None:
        path = tmp_path / "m.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_uint32("general.alignment", alignment)
        writer.add_tensor("a", np.zeros(32, dtype=np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        assert "power of two" in refused(path).message

    @given(data=st.data())
    @settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    def test_changed_bytes_never_escape_as_another_error(self, llama: Path, data: st.DataObject) -> None:
        whole = llama.read_bytes()
        header = min(int(tensor.data_offset) for tensor in gguf.GGUFReader(llama).tensors)
        changed = bytearray(whole)
        for _ in range(data.draw(st.integers(1, 4))):
            changed[data.draw(st.integers(0, header - 1))] = data.draw(st.integers(0, 255))
        llama.write_bytes(changed)
        try:
            inspect_model(llama)
        except ModelFileError:
            pass
        finally:
            llama.write_bytes(whole)


class TestSplitModels:
    def parts(self, folder: Path, promised: int = 3) -> list[Path]:
        return [
            bare(
                folder / f"m-{part + 1:05d}-of-00003.gguf",
                split_no=part,
                split_count=3,
                split_tensors_count=promised,
            )
            for part in range(3)
        ]

    def test_all_parts_count(self, tmp_path: Path) -> None:
        parts = self.parts(tmp_path)
        found = inspect_model(parts[0])
        assert found.parts == tuple(parts)
        assert found.n_tensors == 3
        assert found.size == sum(part.stat().st_size for part in parts)

    def test_missing_parts_are_named(self, tmp_path: Path) -> None:
        parts = self.parts(tmp_path)
        parts[1].unlink()
        message = refused(parts[0]).message
        assert parts[1].name in message
        assert parts[2].name not in message

    def test_a_later_part_points_to_the_first(self, tmp_path: Path) -> None:
        parts = self.parts(tmp_path)
        assert str(parts[0]) in refused(parts[1]).hint

    def test_a_renamed_part(self, tmp_path: Path) -> None:
        renamed = self.parts(tmp_path)[0].rename(tmp_path / "renamed.gguf")
        assert "one of 3 parts" in refused(renamed).message

    def test_parts_of_two_models(self, tmp_path: Path) -> None:
        assert "promises" in refused(self.parts(tmp_path, promised=9)[0]).message

    def test_a_truncated_later_part(self, tmp_path: Path) -> None:
        parts = self.parts(tmp_path)
        os.truncate(parts[2], parts[2].stat().st_size - 200)
        with pytest.raises(ModelFileError, match=parts[2].name):
            inspect_model(parts[0])
