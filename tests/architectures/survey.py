"""Every model there is to prove: the generated ones, and those of our own making that their generator leaves out."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.architectures.proof import Proof, prove
from tests.models.gemma4 import write_gemma4
from tests.models.rwkv import ARCHITECTURES, write_rwkv


def survey(
    models: Path, scratch: Path, *, only: str = "", tell: Callable[[str], None] = lambda _text: None
) -> dict[str, Proof]:
    """Prove each model whose name has ``only`` in it; ``scratch`` is a folder for checkpoints."""
    proofs: dict[str, Proof] = {}
    for path in _models(models, scratch):
        if only not in path.stem:
            continue
        root = scratch / "checkpoints"
        proofs[path.stem] = prove(path, root)
        shutil.rmtree(root, ignore_errors=True)
        tell(f"{path.stem}: {proofs[path.stem].method} {proofs[path.stem].fault}")
    return dict(sorted(proofs.items()))


def _models(models: Path, scratch: Path) -> Iterator[Path]:
    yield from sorted(models.glob("*.gguf"))
    for architecture in ARCHITECTURES:
        path = scratch / f"{architecture}.gguf"
        write_rwkv(path, architecture)
        yield path
    path = scratch / "gemma4.gguf"
    write_gemma4(path)
    yield path
