"""What a gate finds, as values: checks, phases, and the whole report with its JSON form.

Invariant: a check that could not be made is neither passed nor failed, and a phase without a passed check has not
passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

SCHEMA = 1

State: TypeAlias = Literal["passed", "failed", "not_applicable"]
About: TypeAlias = Literal["cache", "model"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at; ``about`` says whether a failure is the cache's, or the model's for being too weak."""

    what: str
    expected: str
    found: str
    state: State
    about: About = "cache"

    def failed(self, *, strict: bool) -> bool:
        """Whether it fails its phase; what is the model's does so only when ``strict``."""
        return self.state == "failed" and (strict or self.about == "cache")

    def to_json(self) -> dict[str, Any]:
        """Return it with ``passed`` true, false, or null where it does not apply."""
        passed = {"passed": True, "failed": False, "not_applicable": None}[self.state]
        return {
            "what": self.what,
            "expected": self.expected,
            "found": self.found,
            "passed": passed,
            "about": self.about,
        }


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """One phase; ``summary`` is what it found in a few words."""

    name: str
    checks: tuple[Check, ...]
    seconds: float
    summary: str = ""

    def passed(self, *, strict: bool) -> bool:
        """Whether nothing failed and something passed."""
        return any(check.state == "passed" for check in self.checks) and not any(
            check.failed(strict=strict) for check in self.checks
        )

    def count(self, state: State) -> int:
        """Return how many checks ended so."""
        return sum(check.state == state for check in self.checks)


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run; ``material`` says what it was run on (mode, tokens), ``evidence`` is the folder of its files."""

    model: Mapping[str, Any]
    machine: Mapping[str, Any]
    material: Mapping[str, Any]
    phases: Sequence[PhaseResult]
    strict: bool
    evidence: str
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def passed(self) -> bool:
        """Whether every phase passed."""
        return bool(self.phases) and all(phase.passed(strict=self.strict) for phase in self.phases)

    def to_json(self) -> dict[str, Any]:
        """Return the report as one object."""
        return {
            "schema": SCHEMA,
            "passed": self.passed,
            "strict": self.strict,
            "model": dict(self.model),
            "machine": dict(self.machine),
            "material": dict(self.material),
            "notes": list(self.notes),
            "phases": [
                {
                    "name": phase.name,
                    "passed": phase.passed(strict=self.strict),
                    "seconds": round(phase.seconds, 3),
                    "summary": phase.summary,
                    "checks": [check.to_json() for check in phase.checks],
                }
                for phase in self.phases
            ],
            "evidence": self.evidence,
        }


class Sheet:
    """Takes down the checks of one phase."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.summary = ""

    def equal(self, what: str, expected: object, found: object) -> None:
        """Check that two values are equal."""
        self.holds(what, found == expected, expected=_text(expected), found=_text(found))

    def holds(self, what: str, passed: object, *, expected: str, found: str, about: About = "cache") -> None:
        """Check that something is true, said as what was expected and what was found."""
        self.checks.append(Check(what, expected, found, "passed" if passed else "failed", about))

    def skip(self, what: str, reason: str) -> None:
        """Say why a check does not apply here."""
        self.checks.append(Check(what, "", reason, "not_applicable"))


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
