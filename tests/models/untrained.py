"""Small GGUF files with random weights and a vocabulary of bare ids, for architectures that nothing else generates.

Invariant: a file depends on its architecture and seed alone. Sums stay near one in size, so that a lost piece of
state is seen in the logits and is not drowned by the residual stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

VOCABULARY = 128
"""Ids 0 to 127, as in the other tiny models."""


class Untrained:
    """Draws the weights of one file; shapes are numpy's, so the innermost size comes last."""

    def __init__(self, path: Path, architecture: str, *, seed: int, width: int, layers: int) -> None:
        self.writer = gguf.GGUFWriter(path, architecture)
        self._random = np.random.default_rng(seed)
        self.writer.add_name(f"untrained {architecture}")
        self.writer.add_context_length(4096)
        self.writer.add_embedding_length(width)
        self.writer.add_block_count(layers)
        self.writer.add_vocab_size(VOCABULARY)
        self.writer.add_tokenizer_model("test")
        self.writer.add_token_list([f"tok_{token}" for token in range(VOCABULARY)])
        self.writer.add_token_scores([0.0] * VOCABULARY)

    def matrix(self, name: str, rows: int, columns: int, *, gain: float = 1.0) -> None:
        """Add a projection to F16 that turns vectors of unit size into vectors of size ``gain``."""
        drawn = self._random.normal(0, gain / np.sqrt(columns), (rows, columns))
        self.writer.add_tensor(f"{name}.weight", drawn.astype(np.float16))

    def normal(
        self, name: str, *sizes: int, mean: float = 0.0, deviation: float = 1.0, kind: str = "weight"
    ) -> None:
        """Add an F32 tensor of normally distributed numbers."""
        self.exact(f"{name}.{kind}", self._random.normal(mean, deviation, sizes))

    def uniform(self, name: str, low: float, high: float, *sizes: int) -> None:
        """Add an F32 tensor of numbers spread evenly between ``low`` and ``high``."""
        self.exact(f"{name}.weight", self._random.uniform(low, high, sizes))

    def norm(self, name: str, width: int, *, bias: bool) -> None:
        """Add the weights of a norm, near one, and with ``bias`` its shift, near zero."""
        self.normal(name, width, mean=1.0, deviation=0.1)
        if bias:
            self.normal(name, width, deviation=0.1, kind="bias")

    def exact(self, name: str, rows: NDArray[np.float64]) -> None:
        """Add an F32 tensor of these numbers under its full name."""
        self.writer.add_tensor(name, rows.astype(np.float32))

    def finish(self) -> None:
        """Write everything and close the file."""
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def numbers(seed: int, count: int) -> Sequence[int]:
    """Return ``count`` ids of the vocabulary."""
    return [int(token) for token in np.random.default_rng(seed).integers(0, VOCABULARY, count)]
