"""``skippy-chat cache``: what the checkpoints take on disk, and freeing it. Deleting them loses only time."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import click

from skippy_chat.checkpoints.survey import clear_all, store_stats
from skippy_chat.checkpoints.types import StoreStats
from skippy_chat.cli.groups import Subcommands
from skippy_chat.cli.opening import paths_of
from skippy_chat.cli.options import Invocation, place_options
from skippy_chat.cli.output import confirm, put, put_json, put_table
from skippy_chat.text.sizes import format_size
from skippy_chat.wording import plural


@click.group("cache", cls=Subcommands)
@place_options
def command() -> None:
    """Look at the checkpoints on disk, or delete them."""


@command.command("stats")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def stats(invocation: Invocation, *, as_json: bool) -> None:
    """Show what is stored for each model."""
    root = paths_of(invocation).checkpoints_dir
    found = store_stats(root)
    total = sum(each.allocated_bytes for each in found)
    if as_json:
        models = [_stats_json(each) for each in found]
        put_json(
            invocation.host, {"schema": 1, "folder": str(root), "allocated_bytes": total, "models": models}
        )
        return
    if found:
        head = ("MODEL", "CHECKPOINTS", "STATES", "FILES", "ON DISK")
        put_table(invocation.host, head, [_row(each) for each in found])
    put(invocation.host, f"{format_size(total)} in {root}")
    for each in found:
        for trouble in (each.notice, each.last_quarantine):
            if trouble:
                invocation.host.talk.note(f"{_name(each)}: {trouble}")


@command.command("clear")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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


def _parts(stats: StoreStats) -> dict[str, Any]:
    try:
        parts = json.loads(stats.parts)
    except ValueError:
        return {}
    return parts if isinstance(parts, dict) else {}


def _name(stats: StoreStats) -> str:
    return str(_parts(stats).get("name") or stats.identity[:12])


def _row(stats: StoreStats) -> tuple[str, ...]:
    return (
        _name(stats),
        f"{stats.nodes:,}",
        f"{stats.states:,}",
        plural(stats.segments, "segment"),
        format_size(stats.allocated_bytes),
    )


def _stats_json(stats: StoreStats) -> dict[str, Any]:
    return {**dataclasses.asdict(stats), "parts": _parts(stats)}
