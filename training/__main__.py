"""The commands: ``python -m training --help``. Those that need torch run in an environment of their own."""

from __future__ import annotations

import hashlib
import os
from dataclasses import fields, replace
from pathlib import Path

import click

from skippy_chat.models.default import base_model
from skippy_chat.models.fetch import base_fetcher
from skippy_chat.paths import Paths
from training import environment
from training.beside import beside
from training.cases import CELLS, SETS, load_cases
from training.settings import KINDS, Settings

_RUN = click.option(
    "--run", "folder", type=click.Path(path_type=Path), default=Path("training/runs/main"), show_default=True,
    help="The run's folder: settings, checkpoints, log and loss plot.",
)  # fmt: skip


@click.group()
def main() -> None:
    """Train, measure and write the default model's branch."""


@main.command()
def setup() -> None:
    """Make the environment with torch, beside the program's own."""
    environment.make(click.echo)


@main.command()
@click.option(
    "--seconds", default=float("inf"), help="Stop after so long; what is left is answered next time."
)
@click.option("--threads", default=2, show_default=True)
def answers(seconds: float, threads: int) -> None:
    """Let the base model answer the questions of the chat part (once; the file is committed)."""
    from training.answers import ANSWERS, write_answers  # noqa: PLC0415 - loads the native library
    from training.questions import questions  # noqa: PLC0415

    left = write_answers(_base(), questions(), ANSWERS, threads=threads, seconds=seconds)
    click.echo(f"{left} questions left")


@main.command()
@_RUN
@click.option("--kind", type=click.Choice(KINDS), help="full, or one of the two controls.")
@click.option("--minutes", type=float, help="Of training, over all restarts.")
@click.option(
    "--shared",
    is_flag=True,
    default=None,
    help="Count the processor's minutes, on a machine that does other things too.",
)
@click.option("--threads", type=int)
@click.option("--batch", type=int, help="Conversations a step.")
@click.option("--rate", type=float, help="The highest learning rate.")
@click.option("--seed", type=int)
@click.option("--prefix-every", type=int, help="Steps whose gradient goes through the system prompt too.")
@click.option("--steps", type=int, help="Stop after so many steps; the run can be gone on with.")
@click.option(
    "--background", is_flag=True, help="Go on when the terminal is closed; output goes to train.log."
)
def train(folder: Path, steps: int | None, *, background: bool, **given: object) -> None:
    """Train, or go on training; then write the branch.

    A run keeps the settings that it was begun with.
    """
    environment.enter(background=folder / "train.log" if background else None)
    from training.train import BEST, Run  # noqa: PLC0415 - needs torch

    settings = _settings(folder, given)
    run = Run(folder, _base(), settings, click.echo)
    run.go(steps)
    if steps is None and (folder / BEST).exists():
        click.echo(_exported(folder, folder / "branch.gguf"))


@main.command()
@_RUN
@click.option(
    "--to", "target", type=click.Path(path_type=Path), help="Default: branch.gguf in the run's folder."
)
def export(folder: Path, target: Path | None) -> None:
    """Write the best checkpoint as the file that is committed."""
    environment.enter()
    click.echo(_exported(folder, target or folder / "branch.gguf"))


@main.command()
@_RUN
def status(folder: Path) -> None:
    """Tell how far a run is."""
    from training.log import summary  # noqa: PLC0415

    click.echo(summary(folder, Settings.read(folder / "settings.json")))


