"""One llama.cpp sequence through the raw bindings: an oracle that shares no code with ``skippy_chat.native``."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

PARTIAL = 1


class Lane:
    """A loaded model with one context; decodes on one thread, which others on the same cores do not slow."""

    def __init__(self, path: Path, context_size: int = 1024) -> None:
        import llama_cpp as native  # noqa: PLC0415 - only tests that load weights need the native library

        self.native = native
        native.llama_backend_init()
        self.model = native.llama_model_load_from_file(
            str(path).encode(), native.llama_model_default_params()
        )
        assert self.model, f"{path} did not load"
        params = native.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = context_size, 512, 512
        params.n_threads = params.n_threads_batch = 1
        self.context = native.llama_init_from_model(self.model, params)
        assert self.context, f"{path} gave no context"
        self.vocabulary = native.llama_model_get_vocab(self.model)
        self.size = native.llama_vocab_n_tokens(self.vocabulary)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.native.llama_free(self.context)
        self.native.llama_model_free(self.model)

    @property
    def is_hybrid(self) -> bool:
        return bool(self.native.llama_model_is_hybrid(self.model))

    def metadata(self, key: str) -> str:
        buffer = ctypes.create_string_buffer(1 << 16)
        count = self.native.llama_model_meta_val_str(self.model, key.encode(), buffer, len(buffer))
        assert count >= 0, f"no metadata {key}"
        return buffer.value.decode()

    def tokens(self, text: str) -> list[int]:
        data = text.encode()
        ids = (self.native.llama_token * (len(data) + 8))()
        count = self.native.llama_tokenize(self.vocabulary, data, len(data), ids, len(ids), False, True)
        assert count >= 0
        return list(ids[:count])

    def text(self, ids: Sequence[int]) -> str:
        buffer = ctypes.create_string_buffer(256)
        pieces = []
        for token in ids:
            count = self.native.llama_token_to_piece(self.vocabulary, token, buffer, len(buffer), 0, True)
            pieces.append(buffer.raw[:count])
        return b"".join(pieces).decode("utf-8", errors="replace")

    def clear(self) -> None:
        self.native.llama_memory_clear(self.native.llama_get_memory(self.context), True)

    def feed(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Decode ``ids`` after what is there and return the logits of the last one."""
        array = (self.native.llama_token * len(ids))(*ids)
        batch = self.native.llama_batch_get_one(array, len(ids))
        assert self.native.llama_decode(self.context, batch) == 0
        logits = self.native.llama_get_logits_ith(self.context, -1)
        found: NDArray[np.float32] = np.ctypeslib.as_array(logits, (self.size,)).copy()
        return found

    def answer(self, prompt: Sequence[int], most: int) -> str:
        """Return the greedy answer to ``prompt``, read from scratch."""
        self.clear()
        logits = self.feed(prompt)
        ids: list[int] = []
        while len(ids) < most:
            token = int(logits.argmax())
            if self.native.llama_vocab_is_eog(self.vocabulary, token):
                break
            ids.append(token)
            logits = self.feed([token])
        return self.text(ids)

    def partial_state(self) -> bytes:
        size = self.native.llama_state_seq_get_size_ext(self.context, 0, PARTIAL)
        buffer = (ctypes.c_uint8 * size)()
        assert self.native.llama_state_seq_get_data_ext(self.context, buffer, size, 0, PARTIAL) == size
        return bytes(buffer)

    def set_partial_state(self, state: bytes) -> None:
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        done = self.native.llama_state_seq_set_data_ext(self.context, buffer, len(state), 0, PARTIAL)
        assert done == len(state)
