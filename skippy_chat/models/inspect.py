"""Looks at a model file before native code loads it, so that a bad one is one clear line and not an abort.

Invariant: nothing but headers is read, and what passes has every tensor inside its file.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from skippy_chat.models.header import GgufHeader, fault, read_header
from skippy_chat.models.tensor_types import FILE_TYPES

_PART = re.compile(r"^(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf$")
_NOT_MODELS = {
    "adapter": ("is a LoRA adapter, not a model", "Name the base model's file."),
    "mmproj": ("is a vision or audio projector, not a language model", "Name the language model's file."),
    "imatrix": ("is an importance matrix, not a model", "Name a quantised model's file."),
}


@dataclass(frozen=True, slots=True)
class ModelFile:
    """What a model file says of itself; ``size`` is bytes of all ``parts``, ``context_length`` is tokens."""

    path: Path
    parts: tuple[Path, ...]
    architecture: str
    name: str
    size: int
    n_tensors: int
    n_parameters: int
    quantisation: str
    context_length: int | None
    block_count: int | None
    chat_template: str | None
    licence: str | None


def inspect_model(path: Path) -> ModelFile:
    """Check ``path`` (for a split model: its first part, and all others beside it) and tell what it holds."""
    first = read_header(path)
    headers = [first, *(read_header(part) for part in _other_parts(first))]
    architecture = first.text("general.architecture")
    if not architecture:
        raise fault(
            path, "names no architecture (general.architecture is missing)", "Get another conversion."
        )
    kind = "mmproj" if architecture == "clip" else first.text("general.type") or "model"
    if kind in _NOT_MODELS:
        raise fault(path, *_NOT_MODELS[kind])
    tensors = [tensor for header in headers for tensor in header.tensors]
    if not tensors:
        raise fault(
            path, "holds no tensors, only a vocabulary", "Name the file that holds the model's weights."
        )
    _check_tensor_count(first, len(tensors))
    return ModelFile(
        path=path,
        parts=tuple(header.path for header in headers),
        architecture=architecture,
        name=first.text("general.name") or path.stem,
        size=sum(header.size for header in headers),
        n_tensors=len(tensors),
        n_parameters=sum(tensor.n_bytes // tensor.type.block_bytes * tensor.type.block for tensor in tensors),
        quantisation=_quantisation(headers),
        context_length=first.number(f"{architecture}.context_length"),
        block_count=first.number(f"{architecture}.block_count"),
        chat_template=first.text("tokenizer.chat_template"),
        licence=first.text("general.license"),
    )


def _other_parts(first: GgufHeader) -> list[Path]:
    """Return the parts after the first of a split model, all present; empty for one that is whole."""
    count = first.number("split.count") or 1
    if count <= 1:
        return []
    match = _PART.match(first.path.name)
    if match is None or int(match["count"]) != count:
        raise fault(
            first.path,
            f"is one of {count} parts of a split model, but its name does not say which",
            f"Give the parts their names back: NAME-00001-of-{count:05d}.gguf and so on.",
        )
    names = [f"{match['stem']}-{number:05d}-of-{count:05d}.gguf" for number in range(1, count + 1)]
    parts = [first.path.with_name(name) for name in names]
    missing = [part.name for part in parts if not part.exists()]
    if missing:
        raise fault(
            first.path,
            f"is one of {count} parts and {len(missing)} are missing: {_listed(missing)}",
            "Put all parts into one folder.",
        )
    if first.number("split.no") != 0 or match["number"] != "00001":
        raise fault(
            first.path, f"is part {match['number']} of a split model", f"Name the first part: {parts[0]}"
        )
    return parts[1:]


def _listed(names: list[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _check_tensor_count(first: GgufHeader, found: int) -> None:
    promised = first.number("split.tensors.count")
    if promised is not None and promised != found:
        raise fault(
            first.path,
            f"is split into parts with {found} tensors, not the {promised} it promises",
            "The parts are not of one model: download them again.",
        )


def _quantisation(headers: list[GgufHeader]) -> str:
    """Return the mix the file claims; where it claims none, the type that takes most bytes."""
    claimed = headers[0].number("general.file_type")
    if claimed in FILE_TYPES:
        return FILE_TYPES[claimed]
    weights: Counter[str] = Counter()
    for header in headers:
        for tensor in header.tensors:
            weights[tensor.type.name] += tensor.n_bytes
    return weights.most_common(1)[0][0]
