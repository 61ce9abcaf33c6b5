"""The sentences that every face shows about reuse, reading and the end of an answer.

Invariant: counts come from the engine's own usage and are never rounded, so two faces cannot disagree about a turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skippy_chat.chat.messages import Message
from skippy_chat.events import (
    CacheUse,
    FinishReason,
    MissReason,
    Notice,
    StepFinished,
    Timings,
    Usage,
    WorkerDied,
)

ENDINGS: Mapping[FinishReason, str] = {
    "length": "The answer stopped at the token limit (--max-tokens).",
    "context_full": "The answer stopped because the context is full.",
    "cancelled": "Stopped; what was written is kept, marked interrupted.",
    "error": "The answer broke off; what was written is kept.",
}


READING = "Reading the prompt"
EDITED = "Edited by you."
NOT_ANSWERED = "Not answered: it did not fit the context. What you send next takes its place."
_LOG_LINES = 6
_ENOUGH_TO_TELL = 64
_WORTH_TELLING_MS = 100.0


@dataclass(slots=True)
class PrefillRate:
    """How fast this model reads on this machine, in tokens per millisecond; 0 until a turn has shown it."""

    tokens_per_ms: float = 0.0

    def learn(self, usage: Usage, timings: Timings) -> None:
        """Take a step's reading speed; a few tokens say nothing about it."""
        if usage.prefilled_tokens >= _ENOUGH_TO_TELL and timings.prefill_ms > 0:
            self.tokens_per_ms = usage.prefilled_tokens / timings.prefill_ms

    def without_reuse_ms(self, usage: Usage) -> float:
        """Return how long reading the whole prompt would take, or 0 when nothing is known."""
        return usage.prompt_tokens / self.tokens_per_ms if self.tokens_per_ms else 0.0


def summed(steps: Sequence[StepFinished]) -> tuple[Usage, CacheUse, Timings]:
    """Return what several steps came to together; why something was read is what the first of them says.

    Times are added up, and the speed is that of all the tokens they wrote.
    """
    usage = Usage()
    for step in steps:
        usage = usage.plus(step.usage)
    cache = next((step.cache for step in steps if step.cache.miss_reason is not None), steps[0].cache)
    times = [step.timings for step in steps]
    decode = sum(each.decode_ms for each in times)
    written = sum(each.tokens_per_second * each.decode_ms for each in times)
    timings = Timings(
        sum(each.restore_ms for each in times),
        sum(each.prefill_ms for each in times),
        sum(each.first_token_ms or each.restore_ms + each.prefill_ms for each in times),
        decode,
        written / decode if decode > 0 else 0.0,
    )
    return usage, cache, timings


def reuse_line(usage: Usage, cache: CacheUse, timings: Timings, *, rate: PrefillRate | None = None) -> str:
    """Return what a step reused, the wait before its first token, and the speed after it; or why nothing was.

    A face that has learnt the model's ``rate`` also gets what the reuse saved, as an estimate.
    """
    parts = [_reused(usage, cache)]
    wait = timings.first_token_ms or timings.restore_ms + timings.prefill_ms
    parts[0] += f" · {seconds(wait)}"
    otherwise = rate.without_reuse_ms(usage) if rate is not None and usage.cached_tokens else 0.0
    if otherwise - wait >= _WORTH_TELLING_MS:
        parts[0] += f" instead of about {seconds(otherwise)}"
    if cache.source == "disk" and usage.cached_tokens:
        parts[0] += " (from disk)"
    if usage.cached_tokens and cache.miss_reason is not None:
        parts.append(f"the rest: {cache.miss_reason}")
    if timings.tokens_per_second > 0:
        parts.append(f"{timings.tokens_per_second:.1f} tok/s")
    return " · ".join(parts)


def reuse_sentence(usage: Usage, cache: CacheUse, timings: Timings) -> str:
    """Return the reuse line as full sentences, for screen readers and dumb terminals."""
    text = _reused(usage, cache)
    if cache.source == "disk" and usage.cached_tokens:
        text += " from disk"
    wait = timings.first_token_ms or timings.restore_ms + timings.prefill_ms
    text += f", in {wait:.0f} milliseconds." if wait < 100 else f", in {wait / 1000:,.1f} seconds."
    if usage.cached_tokens and cache.miss_reason is not None:
        text += f" The rest was read: {cache.miss_reason}."
    if timings.tokens_per_second > 0:
        text += f" Written at {timings.tokens_per_second:.1f} tokens per second."
    return text[0].upper() + text[1:]


def _reused(usage: Usage, cache: CacheUse) -> str:
    if usage.cached_tokens:
        return f"reused {usage.cached_tokens:,} of {usage.prompt_tokens:,} tokens"
    reason = cache.miss_reason or MissReason("nothing_stored")
    return f"read {usage.prefilled_tokens:,} tokens: {reason}"


def seconds(milliseconds: float) -> str:
    """Return a duration in seconds with one decimal, or in milliseconds when it is under a tenth."""
    return f"{milliseconds:.0f} ms" if milliseconds < 100 else f"{milliseconds / 1000:,.1f} s"


def progress_line(label: str, done: int, total: int) -> str:
    """Return how far a long step is; ``total`` is 0 when nobody knows."""
    return f"{label}: {done:,} of {total:,}" if total > 0 else f"{label} …"


def ending(reason: FinishReason) -> str:
    """Return what to say about how an answer ended; empty when it simply ended."""
    return ENDINGS.get(reason, "")


def death_lines(died: WorkerDied) -> list[str]:
    """Return how the model's process ended, and under it the last lines of its native log."""
    return [f"The model's process ended: {died.reason}", *died.log_tail[-_LOG_LINES:]]


def amended(branch: Sequence[Message]) -> str:
    """Return what to say when a person's version of an answer or a result was stored; ``branch`` ends behind it."""
    ends = branch[-1] if branch else None
    how = "The next message goes on from your version."
    if ends is not None and ends.role == "tool":
        how = "/continue goes on from your version, and so does the next message."
    return f"{how} The old branch stays: /back shows it."


def notice_line(notice: Notice) -> str:
    """Return a notice and its hint as one text."""
    return f"{notice.text} {notice.hint}".strip()


def written_by(process: int | None) -> str:
    """Return who else writes a session."""
    who = "Another skippy-chat" if process is None else f"Another skippy-chat (process {process})"
    return f"{who} writes this session."


def plural(count: int, noun: str) -> str:
    """Return ``1 message`` or ``1,234 messages``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
