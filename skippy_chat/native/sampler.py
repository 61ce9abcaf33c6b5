"""Sampling from a row of logits, live or stored, with llama.cpp's own samplers.

``llama_sampler_sample`` reads the context, so stored logits are applied to an array of our own.

Invariant: a row of logits is never written to. Under a grammar the token is sampled first and the grammar asked about
it alone; only when it is refused is a second one drawn, from the allowed tokens, of which the likeliest are looked at
first: as many as the samplers can choose from.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from skippy_chat.errors import NativeError
from skippy_chat.native.grammar import Constraint
from skippy_chat.native.library import Library
from skippy_chat.sampling import Sampling

# How many of the likeliest tokens a grammar is asked about at first, and by what this grows when too few are allowed.
_FIRST_LOOK = 64
_GROWTH = 16


class Sampler:
    """A sampler chain for one answer."""

    def __init__(self, library: Library, sampling: Sampling, n_vocab: int) -> None:
        self._api = api = library.api
        self._greedy = sampling.temperature <= 0
        self._chain = None
        self._ids = np.arange(n_vocab, dtype=np.int32)
        self.redrew = False
        """Whether the last token was drawn a second time, because the constraint refused the first."""
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
        self._top_k = sampling.top_k
        dtype = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
        self._data = np.zeros(n_vocab, dtype=dtype)

    def choose(self, logits: NDArray[np.float32], constraint: Constraint | None = None) -> int:
        """Return the next token for logits of shape (n_vocab,); the lowest id wins a greedy tie.

        The constraint goes on with the token that is returned.

        Raises:
            NativeError: the constraint allows no token.
        """
        token = self._pick(logits, self._ids)
        self.redrew = constraint is not None and not constraint.accept(token)
        if constraint is not None and self.redrew:
            token = self._pick(logits, self._allowed(logits, constraint))
            if not constraint.accept(token):
                raise NativeError(f"The grammar refuses token {token}, which it allowed.")
        if self._chain is not None:
            self._api.llama_sampler_accept(self._chain, token)
        return token

    def _allowed(self, logits: NDArray[np.float32], constraint: Constraint) -> NDArray[np.int32]:
        """Return, in order of id, the allowed tokens that the samplers can choose from."""
        wanted = 1 if self._greedy else self._top_k
        count = _FIRST_LOOK if wanted > 0 else len(logits)
        while True:
            ids = _likeliest(logits, count)
            allowed = ids[constraint.mask(ids)]
            if len(allowed) >= max(1, wanted) or len(ids) == len(logits):
                break
            count *= _GROWTH
        if not len(allowed):
            raise NativeError(
                "The grammar allows no token here.", "The tool's schema may allow no value at all."
            )
        return allowed

    def _pick(self, logits: NDArray[np.float32], ids: NDArray[np.int32]) -> int:
        if self._greedy:
            return int(ids[logits[ids].argmax()]) if len(ids) < len(logits) else int(logits.argmax())
        api = self._api
        # The samplers sort and shrink the array in place, so it is written anew each time.
        data = self._data[: len(ids)]
        data["id"] = ids
        data["logit"] = logits[ids] if len(ids) < len(logits) else logits
        data["p"] = 0
        array = api.llama_token_data_array(
            data=data.ctypes.data_as(ctypes.POINTER(api.llama_token_data)),
            size=len(data),
            selected=-1,
            sorted=False,
        )
        api.llama_sampler_apply(self._chain, ctypes.byref(array))
        return int(array.data[array.selected].id)

    def close(self) -> None:
        """Free the chain; safe to call twice."""
        if self._chain is not None:
            self._api.llama_sampler_free(self._chain)
            self._chain = None


def _likeliest(logits: NDArray[np.float32], count: int) -> NDArray[np.int32]:
    """Return at least ``count`` ids with the highest logits, none of their equals left out, in order of id."""
    if count >= len(logits):
        return np.arange(len(logits), dtype=np.int32)
    least = np.partition(logits, len(logits) - count)[len(logits) - count]
    return np.flatnonzero(logits >= least).astype(np.int32)
