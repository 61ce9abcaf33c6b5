"""What is said of a worker that ended: one sentence for a person, from its exit code and its last words."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from pathlib import Path

from skippy_chat.errors import EngineDied

_LAST_WORDS = re.compile(
    r"GGML_ASSERT\(.*|fatal error.*|terminate called.*|what\(\):.*|out of memory.*|failed to allocate.*",
    re.IGNORECASE,
)
_LONGEST = 200


def describe_death(returncode: int | None, lines: Sequence[str], log: Path, *, cause: str = "") -> EngineDied:
    """Describe an end.

    Args:
        returncode: as ``subprocess`` has it: negative for a signal; None when that cannot be said.
        lines: its last native log lines.
        log: the file that has more of them.
        cause: what the client saw itself, when it ended the worker.
    """
    words = next((found[0] for line in reversed(lines) if (found := _LAST_WORDS.search(line))), "")
    said = f": {words[:_LONGEST].rstrip('.')}" if words and not cause else ""
    hint = f"Its log: {log}"
    if returncode == -signal.SIGKILL and not cause:
        hint = f"If nobody killed it, memory ran out: try a smaller --ctx or model. {hint}"
    return EngineDied(f"The worker process {cause or _how(returncode)}{said}.", hint, tuple(lines))


def _how(returncode: int | None) -> str:
    if returncode is None:
        return "closed its pipe"
    if returncode >= 0:
        return f"ended with code {returncode}"
    try:
        return f"ended by signal {-returncode} ({signal.Signals(-returncode).name})"
    except ValueError:
        return f"ended by signal {-returncode}"
