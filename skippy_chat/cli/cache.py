"""``skippy-chat cache``: what the checkpoints take on disk, whether they are sound, and giving space back.

Deleting them loses only time, so nothing here asks but ``clear``.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import click

from skippy_chat.checkpoints.budget import disk_budget
from skippy_chat.checkpoints.foresight import foresee
from skippy_chat.checkpoints.mending import Mending
from skippy_chat.checkpoints.model_note import ModelNote
from skippy_chat.checkpoints.prune import GIVING_BACK, PruneReport, Wish, prune
from skippy_chat.checkpoints.survey import clear_all, model_notes, store_stats
from skippy_chat.checkpoints.types import StoreStats, VerifyReport
from skippy_chat.checkpoints.verify import verify
from skippy_chat.checkpoints.versions import other_versions
from skippy_chat.cli.amounts import age, size
from skippy_chat.cli.groups import Subcommands
from skippy_chat.cli.opening import paths_of, settings_of
from skippy_chat.cli.options import Invocation, place_options
from skippy_chat.cli.output import confirm, put, put_json, put_table, when
from skippy_chat.errors import UsageError
from skippy_chat.text.sizes import format_size
from skippy_chat.wording import plural

_IDENTITY_DIGITS = 12

_identity = click.option(
    "--identity", default="", metavar="PREFIX", help="Only stores whose identity (see `stats`) begins so."
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("cache", cls=Subcommands)
@place_options
def command() -> None:
    """Look at the checkpoints on disk, check them, or delete them."""


@command.command("stats")
@_json
@place_options
@click.pass_obj
def stats(invocation: Invocation, *, as_json: bool) -> None:
    """Show what is stored for each model."""
    root = paths_of(invocation).checkpoints_dir
    budget = _budget(invocation)
    found = store_stats(root, budget_bytes=budget)
    notes = model_notes(root)
    others = other_versions(root)
    total = sum(each.allocated_bytes for each in found)
    aside = sum(each.quarantine_bytes for each in found)
    if as_json:
        told = {
            "schema": 1,
            "folder": str(root),
            "allocated_bytes": total,
            "budget_bytes": budget,
            "quarantine_bytes": aside,
            "other_versions": [dataclasses.asdict(each) for each in others],
            "models": [_stats_json(each, notes.get(each.identity)) for each in found],
        }
        put_json(invocation.host, told)
        return
    if found:
        head = ("MODEL", "IDENTITY", "CHECKPOINTS", "STATES", "FILES", "ON DISK", "LAST USED")
        put_table(invocation.host, head, [_row(each, notes.get(each.identity)) for each in found])
    put(invocation.host, f"{format_size(total)} of {format_size(budget)} in {root}")
    if aside:
        put(invocation.host, f"{format_size(aside)} of it damaged, set aside; `cache prune` deletes it")
    for other in others:
        version = f"{'a newer' if other.newer else 'an older'} version ({other.name}), left alone"
        put(invocation.host, f"{format_size(other.allocated_bytes)} more of {version}")
    for each in found:
        for trouble in (each.notice, each.last_quarantine):
            if trouble:
                invocation.host.talk.note(f"{_name(each, notes.get(each.identity))}: {trouble}")


@command.command("verify")
@_identity
@click.option("--delete", is_flag=True, help="Delete what is damaged instead of setting it aside.")
@_json
@place_options
@click.pass_obj
def verify_command(invocation: Invocation, *, identity: str, delete: bool, as_json: bool) -> int:
    """Read every byte and set aside what is damaged; exit 1 when something was.

    Other programs may go on recording meanwhile.
    """
    root = paths_of(invocation).checkpoints_dir
    _known(invocation, identity)
    host = invocation.host
    mending = Mending(_budget(invocation), lambda: host.now_ms() / 1000, delete=delete)
    progress = _Rate(invocation)
    reports = verify(
        root,
        identity=identity,
        mending=mending,
        on_bytes=lambda done, total: progress.show("reading", done, total),
    )
    invocation.talk.clear()
    sound = not any(each.problems for each in reports)
    if as_json:
        stores = [{**dataclasses.asdict(each), "sound": not each.problems} for each in reports]
        put_json(host, {"schema": 1, "folder": str(root), "sound": sound, "models": stores})
    else:
        _tell_verified(invocation, reports, delete=delete)
    return 0 if sound else 1


@command.command("prune")
@click.option(
    "--to", callback=size, metavar="SIZE", help="Come down to this size, e.g. 2GiB; by default the budget."
)
@click.option(
    "--older-than", callback=age, metavar="AGE", help="Delete what was not used for so long: 12h, 30d, 8w."
)
@_identity
@click.option("--all-versions", is_flag=True, help="Delete the stores of other versions of this program too.")
@click.option("--dry-run", is_flag=True, help="Say what would be given back, and change nothing.")
@_json
@place_options
@click.pass_obj
def prune_command(
    invocation: Invocation,
    *,
    to: int | None,
    older_than: int | None,
    identity: str,
    all_versions: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Give space back: damaged and stray files, and checkpoints, the least useful first.

    With --identity alone that model's store goes whole. Other programs may go on recording meanwhile.
    """
    root = paths_of(invocation).checkpoints_dir
    _known(invocation, identity)
    since = None if older_than is None else invocation.host.now_ms() / 1000 - older_than
    wish = Wish(_budget(invocation), to, since, identity, all_versions)
    progress = _Rate(invocation)
    report = foresee(root, wish) if dry_run else prune(root, wish, on_progress=progress.show)
    invocation.talk.clear()
    if as_json:
        told = {**dataclasses.asdict(report), "freed_bytes": _freed(report)}
        put_json(invocation.host, {"schema": 1, "folder": str(root), "dry_run": dry_run, **told})
    else:
        _tell_pruned(invocation, report, dry_run=dry_run)
    return 1 if report.left else 0


