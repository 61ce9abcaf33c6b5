"""What an identity is, in words for people: ``model.json`` beside the index, written whenever the model is opened.

Invariant: it is for showing only. Nothing that is stored depends on it, and a note that is missing, damaged or edited
costs no more than the digest being shown in place of a name.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass

from skippy_chat.checkpoints.shelf import Shelf, remove

LONGEST = 64 << 10


@dataclass(frozen=True, slots=True)
class ModelNote:
    """A model as people know it: ``context`` says in words how it was opened, ``opened`` when, in seconds."""

    name: str
    architecture: str
    kind: str
    context: str
    opened: float


def read_note(shelf: Shelf) -> ModelNote | None:
    """Return what is noted; None when there is nothing that can be understood."""
    try:
        with shelf.model.open("rb") as file:
            found = json.loads(file.read(LONGEST))
        texts = [found[name] for name in ("name", "architecture", "kind", "context")]
        if not all(isinstance(text, str) for text in texts):
            return None
        name, architecture, kind, context = texts
        return ModelNote(name, architecture, kind, context, float(found["opened"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_note(shelf: Shelf, note: ModelNote) -> None:
    """Put a note in place of the one before.

    Raises:
        OSError: it cannot be written; the one before stays.
    """
    partial = shelf.tmp / f"model.{os.getpid()}"
    try:
        partial.write_text(json.dumps(asdict(note), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        partial.replace(shelf.model)
    except OSError:
        remove(partial)
        raise
