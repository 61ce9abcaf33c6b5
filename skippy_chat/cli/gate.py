"""``skippy-chat gate``: the acceptance run on this machine, for any model."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import click

from skippy_chat.cli.host import Host
from skippy_chat.cli.opening import paths_of, settings_of
from skippy_chat.cli.options import Invocation, model_option, place_options, threads_option
from skippy_chat.cli.output import put, put_json
from skippy_chat.errors import EXIT_FAILED
from skippy_chat.talk import line_width


@click.command("gate")
@click.option("--phases", metavar="A,B", help="Only these phases; all by default.")
@click.option(
    "--prefix", type=click.IntRange(min=8), default=4000, metavar="N", help="Tokens of the shared prefix."
)
@click.option("--ids/--text", "by_ids", default=None, help="Talk in token ids, or by the chat template.")
@click.option("--strict", is_flag=True, help="Fail also for what the model is too weak for.")
@click.option("--evidence", metavar="DIR", help="Where the files go that let a failure be looked at.")
@click.option("--keep", is_flag=True, help="Keep the folder of checkpoints and logs.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@model_option
@threads_option
@place_options
@click.pass_obj
def command(
    invocation: Invocation,
    *,
    phases: str | None,
    prefix: int,
    by_ids: bool | None,
    strict: bool,
    evidence: str | None,
    keep: bool,
    as_json: bool,
) -> int:
    """Try what the cache promises, on any model: exit 0 only if every phase passes.

    It works in folders of its own, and never opens your conversations or checkpoints.

    \b
    skippy-chat gate
    skippy-chat gate --model ./model.gguf --phases edits,faults
    skippy-chat gate --prefix 500 --json
    """
    from skippy_chat.agent.opening import default_threads  # noqa: PLC0415 - the engine, only when it is needed
    from skippy_chat.checkpoints.budget import disk_budget  # noqa: PLC0415
    from skippy_chat.engine.watch import DEFAULT_LIMITS  # noqa: PLC0415
    from skippy_chat.gate.ground import GateOptions  # noqa: PLC0415
    from skippy_chat.gate.phases.registry import chosen  # noqa: PLC0415
    from skippy_chat.gate.run import engine_starter, run_gate, working_folder  # noqa: PLC0415
    from skippy_chat.gate.table import phase_line, report_lines  # noqa: PLC0415
    from skippy_chat.models.resolve import resolve_model  # noqa: PLC0415

    host, talk = invocation.host, invocation.talk
    names = None if phases is None else [name.strip() for name in phases.split(",") if name.strip()]
    wanted = tuple(phase.name for phase in chosen(names))
    paths, settings = paths_of(invocation), settings_of(invocation, {})
    with working_folder(keep=keep) as work:
        options = GateOptions(
            model=resolve_model(settings.model, cache_dir=paths.cache_dir, progress=talk.progress),
            phases=wanted,
            threads=settings.threads or default_threads(),
            prefix=prefix,
            by_ids=by_ids,
            thinking=settings.reasoning,
            strict=strict,
            flash_attention=settings.flash_attention,
            kv_type=settings.kv_type,
            gpu_layers=settings.gpu_layers or 0,
            disk_budget=disk_budget(work, settings.disk_budget),
        )
        report = run_gate(
            options,
            work=work,
            evidence=_evidence_folder(host, evidence, paths.data_dir),
            start_worker=engine_starter(DEFAULT_LIMITS.times(settings.patience)),
            clock=host.monotonic,
            on_progress=talk.progress,
            on_phase=lambda phase: talk.note(phase_line(phase, strict=strict)),
        )
        if keep:
            talk.note(f"Checkpoints and logs are kept in {work}.")
    talk.clear()
    if as_json:
        put_json(host, report.to_json())
    else:
        for line in report_lines(report, width=line_width(host.stdout)):
            put(host, line)
    return 0 if report.passed else EXIT_FAILED


def _evidence_folder(host: Host, given: str | None, data_dir: Path) -> Path:
    if given is not None:
        return (host.folder / Path(given).expanduser()).resolve()
    moment = dt.datetime.fromtimestamp(host.now_ms() / 1000).astimezone()
    return data_dir / "gate" / moment.strftime("%Y-%m-%d-%H%M%S")
