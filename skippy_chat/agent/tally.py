"""What a turn has used, and the limits that end it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from skippy_chat.agent.toolbox import LoopLimits
from skippy_chat.chat.messages import ToolCall
from skippy_chat.events import Notice, Usage

MOST_UNUSABLE = 3
MOST_DENIED = 3


class Tally:
    """Counts the steps of a turn, their tokens, and answers in a row whose calls could not be used, and denials."""

    def __init__(self, limits: LoopLimits) -> None:
        self._limits = limits
        self.usage = Usage()
        self.steps = 0
        self.unusable = 0
        self._denied: Counter[tuple[str, str]] = Counter()

    def add(self, usage: Usage) -> None:
        """Count a step."""
        self.usage = self.usage.plus(usage)
        self.steps += 1

    def deny(self, calls: Iterable[ToolCall]) -> None:
        """Count the calls of one answer that were denied without a person's word; one said twice in it counts once."""
        self._denied.update({(call.name, call.arguments) for call in calls})

    def bound(self, most: int) -> int:
        """Return the bound of the next answer, 0 for none: its own, and what is left of the turn's."""
        if not self._limits.tokens:
            return most
        left = max(1, self._limits.tokens - self.usage.generated_tokens)
        return min(most, left) if most else left

    def reached(self) -> Notice | None:
        """Return what to tell when the turn must not go on by itself."""
        limits = self._limits
        if self.unusable >= MOST_UNUSABLE:
            return Notice(
                level="warning",
                text=f"The model wrote no call that can be used, {MOST_UNUSABLE} times in a row; the turn ended.",
                hint="Ask in other words, or let it go on.",
            )
        if any(times >= MOST_DENIED for times in self._denied.values()):
            return Notice(
                level="warning",
                text=f"The model made a call {MOST_DENIED} times although it was denied; the turn ended.",
                hint="Ask in other words, or allow the call (--approve, or a rule in approvals.toml).",
            )
        if limits.steps and self.steps >= limits.steps:
            return _limited("1 step" if limits.steps == 1 else f"{limits.steps} steps", "max_steps")
        return self.tokens_spent()

    def tokens_spent(self) -> Notice | None:
        """Return what to tell when the turn's tokens are used up."""
        if self._limits.tokens and self.usage.generated_tokens >= self._limits.tokens:
            return _limited(f"{self._limits.tokens:,} generated tokens", "max_turn_tokens")
        return None


def _limited(what: str, key: str) -> Notice:
    return Notice(
        level="warning",
        text=f"The turn reached its limit of {what} and was stopped.",
        hint=f"It can go on from here (/continue, run --go-on); the setting {key} allows more.",
    )
