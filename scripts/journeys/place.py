"""Where a journey happens: folders of its own with a small workspace, and the pictures that are taken on the way."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.journeys.drawing import drawn
from scripts.journeys.terminal import Terminal
from skippy_chat.models.resolve import resolve_model
from skippy_chat.paths import Paths

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "journeys" / "pictures"
SMALL, LARGE = (80, 24), (120, 36)
OPTIONS = ("--temperature", "0")
NOTES = "The harbour opens at 6:40.\nThe boat to Saltby leaves on Mondays.\n"


@dataclass(frozen=True)
class Place:
    """Folders below ``home``; every program is told of them by its environment."""

    home: Path
    threads: int

    @property
    def workspace(self) -> Path:
        """The folder that sessions belong to."""
        return self.home / "voyage"

    @property
    def environment(self) -> dict[str, str]:
        """What programs see: no setting of the person who takes the pictures."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SKIPPY_", "XDG_"))}
        folders = {
            f"SKIPPY_{name}_DIR": str(self.home / name.lower()) for name in ("DATA", "CACHE", "CONFIG")
        }
        return {
            **kept,
            **folders,
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "PYTHONPATH": str(ROOT),
            "SKIPPY_THREADS": str(self.threads),
            "OMP_WAIT_POLICY": "PASSIVE",
        }

    def make(self) -> None:
        """Make the folders."""
        (self.workspace / ".git").mkdir(parents=True, exist_ok=True)  # so that it is a workspace
        (self.workspace / "notes.txt").write_text(NOTES)
        for name in ("data", "cache", "config", "cache/models"):
            (self.home / name).mkdir(mode=0o700, exist_ok=True)
        # The built-in models are taken from where they are: they need not be made again.
        known = Paths.resolve(env=os.environ).cache_dir
        for alias in ("default", "smollm2"):
            model = resolve_model(alias, cache_dir=known, progress=lambda *_: None)
            if not (link := self.home / "cache" / "models" / model.name).exists():
                link.symlink_to(model)

    @contextmanager
    def program(self, *arguments: str, size: tuple[int, int] = SMALL) -> Iterator[Terminal]:
        """Run skippy-chat in a terminal, and end it."""
        command = [sys.executable, "-m", "skippy_chat", *arguments]
        terminal = Terminal(
            command, env=self.environment, home=str(self.home), folder=self.workspace, size=size
        )
        try:
            yield terminal
        finally:
            terminal.end()


def keep(terminal: Terminal, name: str, title: str) -> None:
    """Keep what is on the screen as a picture of the documentation."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    (PICTURES / f"{name}.svg").write_text(drawn(terminal.screen, title, terminal.home), "utf-8")
    print(f"{name}\n{terminal.text}", flush=True)


def is_ready(text: str) -> bool:
    """Whether the app says that nothing is going on."""
    return " ready" in text.replace("already", "")


def answered(question: str, *, otherwise: str | None = None) -> Callable[[str], bool]:
    """Return whether a screen shows a question in the transcript, and that its turn is over; or something else."""
    return lambda text: (
        (f"   » {question}" in text and is_ready(text)) or (otherwise is not None and otherwise in text)
    )
