"""``skippy-chat bench``: what is claimed of reuse, restore, recording and speed, measured here and now.

Invariant: it works in temporary folders of its own; no conversation and no checkpoint of the user is touched.
"""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skippy_chat.cli.exits import closest
from skippy_chat.cli.opening import paths_of, settings_of
from skippy_chat.cli.options import Invocation, settings_options
from skippy_chat.cli.output import put, put_json
from skippy_chat.errors import EXIT_FAILED, UsageError
from skippy_chat.text.json_text import json_line

if TYPE_CHECKING:
    from skippy_chat.bench.program import Options

_SUITES = "reuse,restore,record,engine,peers,growth"


@click.command("bench")
@click.option("--suites", metavar="LIST", default=_SUITES, help=f"Which ones, with commas: {_SUITES}.")
@click.option("--lengths", metavar="LIST", default="", help="Prompt lengths in tokens, with commas.")
@click.option("--quick", is_flag=True, help="Short prompts and few repeats: a few minutes, rougher figures.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--out", metavar="DIR", help="Where plots and report.json go; by default below the data folder."
)
@click.option(
    "--peers", metavar="DIR", help="Where llama-server and llama-bench are; `make peers` builds them."
)
@settings_options
@click.pass_obj
def command(
    invocation: Invocation,
    *,
    suites: str,
    lengths: str,
    quick: bool,
    as_json: bool,
    out: str | None,
    peers: str | None,
) -> int:
    """Measure this program on this machine, with the model that would be used; exit 1 when a suite fails.

    \b
    skippy-chat bench --quick
    skippy-chat bench --suites restore,record --lengths 1024,4096 --json
    """
    from skippy_chat.bench.figures import to_json  # noqa: PLC0415 - the engine, only when it is needed
    from skippy_chat.bench.program import Progress, failed, run_bench  # noqa: PLC0415
    from skippy_chat.bench.writing import lines, write_plots  # noqa: PLC0415

    host, talk = invocation.host, invocation.talk
    options = _options(invocation, suites=suites, lengths=lengths, quick=quick, peers=peers)
    folder = _folder(invocation, out)
    report = run_bench(options, Progress(talk.note, talk.progress), now_ms=host.now_ms)
    files = [*write_plots(report, folder), folder / "report.json"]
    value = to_json(report)
    with files[-1].open("w", encoding="utf-8") as file:
        file.write(json_line(value, file, indent=2))
    if as_json:
        put_json(host, {**value, "files": [str(path) for path in files]})
    else:
        for text in lines(report, files):
            put(host, text)
    return EXIT_FAILED if failed(report) else 0


def _options(invocation: Invocation, *, suites: str, lengths: str, quick: bool, peers: str | None) -> Options:
    from skippy_chat.agent.opening import default_threads  # noqa: PLC0415
    from skippy_chat.bench.plan import Plan  # noqa: PLC0415
    from skippy_chat.bench.program import Options  # noqa: PLC0415
    from skippy_chat.models.resolve import resolve_model  # noqa: PLC0415
    from skippy_chat.paths import make_private  # noqa: PLC0415

    settings = settings_of(invocation, {})
    paths = paths_of(invocation)
    chosen = _suites(suites)
    given = Path(peers).expanduser() if peers else None
    plan = Plan.of(quick=quick, lengths=_lengths(lengths), peers=given)
    model = resolve_model(
        settings.model,
        cache_dir=paths.cache_dir,
        models_dir=paths.models_dir,
        progress=invocation.talk.progress,
    )
    threads = settings.threads or default_threads()
    context: int | None = invocation.typed.get("ctx")  # the configured one is for chats, and may be short
    words = ["--threads", str(threads)]
    for name, value in (
        ("--lengths", lengths),
        ("--model", settings.model),
        ("--ctx", context),
        ("--peers", peers),
    ):
        words += [name, str(value)] if value else []
    words += ["--quick"] if quick else []
    return Options(
        model=model,
        plan=plan,
        # Beside the checkpoints of everyday use, so that their disk is measured and not one in memory.
        temporary=make_private(paths.cache_dir / "bench"),
        threads=threads,
        context=context or plan.context,
        suites=chosen,
        insisted=frozenset() if suites == _SUITES else frozenset(chosen),
        prefix=Path(sys.prefix),
        arguments=tuple(words),
    )


def _suites(text: str) -> tuple[str, ...]:
    known = _SUITES.split(",")
    chosen = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in chosen:
        if name not in known:
            raise UsageError(f"There is no suite {name}.", closest(name, known) or f"There are: {_SUITES}")
    if not chosen:
        raise UsageError("--suites names none.", f"There are: {_SUITES}")
    return chosen


def _lengths(text: str) -> tuple[int, ...]:
    try:
        lengths = sorted({int(each) for each in text.split(",") if each.strip()})
    except ValueError:
        raise UsageError(
            f"--lengths {text} are not whole numbers.", "For example: --lengths 1024,4096"
        ) from None
    if lengths and lengths[0] < 64:
        raise UsageError("A prompt length is at least 64 tokens.", "For example: --lengths 1024,4096")
    return tuple(lengths)


def _folder(invocation: Invocation, out: str | None) -> Path:
    """Make and return the folder for what is written."""
    from skippy_chat.paths import make_private  # noqa: PLC0415

    if out is not None:
        folder = Path(out).expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    moment = dt.datetime.fromtimestamp(invocation.host.now_ms() / 1000, tz=dt.timezone.utc)
    return make_private(paths_of(invocation).data_dir / "bench" / moment.strftime("%Y%m%d-%H%M%S"))