@command.command("clear")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_json
@place_options
@click.pass_obj
def clear(invocation: Invocation, *, yes: bool, as_json: bool) -> int:
    """Delete every checkpoint; conversations stay, and are read again when they go on."""
    root = paths_of(invocation).checkpoints_dir
    before = sum(each.allocated_bytes for each in store_stats(root))
    if not confirm(invocation.host, f"Delete {format_size(before)} of checkpoints in {root}?", yes=yes):
        invocation.host.talk.note("Nothing was deleted.")
        return 1
    clear_all(root)
    # Another program may have recorded more in the meantime.
    freed = max(0, before - sum(each.allocated_bytes for each in store_stats(root)))
    if as_json:
        put_json(invocation.host, {"schema": 1, "folder": str(root), "freed_bytes": freed})
    else:
        put(invocation.host, f"Freed {format_size(freed)}.")
    return 0


class _Rate:
    """Shows progress; bytes with how fast they go."""

    def __init__(self, invocation: Invocation) -> None:
        self._talk = invocation.talk
        self._monotonic = invocation.host.monotonic
        self._began = self._monotonic()

    def show(self, label: str, done: int, total: int) -> None:
        """Take in how far a step is."""
        told = ""
        if label in {"reading", GIVING_BACK}:
            rate = done / max(self._monotonic() - self._began, 1e-3)
            told = f"{format_size(done)} of {format_size(total)}, {format_size(round(rate))}/s"
        self._talk.progress(label, done, total, told=told)


def _budget(invocation: Invocation) -> int:
    return disk_budget(paths_of(invocation).cache_dir, settings_of(invocation, {}).disk_budget)


def _known(invocation: Invocation, identity: str) -> None:
    """Refuse a prefix that no store has.

    Raises:
        UsageError: it begins no identity.
    """
    root = paths_of(invocation).checkpoints_dir
    if identity and not any(each.identity.startswith(identity) for each in store_stats(root)):
        raise UsageError(f"No store's identity begins with {identity}.", "List them: skippy-chat cache stats")


def _tell_verified(invocation: Invocation, reports: list[VerifyReport], *, delete: bool) -> None:
    notes = model_notes(paths_of(invocation).checkpoints_dir)
    for report in reports:
        note = notes.get(report.identity)
        name = report.identity[:_IDENTITY_DIGITS] if note is None else note.name
        for problem in report.problems:
            put(invocation.host, f"{name}: {problem}")
    nodes, files = sum(each.nodes for each in reports), sum(each.segments for each in reports)
    size = format_size(sum(each.bytes_read for each in reports))
    problems, mended = sum(len(each.problems) for each in reports), sum(each.mended for each in reports)
    read = f"{plural(nodes, 'checkpoint')} in {plural(files, 'file')}, {size} read"
    if not problems:
        put(invocation.host, f"{read}: sound.")
    else:
        done = "deleted or put right" if delete else "set aside or put right"
        put(invocation.host, f"{read}: {plural(problems, 'problem')}, {mended} {done}.")


def _tell_pruned(invocation: Invocation, report: PruneReport, *, dry_run: bool) -> None:
    parts = [
        plural(report.checkpoints, "checkpoint") if report.checkpoints else "",
        plural(len(report.models), "model") if report.models else "",
        f"{format_size(report.quarantine_bytes)} set aside" if report.quarantine_bytes else "",
        f"{format_size(report.stray_bytes)} of strays" if report.stray_bytes else "",
        f"version {', '.join(report.versions)}" if report.versions else "",
    ]
    what = ", ".join(part for part in parts if part)
    verb = "Would free about" if dry_run else "Freed"
    put(invocation.host, f"{verb} {format_size(_freed(report))}{f' ({what})' if what else ''}.")
    for left in report.left:
        invocation.host.talk.note(left)


def _freed(report: PruneReport) -> int:
    return max(0, report.before_bytes - report.after_bytes)


def _parts(stats: StoreStats) -> dict[str, Any]:
    try:
        parts = json.loads(stats.parts)
    except ValueError:
        return {}
    return parts if isinstance(parts, dict) else {}


def _name(stats: StoreStats, note: ModelNote | None) -> str:
    return stats.identity[:_IDENTITY_DIGITS] if note is None else note.name


def _row(stats: StoreStats, note: ModelNote | None) -> tuple[str, ...]:
    return (
        "unknown" if note is None else f"{note.name} ({note.architecture}, {note.kind})",
        stats.identity[:_IDENTITY_DIGITS],
        f"{stats.nodes:,}",
        f"{stats.states:,}",
        plural(stats.segments, "segment"),
        format_size(stats.allocated_bytes),
        "" if stats.last_used is None else when(round(stats.last_used * 1000)),
    )


def _stats_json(stats: StoreStats, note: ModelNote | None) -> dict[str, Any]:
    model = None if note is None else dataclasses.asdict(note)
    return {**dataclasses.asdict(stats), "parts": _parts(stats), "model": model}
