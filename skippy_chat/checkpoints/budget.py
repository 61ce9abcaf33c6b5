"""How much disk the checkpoints of all models may take together."""

from __future__ import annotations

import shutil
from pathlib import Path

MOST = 10 << 30
PART_OF_FREE = 10


def disk_budget(cache_dir: Path, chosen: int | None) -> int:
    """Return the bytes ``chosen``, else the smaller of 10 GiB and a tenth of what is free where the cache lives."""
    if chosen is not None:
        return chosen
    there = next(folder for folder in (cache_dir, *cache_dir.parents) if folder.exists())
    return min(MOST, shutil.disk_usage(there).free // PART_OF_FREE)
