"""A llama context: decode, logits, and exact state in and out.

Every decode goes through here, so the native counters are the only count of tokens read.
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skippy_chat.errors import NativeError
from skippy_chat.native.library import Counters, Library, SequenceInfo
from skippy_chat.native.model import Model

_WHOLE, _PARTIAL_ONLY = 0, 1
_ABORTED = 2
_FA_TYPES = {"auto": -1, "off": 0, "on": 1}
# Numbers of ggml_type, which are part of the file format and never change.
_KV_TYPES = {
    "f32": 0,
    "f16": 1,
    "q4_0": 2,
    "q4_1": 3,
    "q5_0": 6,
    "q5_1": 7,
    "q8_0": 8,
    "iq4_nl": 20,
    "bf16": 30,
}


Bytes: TypeAlias = "bytes | bytearray | memoryview"


class MemoryClass(enum.IntEnum):
    """How the context remembers, asked of the native object."""

    NONE = 0
    DENSE = 1
    ISWA = 2
    HYBRID = 3
    RECURRENT = 4
    HYBRID_ISWA = 5
    OTHER = 6


class DecodeAborted(Exception):
    """A decode was cancelled; the sequence holds nothing half-done."""


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """How a context is made; sizes in tokens."""

    n_ctx: int
    n_batch: int
    n_ubatch: int
    threads: int
    flash_attention: str = "auto"
    kv_type: str = "f16"
    n_seq_max: int = 1


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a sequence's memory, positions inclusive."""

    pos_min: int
    pos_max: int
    cells: int


@dataclass(frozen=True, slots=True)
class Parts:
    """What a sequence holds in each part of the memory."""

    attn: Part
    recr: Part
    swa: Part


