"""A loaded model and its vocabulary: tokens in, bytes out."""

from __future__ import annotations

import ctypes
import enum
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from skippy_chat.errors import ModelFileError, NativeError
from skippy_chat.native.library import Library

_PIECE_BYTES = 256


class TokenFlag(enum.IntFlag):
    """What llama.cpp knows of a token; other bits are left out."""

    NONE = 0
    UNKNOWN = 1 << 0
    CONTROL = 1 << 3
    USER_DEFINED = 1 << 4  # found in any text, even where control tokens are not
    STRIPS_LEFT = 1 << 7  # swallows white space before it
    STRIPS_RIGHT = 1 << 8


_FLAGS = sum(TokenFlag)


class Model:
    """A GGUF model in memory; owned by one thread, closed once."""

    def __init__(
        self,
        library: Library,
        path: Path,
        *,
        gpu_layers: int = 0,
        vocab_only: bool = False,
        on_progress: Callable[[float], None] | None = None,
    ) -> None:
        """Load the weights, or with ``vocab_only`` what tokenising and templates need of the file.

        Raises:
            ModelFileError: llama.cpp cannot load this file; its log says more.
        """
        self.library = library
        self.path = path
        self.gpu_layers = gpu_layers
        api = library.api
        params = api.llama_model_default_params()
        params.n_gpu_layers = gpu_layers
        params.vocab_only = vocab_only

        def progress(fraction: float, _data: Any) -> bool:
            if on_progress is not None:
                on_progress(fraction)
            return True

        # Kept on the instance: ctypes does not hold a reference to a callback.
        self._progress = api.llama_progress_callback(progress)
        params.progress_callback = self._progress
        self.pointer = api.llama_model_load_from_file(str(path).encode(), params)
        if not self.pointer:
            raise ModelFileError(
                f"llama.cpp cannot load {path.name}.",
                "The worker's log has the reason; `skippy-chat models info` checks the file.",
            )
        self.vocab = api.llama_model_get_vocab(self.pointer)
        self.n_vocab: int = api.llama_vocab_n_tokens(self.vocab)
        self._pieces: dict[int, bytes] = {}
        self._spellings: dict[int, bytes] = {}

    @property
    def trained_context(self) -> int:
        """Context length the model was trained for, in tokens."""
        return int(self.library.api.llama_model_n_ctx_train(self.pointer))

    def metadata(self, key: str) -> str | None:
        """Return a scalar metadata value as text, or None."""
        size = 4096
        buffer = ctypes.create_string_buffer(size)
        length = self.library.api.llama_model_meta_val_str(self.pointer, key.encode(), buffer, size)
        return None if length < 0 else buffer.value.decode("utf-8", "replace")

    def tokenize(self, text: str, *, special: bool, add_bos: bool = False) -> array[int]:
        """Return the ids of ``text``; control-token text becomes control tokens only with ``special``."""
        raw = text.encode("utf-8", "surrogatepass")
        capacity = len(raw) + 16
        ids = (ctypes.c_int32 * capacity)()
        tokenize = self.library.api.llama_tokenize
        count = tokenize(self.vocab, raw, len(raw), ids, capacity, add_bos, special)
        if count < 0:
            capacity = -count
            ids = (ctypes.c_int32 * capacity)()
            count = tokenize(self.vocab, raw, len(raw), ids, capacity, add_bos, special)
        if count < 0:
            raise NativeError("The text cannot be tokenised.", "It may be longer than 2 GiB.")
        return array("i", ids[:count])

    def piece(self, token: int) -> bytes:
        """Return the text bytes of one token; control tokens have none."""
        known = self._pieces.get(token)
        if known is None:
            known = self._pieces[token] = self._render_piece(token, special=False)
        return known

    def spell(self, ids: Sequence[int]) -> str:
        """Return the text of ids as templates write it, that of control tokens too; invalid bytes replaced."""
        known = self._spellings
        for token in ids:
            if token not in known:
                known[token] = self._render_piece(token, special=True)
        return b"".join(known[token] for token in ids).decode("utf-8", "replace")

    def flags(self, token: int) -> TokenFlag:
        """Return what kind of token it is."""
        return TokenFlag(self.library.api.llama_vocab_get_attr(self.vocab, token) & _FLAGS)

    def detokenize(self, ids: Sequence[int]) -> str:
        """Return the text of ids, invalid bytes replaced."""
        return b"".join(self.piece(token) for token in ids).decode("utf-8", "replace")

    def is_end(self, token: int) -> bool:
        """Return whether the token ends a generation."""
        return bool(self.library.api.llama_vocab_is_eog(self.vocab, token))

    @property
    def end(self) -> int:
        """The token that ends a turn, or a text where there is none for turns; -1 if there is neither."""
        api = self.library.api
        ends = (api.llama_vocab_eot(self.vocab), api.llama_vocab_eos(self.vocab))
        return next((int(token) for token in ends if token >= 0 and self.is_end(token)), -1)

    @property
    def adds_bos(self) -> bool:
        """Whether a prompt starts with the beginning-of-sequence token."""
        return bool(self.library.api.llama_vocab_get_add_bos(self.vocab))

    @property
    def bos(self) -> int:
        """The beginning-of-sequence token, or -1."""
        return int(self.library.api.llama_vocab_bos(self.vocab))

    def close(self) -> None:
        """Free the weights; safe to call twice."""
        if self.pointer:
            self.library.api.llama_model_free(self.pointer)
            self.pointer = None

    def _render_piece(self, token: int, *, special: bool) -> bytes:
        render = self.library.api.llama_token_to_piece
        buffer = ctypes.create_string_buffer(_PIECE_BYTES)  # of its own: two threads may ask
        length = render(self.vocab, token, buffer, _PIECE_BYTES, 0, special)
        if length < 0:
            larger = ctypes.create_string_buffer(-length)
            length = render(self.vocab, token, larger, -length, 0, special)
            return larger.raw[:length]
        return buffer.raw[:length]
