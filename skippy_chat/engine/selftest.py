"""A short proof on the model that was just loaded, before its first checkpoint is trusted.

Invariant: without a kept verdict for exactly this identity nothing is recorded or restored. A verdict that cannot be
written is found again at the next start; one that cannot be read counts as none.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

from skippy_chat.engine.lane import BY_PARTS
from skippy_chat.engine.proving import Prover
from skippy_chat.errors import NativeError
from skippy_chat.native.context import Context, MemoryClass

Method: TypeAlias = Literal["range", "blob", "off"]

VERSION = 2
"""Raised when the test looks at more, so that kept verdicts are found anew."""

RUNS = ((4, False), (4, False), (1, True), (3, False))
"""Two batches, a single step and a batch: for all ways back some 50 tokens are read, in 19 calls."""

CUTS = (2,)
"""Where it goes back to: behind the second batch."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a verdict is about, in words for people."""

    name: str
    architecture: str
    memory: str
    flash_attention: str
    kv_type: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether state comes back exactly, by which way it is kept, and what spoke against it."""

    method: Method
    fault: str = ""
    tried: tuple[str, ...] = ()
    seconds: float = 0.0
    version: int = VERSION

    @property
    def text(self) -> str:
        """Say it in a few words."""
        words = {"range": "proven by range", "blob": "proven by blob", "off": f"off: {self.fault}"}
        return words[self.method]


def self_test(context: Context, *, clock: Callable[[], float]) -> Verdict:
    """Try every way back on ``context``, which is empty before and after.

    Raises:
        NativeError: the model cannot be read at all.
    """
    if context.memory_class is MemoryClass.NONE:
        return Verdict("off", "this model keeps no state")
    if context.n_ctx < sum(tokens for tokens, _ in RUNS):
        return Verdict("off", "the context is too short to try it")
    started = clock()
    tried: list[str] = []
    fault = ""
    for finding in Prover(context, RUNS).prove(cuts=CUTS):
        tried.append(finding.what)
        if finding.fault:
            fault = f"{finding.what}: {finding.fault}"
            break
    method: Method = "off" if fault else "range" if context.memory_class in BY_PARTS else "blob"
    return Verdict(method, fault, tuple(tried), round(clock() - started, 3))


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Verdicts by identity, one small file each."""

    folder: Path

    def kept(self, identity: str) -> Verdict | None:
        """Return the verdict on an identity, if this version of the test gave one."""
        found = _read(self.folder / f"{identity}.json")
        return found[1] if found is not None and found[1].version == VERSION else None

    def keep(self, identity: str, subject: Subject, verdict: Verdict) -> None:
        """Write a verdict down; where that fails the test simply runs again."""
        text = json.dumps({"subject": asdict(subject), "verdict": asdict(verdict)}, indent=1)
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = self.folder / f".{identity}.{os.getpid()}"
            temporary.write_text(text + "\n", encoding="utf-8")
            temporary.replace(self.folder / f"{identity}.json")

    def all(self) -> Iterator[tuple[Subject, Verdict]]:
        """Yield every verdict that can be read."""
        with contextlib.suppress(OSError):
            for path in sorted(self.folder.glob("*.json")):
                if (found := _read(path)) is not None:
                    yield found


def find_verdict(
    verdicts: Verdicts | None,
    identity: str,
    subject: Subject,
    test: Callable[[], Verdict],
    *,
    afresh: bool = False,
) -> Verdict:
    """Return the kept verdict, or make one with ``test`` and keep it; ``afresh`` always makes one."""
    kept = None if verdicts is None or afresh else verdicts.kept(identity)
    if kept is not None:
        return kept
    try:
        verdict = test()
    except NativeError as error:
        # Not kept: it may be for want of memory, and the next start may have more.
        return Verdict("off", f"it could not be tried: {error.message}")
    if verdicts is not None:
        verdicts.keep(identity, subject, verdict)
    return verdict


def _read(path: Path) -> tuple[Subject, Verdict] | None:
    try:
        value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        verdict = dict(value["verdict"], tried=tuple(value["verdict"]["tried"]))
        subject = Subject(**{field.name: str(value["subject"][field.name]) for field in fields(Subject)})
        found = Verdict(**verdict)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (subject, found) if found.method in ("range", "blob", "off") else None
