"""Take the pictures anew, all or those named: python -m tests.snapshots [NAME ...]."""

from __future__ import annotations

import asyncio
import sys

from tests.snapshots.scene import PICTURES
from tests.snapshots.scenes import SCENES


def main(names: list[str]) -> None:
    """Write the pictures; without names also remove those of scenes that are gone."""
    PICTURES.mkdir(exist_ok=True)
    for name in names or SCENES:
        before = SCENES[name].file.read_text("utf-8") if SCENES[name].file.exists() else ""
        now = asyncio.run(SCENES[name].taken())
        SCENES[name].file.write_text(now, "utf-8")
        print(f"{name}: {'as it was' if now == before else 'another picture' if before else 'new'}")
    for file in PICTURES.glob("*.txt") if not names else ():
        if file.stem not in SCENES:
            file.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
