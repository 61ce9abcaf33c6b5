"""The page on what is proven, written from the proofs alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.architectures.proof import Proof

PAGE = Path(__file__).parents[2] / "docs" / "architectures.md"

_HEAD = """\
# Architectures

Which models' states go to disk and come back exactly. This page is written by `python -m tests.architectures --write`,
and a test holds it to what was found; do not edit it.

Each line is a small model of that architecture with random weights. It is read once, in long and short batches and
single steps; then it is read again (replay), put back to each of seven cuts from its segments, from llama.cpp's own
blob of the whole sequence, in place after reading on, into another lane, and from disk in a new process. The state's
bytes, the attention rows and the logits of everything read afterwards must equal the first ones, bit for bit.

- **range**: attention rows by token range, and the partial state of one position. Sessions share what they have in
  common.
- **blob**: the whole sequence as one state, because the memory is known only as a whole. Exact too, but every state
  weighs as much as the conversation before it.
- **off**: no checkpoints, for the reason given. Such a model still answers, reading every prompt from its start.

The kinds of memory: *dense* (attention alone), *iswa* (attention with sliding windows), *hybrid* (attention and
recurrent layers), *hybrid_iswa*, *recurrent*, and *other* (sparse attention with an index of its own). Before the first
checkpoint of any model is trusted, a short self-test does the same on that model itself (`skippy-chat models check`).

"""


def page(proofs: Mapping[str, Proof]) -> str:
    """Return the page's text."""
    counts = {method: sum(p.method == method for p in proofs.values()) for method in ("range", "blob", "off")}
    lines = [
        f"{len(proofs)} models: {counts['range']} by range, {counts['blob']} by blob, {counts['off']} off.",
        "",
        "| model | memory | proven | |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {proof.memory or '?'} | {proof.method} | {_note(proof)} |"
        for name, proof in proofs.items()
    ]
    return _HEAD + "\n".join(lines) + "\n"


def _note(proof: Proof) -> str:
    if proof.memory == "none":
        return "keeps no state: it does not generate word by word"
    return proof.fault
