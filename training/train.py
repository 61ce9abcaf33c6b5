"""The training loop: batches in order, a rate that follows the time spent, checkpoints, a log and a picture of it.

A run can be stopped at any moment and started again: it goes on from its last checkpoint, at most two minutes back,
with the time it has left. Time, not steps, is what it is given, so that it ends when it was said to on any machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import torch

from training.answers import load_answers
from training.base import BaseWeights
from training.cases import known_names
from training.development import development_batches
from training.encode import Encoded, Encoder
from training.hybrid import Hybrid
from training.lines import append_line, read_lines
from training.mix import Mixer
from training.objective import Measured, learn, measure
from training.plot import plot
from training.precision import fastest
from training.questions import questions
from training.saving import Progress, load, save
from training.settings import Settings

LAST, BEST, LOG, PLOT = "last.pt", "best.pt", "log.jsonl", "loss.svg"
Say = Callable[[str], None]


class Run:
    """One run in its folder."""

    def __init__(self, folder: Path, base: Path, settings: Settings, say: Say) -> None:
        """Load model and data, and the last checkpoint if there is one."""
        torch.set_num_threads(settings.threads)
        torch.manual_seed(settings.seed)
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._settings, self._say = folder, settings, say
        self._encoder = Encoder(base)
        pairs = load_answers()
        say(f"{len(pairs)} of {2 * len(questions())} chat answers are there")
        self._mixer = Mixer(
            folder / "rooms", pairs, seed=settings.seed, size=settings.batch, avoid=known_names()
        )
        self._development = development_batches(self._encoder)
        self._opening = self._encoder.tokens("<tool_call>\n")
        precision = fastest()
        say(f"matrix products in {str(precision).removeprefix('torch.')}, the faster here")
        self.model = Hybrid(
            BaseWeights(base), settings.shape, kind=settings.kind, precision=precision, seed=settings.seed
        )
        weights = [weight for weight in self.model.mixers.parameters() if weight.requires_grad]
        self._optimizer = torch.optim.AdamW(
            weights, lr=settings.rate, betas=(0.9, 0.95), weight_decay=settings.decay
        )
        self.progress = Progress()
        if (folder / LAST).exists():
            self.progress = load(folder / LAST, self.model, self._optimizer)
            say(f"going on from step {self.progress.step}, after {self.progress.seconds / 60:.1f} minutes")
            self._forget_after(self.progress.step)

    def go(self, most_steps: int | None = None) -> None:
        """Train until the time is over, or for so many steps."""
        settings = self._settings
        allowed = settings.minutes * 60
        begun, before = self._clock(), self.progress.seconds
        saved = time.monotonic()
        first = self.progress.step
        while self.progress.seconds < allowed and (
            most_steps is None or self.progress.step - first < most_steps
        ):
            number = self.progress.step
            self._step(number, self.progress.seconds / allowed)
            self.progress = replace(self.progress, step=number + 1, seconds=before + self._clock() - begun)
            if (number + 1) % settings.dev_every == 0:
                self._develop()
            if time.monotonic() - saved > settings.save_every:
                self._save()
                saved = time.monotonic()
        if self.progress.step > first:
            self._develop()
            self._save()
        self._encoder.close()

    def _clock(self) -> float:
        """Return seconds: of the wall, or on a shared machine those in which this process had all its cores."""
        return time.process_time() / self._settings.threads if self._settings.shared else time.monotonic()

    def _step(self, number: int, share: float) -> None:
        settings = self._settings
        began = self._clock()
        made = self._mixer.batch(number)
        batch: Encoded = self._encoder.encode(made.persona, made.tools, made.conversations)
        rate = settings.rate_at(share)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.zero_grad(set_to_none=True)
        through = settings.prefix_every > 0 and number % settings.prefix_every == 0
        cost = learn(self.model, batch, through_prefix=through)
        norm = float(torch.nn.utils.clip_grad_norm_(self.model.mixers.parameters(), settings.clip))
        self._optimizer.step()
        seconds = self._clock() - began
        self._write(
            step=number,
            words=cost.words,
            base=cost.base,
            tokens=cost.tokens,
            counted=cost.counted,
            seconds=seconds,
            rate=rate,
            norm=norm,
        )
        self._say(
            f"step {number}  loss {cost.words:.3f} + {cost.base:.3f}  {cost.tokens / seconds:.0f} tokens/s"
            f"  {100 * share:.1f} % of {settings.minutes:g} minutes"
        )

    def _develop(self) -> None:
        found = sum((measure(self.model, batch, self._opening) for batch in self._development), Measured())
        cost = found.nats / max(1, found.tokens)
        step = self.progress.step
        self._write(step=step, development=cost, calls=found.calls, right=found.right)
        self._say(
            f"step {step}  development set {cost:.4f} nats a token (best {min(cost, self.progress.best):.4f}),"
            f" {found.right} of {found.calls} calls to the letter"
        )
        if cost < self.progress.best:
            self.progress = replace(self.progress, best=cost, best_step=step)
            save(self._folder / BEST, self.model, self._optimizer, self.progress)

    def _save(self) -> None:
        save(self._folder / LAST, self.model, self._optimizer, self.progress)
        plot(self._folder / LOG, self._folder / PLOT)

    def _write(self, **values: float) -> None:
        append_line(self._folder / LOG, values)

    def _forget_after(self, step: int) -> None:
        """Drop the lines of steps that the last checkpoint does not know: they are made again."""
        log = self._folder / LOG
        lines = read_lines(log)
        log.unlink(missing_ok=True)
        for line in lines:
            if _first_after(line) <= step:
                append_line(log, line)


def _first_after(line: Mapping[str, float]) -> float:
    """Return the first step that comes after what a line tells."""
    return line["step"] + (0 if "development" in line else 1)
