"""Models loaded as the worker loads them, identity and self-test included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skippy_chat.engine.loading import Loaded, load_engine
from skippy_chat.engine.protocol import LoadRequest


def load(model: Path, root: Path, **more: Any) -> Loaded:
    """Load ``model`` with everything it keeps below ``root``."""
    request = LoadRequest(
        model=str(model),
        checkpoints=str(root / "checkpoints"),
        digests=str(root / "digests.json"),
        context=2048,
        threads=1,
        flash_attention="auto",
        disk_budget=1 << 30,
        **{"proofs": str(root / "proofs"), **more},
    )
    return load_engine(request, lambda what, done, total: None)
