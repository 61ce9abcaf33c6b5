"""What the REPL's commands need of the world beside the conversation: files, stored sessions, models, settings.

Invariant: commands reach nothing outside the conversation but through this.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Services:
    """``folder`` is where exports go."""

    folder: Path = Path()