@main.command()
@_RUN
@click.option("--branch", type=click.Path(path_type=Path), help="Default: branch.gguf in the run's folder.")
@click.option(
    "--no-recurrence", is_flag=True, help="Control: the same branch, its state lasting for one token."
)
@click.option("--set", "which", type=click.Choice(SETS), default="test", show_default=True)
@click.option(
    "--cell", "cells", type=click.Choice(CELLS), multiple=True, help="Only these; may be given again."
)
@click.option("--every", default=1, show_default=True, help="Only every so many cases of a cell.")
@click.option(
    "--jobs", default=2, show_default=True, help="Cases at a time; two on one thread each beat one on two."
)
@click.option("--threads", default=1, show_default=True, help="Of each.")
def evaluate(
    folder: Path,
    branch: Path | None,
    which: str,
    cells: tuple[str, ...],
    every: int,
    jobs: int,
    threads: int,
    *,
    no_recurrence: bool,
) -> None:
    """Run a set through the product and report shares with intervals; goes on where it was stopped."""
    from training.evaluate import Trial, chosen_cases, report  # noqa: PLC0415 - loads the product
    from training.evaluate import evaluate as run  # noqa: PLC0415
    from training.grafting import model_with  # noqa: PLC0415

    source = branch or folder / "branch.gguf"
    name = f"{which}-no-recurrence" if no_recurrence else which
    model = model_with(_base(), source, folder / f"{name}.gguf", recurrence=not no_recurrence)
    cases = chosen_cases(which, cells or CELLS, every)
    # Lines of another branch under this name would be taken for this one's.
    mark = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    results = folder / f"{name}-{mark}.jsonl"
    judged = run(cases, Trial(model, folder / "home", threads, jobs), results, click.echo)
    click.echo(report(judged))


@main.command(name="compare")
@_RUN
@click.option("--branch", type=click.Path(path_type=Path), help="Default: branch.gguf in the run's folder.")
@click.option("--threads", default=2, show_default=True)
def compare_command(folder: Path, branch: Path | None, threads: int) -> None:
    """Compare with the base: bits per token of held-out chat, speed, and 20 answers side by side."""
    from training.compare import compare  # noqa: PLC0415 - loads the native library
    from training.grafting import model_with  # noqa: PLC0415

    model = model_with(_base(), branch or folder / "branch.gguf", folder / "compared.gguf")
    prompts = [case.turns[0] for case in load_cases("test", "plain_chat")[::5]][:20]
    click.echo(compare(_base(), model, prompts, threads=threads))


@main.command(name="beside")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--window", default=30, show_default=True, help="Steps to a line.")
def beside_command(folders: tuple[Path, ...], window: int) -> None:
    """Compare the losses of runs on the same batches: the branch's and the controls'."""
    try:
        click.echo(beside(folders, window))
    except ValueError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.argument("branch", type=click.Path(path_type=Path, exists=True))
def pin(branch: Path) -> None:
    """Print size and digest of the model that the program makes of its base and BRANCH, for its constants."""
    from training.grafting import pinned  # noqa: PLC0415

    size, digest = pinned(_base(), branch)
    click.echo(f'DEFAULT_SIZE = {size:_}\nDEFAULT_SHA256 = "{digest}"')


def _settings(folder: Path, given: dict[str, object]) -> Settings:
    path = folder / "settings.json"
    if path.exists():
        return Settings.read(path)
    known = {field.name for field in fields(Settings)}
    chosen = {key: value for key, value in given.items() if value is not None and key in known}
    settings = replace(Settings(), **chosen)  # type: ignore[arg-type]
    folder.mkdir(parents=True, exist_ok=True)
    settings.write(path)
    return settings


def _exported(folder: Path, target: Path) -> str:
    from training.base import BaseWeights  # noqa: PLC0415 - needs torch
    from training.export import export as write  # noqa: PLC0415
    from training.hybrid import Hybrid  # noqa: PLC0415
    from training.saving import load  # noqa: PLC0415
    from training.train import BEST  # noqa: PLC0415
    from training.trained import TrainedBranch  # noqa: PLC0415

    settings = Settings.read(folder / "settings.json")
    model = Hybrid(BaseWeights(_base()), settings.shape, kind=settings.kind)
    progress = load(folder / BEST, model)
    sizes = model.sizes
    spent = f"{progress.seconds / 60:.0f} minutes, {progress.step} steps"
    told = f"Trained for {spent}; kind {settings.kind}, seed {settings.seed}."
    written = write(TrainedBranch(model), sizes.layers, sizes.width, target, told)
    return f"{written.path}: {written.size:,} bytes, sha256 {written.sha256}"


def _base() -> Path:
    cache = Paths.resolve(env=os.environ).cache_dir

    def quiet(what: str, done: int, total: int) -> None:
        """Say nothing of progress."""

    return base_model(cache, progress=quiet, fetch_base=base_fetcher(progress=quiet))


if __name__ == "__main__":
    main()
