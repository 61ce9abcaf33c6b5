"""The log that ``--debug`` writes: versions, settings, and which events came when.

One JSON object a line. Invariant: no text of a message is in it, nor what tools were given or gave, unless
``debug_text`` is set: of such fields only the length. Writing it is optional work: when it fails, the conversation
goes on.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from skippy_chat import __version__
from skippy_chat.config import Settings
from skippy_chat.events import CheckpointFailed, Event, Notice, WorkerDied, to_dict
from skippy_chat.paths import make_private

_KEPT_FILES = 20
_PACKAGES = ("llama_cpp_python", "numpy", "textual", "prompt_toolkit", "click")
# Texts that are ids or words of ours; any other text may be somebody's.
_SAFE = frozenset({
    "type", "session", "turn", "message", "call", "source", "status", "finish_reason", "level", "kind",
})  # fmt: skip
# Events whose texts are ours altogether.
_OURS = (Notice, CheckpointFailed, WorkerDied)


class DebugLog:
    """One log file, for one conversation."""

    def __init__(self, path: Path, *, with_text: bool) -> None:
        """``path`` is made (0600); ``with_text``: texts are written, too."""
        self.path = path
        self._with_text = with_text
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    @classmethod
    def begin(cls, folder: Path, settings: Settings, *, now_ms: Callable[[], int]) -> DebugLog:
        """Begin a log in ``folder``, whose oldest ones go; ``now_ms`` gives milliseconds since the epoch.

        Raises:
            OSError: it cannot be written.
            ConfigError: the folder cannot be made, or others can write to it.
        """
        make_private(folder)
        at = now_ms()
        day = time.strftime("%Y%m%d-%H%M%S", time.gmtime(at / 1000))
        _forget_old(folder)
        log = cls(folder / f"debug-{day}-{at % 1000:03d}-{os.getpid()}.jsonl", with_text=settings.debug_text)
        log._write({"at_ms": at, "versions": _versions()})
        log._write({"at_ms": at, "settings": log._settings(settings), "sources": dict(settings.sources)})
        return log

    def event(self, event: Event) -> None:
        """Write an event, without what people and models said."""
        told = to_dict(event)
        if not self._with_text and not isinstance(event, _OURS):
            told = _without_text(told)
        self._write(told)

    def _settings(self, settings: Settings) -> dict[str, Any]:
        values = {each.key: each.value for each in settings.describe()}
        if values["system"] and not self._with_text:
            values["system"] = _length(values["system"])
        return values

    def _write(self, line: Mapping[str, Any]) -> None:
        # Opened for each line: so it ends with the last event, however the program ends.
        with contextlib.suppress(OSError), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=True, default=str) + "\n")


def _without_text(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with texts as lengths, but for ids and words of ours."""
    found: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            found[key] = _without_text(inner)
        elif isinstance(inner, str) and key not in _SAFE:
            found[key] = _length(inner)
        elif isinstance(inner, (list, tuple)):
            found[key] = f"({len(inner)} items)"
        else:
            found[key] = inner
    return found


def _length(text: object) -> str:
    return f"({len(str(text)):,} characters)"


def _versions() -> dict[str, str]:
    found = {"skippy-chat": __version__, "python": platform.python_version(), "system": platform.platform()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # noqa: PERF203 - a handful
            found[name] = "missing"
    return found


def _forget_old(folder: Path) -> None:
    for old in sorted(folder.glob("debug-*.jsonl"))[: -(_KEPT_FILES - 1)]:
        with contextlib.suppress(OSError):
            old.unlink()