class Context:
    """One llama context on a model; owned by one thread, except ``set_cancel``."""

    def __init__(self, model: Model, options: ContextOptions) -> None:
        """Allocate the context.

        Raises:
            NativeError: no memory for it, or options that the model refuses.
        """
        self.model = model
        self.library: Library = model.library
        self.options = options
        api = self._api = self.library.api
        params = api.llama_context_default_params()
        params.n_ctx = options.n_ctx
        params.n_batch = options.n_batch
        params.n_ubatch = options.n_ubatch
        params.n_seq_max = options.n_seq_max
        params.n_threads = options.threads
        params.n_threads_batch = options.threads
        params.flash_attn_type = _FA_TYPES[options.flash_attention]
        params.kv_unified = False
        params.n_rs_seq = 0
        # A window keeps its own tokens and one batch, not the whole context: less memory, fewer masked rows.
        params.swa_full = False
        params.no_perf = True
        params.type_k = params.type_v = _KV_TYPES[options.kv_type]
        self.pointer = api.llama_init_from_model(model.pointer, params)
        if not self.pointer:
            raise NativeError(
                f"A context of {options.n_ctx} tokens cannot be made for this model.",
                "Ask for a smaller one with --ctx, or see the worker's log.",
            )
        self._memory = api.llama_get_memory(self.pointer)
        self._batch = api.llama_batch_init(options.n_batch, 0, 1)
        self.n_ctx = int(api.llama_n_ctx_seq(self.pointer))
        self.memory_class = MemoryClass(self.library.own.llama_memory_get_class(self.pointer))

    # Reading and generating

    def decode(self, ids: Sequence[int], position: int, *, logits: bool, sequence: int = 0) -> None:
        """Read ``ids`` at ``position`` in one decode call; with ``logits`` the last token's are kept.

        Raises:
            DecodeAborted: cancelled; the sequence is at a right position or empty.
            NativeError: llama.cpp refused; the sequence must be cleared before it is used again.
        """
        batch = self._batch
        count = len(ids)
        if not 0 < count <= self.options.n_batch:
            raise NativeError(f"A batch of {count} tokens was asked for.", "This is a bug: please report it.")
        for index, token in enumerate(ids):
            batch.token[index] = token
            batch.pos[index] = position + index
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = sequence
            batch.logits[index] = 0
        batch.logits[count - 1] = 1 if logits else 0
        batch.n_tokens = count
        result = self._api.llama_decode(self.pointer, batch)
        if result == _ABORTED:
            raise DecodeAborted
        if result != 0:
            raise NativeError(
                f"llama.cpp could not read {count} tokens at position {position} (code {result}).",
                "The worker's log has its own words; a smaller --ctx may help.",
            )

    def logits(self) -> NDArray[np.float32]:
        """Return the last kept logits, shape (n_vocab,), as a view that the next decode overwrites."""
        pointer = self._api.llama_get_logits_ith(self.pointer, -1)
        if not pointer:
            raise NativeError("There are no logits to sample from.", "This is a bug: please report it.")
        address = ctypes.cast(pointer, ctypes.POINTER(ctypes.c_float))
        return np.ctypeslib.as_array(address, shape=(self.model.n_vocab,))

    # What a sequence holds

    def parts(self, sequence: int = 0) -> Parts:
        """Return the positions and cell counts of each part."""
        info = SequenceInfo()
        if not self.library.own.llama_memory_seq_get_info(self.pointer, sequence, ctypes.byref(info)):
            raise NativeError("The memory cannot be asked what it holds.", self.library.last_error())
        return Parts(
            *(Part(part.pos_min, part.pos_max, part.n_cells) for part in (info.attn, info.recr, info.swa))
        )

    def last_position(self, sequence: int = 0) -> int:
        """Return the last position that the whole sequence holds, -1 when it is empty."""
        return int(self._api.llama_memory_seq_pos_max(self._memory, sequence))

    def counters(self) -> Counters:
        """Return the native counters, monotonic over the context's life."""
        counters = Counters()
        self.library.own.llama_skippy_get_counters(self.pointer, ctypes.byref(counters))
        return counters

    def clear(self, sequence: int = 0) -> None:
        """Empty a sequence, all parts.

        Raises:
            NativeError: a part still holds cells afterwards.
        """
        if self.memory_class is MemoryClass.NONE:
            return
        self._api.llama_memory_seq_rm(self._memory, sequence, -1, -1)
        left = self.last_position(sequence) >= 0
        if self.memory_class is not MemoryClass.OTHER:
            parts = self.parts(sequence)
            left = left or bool(parts.attn.cells or parts.recr.cells or parts.swa.cells)
        if left:
            raise NativeError("The model's memory could not be emptied.", "Restart the program.")

    def truncate(self, position: int, sequence: int = 0) -> bool:
        """Drop all tokens from ``position`` on; False when this memory cannot."""
        return bool(self._api.llama_memory_seq_rm(self._memory, sequence, position, -1))

    # Exact state out and in

    def range_size(self, p0: int, p1: int, sequence: int = 0) -> int:
        """Return the bytes that ``export_range`` would give; 0 when there are no such rows."""
        return int(self.library.own.llama_state_seq_get_range_size(self.pointer, sequence, p0, p1))

    def export_range(self, p0: int, p1: int, sequence: int = 0) -> bytearray:
        """Return the attention rows of positions ``[p0, p1)``.

        Raises:
            NativeError: this memory has none, or not exactly those positions.
        """
        own = self.library.own
        size = self.range_size(p0, p1, sequence)
        blob = bytearray(size)
        if (
            size == 0
            or own.llama_state_seq_get_range(self.pointer, _address(blob), size, sequence, p0, p1) != size
        ):
            raise NativeError(f"Attention rows {p0} to {p1} cannot be taken.", self.library.last_error())
        return blob

    def append_range(self, blob: Bytes, p0: int, p1: int, sequence: int = 0) -> None:
        """Put back the attention rows of ``[p0, p1)`` behind those the sequence holds.

        Raises:
            NativeError: refused, with the reason; the sequence is unchanged.
        """
        used = self.library.own.llama_state_seq_append_range(
            self.pointer, _address(blob), len(blob), sequence, p0, p1
        )
        if used != len(blob):
            raise NativeError(f"Attention rows {p0} to {p1} were refused.", self.library.last_error())

    def state_size(self, sequence: int = 0, *, whole: bool = False) -> int:
        """Return the bytes that ``export_state`` would give now; 0 when the sequence holds nothing."""
        flags = _WHOLE if whole else _PARTIAL_ONLY
        return int(self._api.llama_state_seq_get_size_ext(self.pointer, sequence, flags))

    def export_state(self, sequence: int = 0, *, whole: bool = False) -> bytearray:
        """Return the partial state (recurrent rows, sliding-window caches), or the whole sequence in one blob.

        Raises:
            NativeError: it cannot be taken.
        """
        size = self.state_size(sequence, whole=whole)
        blob = bytearray(size)
        pointer = ctypes.cast(_address(blob), ctypes.POINTER(ctypes.c_uint8)) if size else None
        flags = _WHOLE if whole else _PARTIAL_ONLY
        if (
            size == 0
            or self._api.llama_state_seq_get_data_ext(self.pointer, pointer, size, sequence, flags) != size
        ):
            raise NativeError("The model's state cannot be taken.", "The worker's log has the reason.")
        return blob

    def import_state(self, blob: Bytes, sequence: int = 0, *, whole: bool = False) -> None:
        """Put back a partial state, or a whole sequence.

        Raises:
            NativeError: refused, or not all bytes used.
        """
        pointer = ctypes.cast(_address(blob), ctypes.POINTER(ctypes.c_uint8))
        flags = _WHOLE if whole else _PARTIAL_ONLY
        used = self._api.llama_state_seq_set_data_ext(self.pointer, pointer, len(blob), sequence, flags)
        if used != len(blob):
            raise NativeError("The model's state was refused.", "The worker's log has the reason.")

    # Control

    def set_cancel(self, cancel: bool) -> None:  # noqa: FBT001 - mirrors the native flag
        """Raise or lower the native cancel flag; safe from any thread."""
        self.library.own.llama_set_cancel(self.pointer, cancel)

    def set_threads(self, threads: int) -> None:
        """Use that many threads from the next decode on."""
        self._api.llama_set_n_threads(self.pointer, threads, threads)

    def close(self) -> None:
        """Free the context; safe to call twice."""
        if self.pointer:
            self._api.llama_batch_free(self._batch)
            self._api.llama_free(self.pointer)
            self.pointer = None


def _address(buffer: Bytes) -> Any:
    """Return the address of a buffer's bytes, read-only mappings included, without a copy."""
    return np.frombuffer(buffer, dtype=np.uint8).ctypes.data
