"""Constrained decoding: llama.cpp's grammars, lazy or from the beginning, asked token by token.

Invariant: a grammar never throws and never aborts the process: a token that it refuses is answered with False, and
leaves it as it was. A lazy grammar and that of a call that was asked for leave thoughts alone.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skippy_chat.errors import NativeError
from skippy_chat.native.model import Model

_KEYS = (
    "grammar",
    "grammar_start",
    "grammar_triggers",
    "generation_prompt",
    "thinking_start_tag",
    "thinking_end_tags",
)


class Constraint(Protocol):
    """What may come next."""

    def allows(self, token: int) -> bool:
        """Return whether the token may come next."""

    def mask(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return for each id whether it may come next."""

    def accept(self, token: int) -> bool:
        """Go on with a token; False when it may not come next, and nothing has changed then."""


class Grammar:
    """The grammar of one answer; owned by one thread, closed once, before its model."""

    def __init__(self, model: Model, rendered: Mapping[str, Any]) -> None:
        """Make the grammar of a rendering whose ``grammar`` is not empty.

        Raises:
            NativeError: it cannot be read, or does not fit the generation prompt.
        """
        self._model = model
        self._library = model.library.answers()
        request = {key: rendered[key] for key in _KEYS if key in rendered}
        error = ctypes.c_void_p()
        raw = json.dumps(request, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self._pointer = self._library.skippy_grammar_init(model.pointer, raw, ctypes.byref(error))
        self._require(self._pointer, error)

    @property
    def is_active(self) -> bool:
        """Whether it constrains now: neither a trigger nor the end of thoughts is awaited."""
        return bool(self._library.skippy_grammar_is_active(self._pointer))

    def allows(self, token: int) -> bool:
        """Return whether the token may come next."""
        error = ctypes.c_void_p()
        answer = self._library.skippy_grammar_check(self._pointer, token, ctypes.byref(error))
        self._require(answer >= 0, error)
        return bool(answer)

    def accept(self, token: int) -> bool:
        """Go on with a token; False when it may not come next, and nothing has changed then."""
        error = ctypes.c_void_p()
        answer = self._library.skippy_grammar_accept(self._pointer, token, ctypes.byref(error))
        self._require(answer >= 0, error)
        return bool(answer)

    def mask(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return for each id whether it may come next."""
        data = np.zeros(len(ids), dtype=[("id", np.int32), ("logit", np.float32), ("p", np.float32)])
        data["id"] = ids
        api = self._model.library.api
        array = api.llama_token_data_array(
            data=data.ctypes.data_as(ctypes.POINTER(api.llama_token_data)),
            size=len(data),
            selected=-1,
            sorted=False,
        )
        error = ctypes.c_void_p()
        left = self._library.skippy_grammar_apply(self._pointer, ctypes.byref(array), ctypes.byref(error))
        self._require(left >= 0, error)
        mask: NDArray[np.bool_] = data["logit"] == 0
        return mask

    def reset(self) -> None:
        """Go back to the beginning of the answer."""
        error = ctypes.c_void_p()
        self._require(self._library.skippy_grammar_reset(self._pointer, ctypes.byref(error)), error)

    def clone(self) -> Grammar:
        """Return a grammar that stands where this one does."""
        error = ctypes.c_void_p()
        pointer = self._library.skippy_grammar_clone(self._pointer, ctypes.byref(error))
        self._require(pointer, error)
        twin = Grammar.__new__(Grammar)
        twin._model, twin._library, twin._pointer = self._model, self._library, pointer
        return twin

    def close(self) -> None:
        """Free the grammar; safe to call twice."""
        if self._pointer:
            self._library.skippy_grammar_free(self._pointer)
            self._pointer = None

    def _require(self, done: object, error: ctypes.c_void_p) -> None:
        if not done:
            raise NativeError(f"The grammar cannot be used: {self._model.library.take_text(error)}.")
