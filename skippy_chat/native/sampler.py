"""Sampling from a row of logits, live or stored, with llama.cpp's own samplers.

``llama_sampler_sample`` reads the context, so stored logits are applied to an array of our own.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from skippy_chat.native.library import Library
from skippy_chat.sampling import Sampling


class Sampler:
    """A sampler chain for one answer."""

    def __init__(self, library: Library, sampling: Sampling, n_vocab: int) -> None:
        self._api = api = library.api
        self._greedy = sampling.temperature <= 0
        self._chain = None
        if self._greedy:
            return
        self._chain = api.llama_sampler_chain_init(api.llama_sampler_chain_default_params())
        for part in (
            api.llama_sampler_init_top_k(sampling.top_k),
            api.llama_sampler_init_top_p(sampling.top_p, 1),
            api.llama_sampler_init_min_p(sampling.min_p, 1),
            api.llama_sampler_init_temp(sampling.temperature),
            api.llama_sampler_init_dist(sampling.seed & 0xFFFFFFFF),
        ):
            api.llama_sampler_chain_add(self._chain, part)
        dtype = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
        self._data = np.zeros(n_vocab, dtype=dtype)
        self._ids = np.arange(n_vocab, dtype=np.int32)

    def choose(self, logits: NDArray[np.float32]) -> int:
        """Return the next token for logits of shape (n_vocab,); the lowest id wins a greedy tie."""
        if self._greedy:
            return int(logits.argmax())
        api = self._api
        # The samplers sort and shrink the array in place, so ids are written anew each time.
        self._data["id"] = self._ids
        self._data["logit"] = logits
        self._data["p"] = 0
        array = api.llama_token_data_array(
            data=self._data.ctypes.data_as(ctypes.POINTER(api.llama_token_data)),
            size=len(self._data),
            selected=-1,
            sorted=False,
        )
        api.llama_sampler_apply(self._chain, ctypes.byref(array))
        token = int(array.data[array.selected].id)
        api.llama_sampler_accept(self._chain, token)
        return token

    def close(self) -> None:
        """Free the chain; safe to call twice."""
        if self._chain is not None:
            self._api.llama_sampler_free(self._chain)
            self._chain = None
