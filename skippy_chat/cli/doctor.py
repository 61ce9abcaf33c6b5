"""``skippy-chat doctor``: what is installed, patched and found; what is wrong, and the mend.

Invariant: it changes nothing. The native library is loaded in a process of its own, which may crash without taking the
report with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import click

from skippy_chat import __version__
from skippy_chat.cli.checks import Check, checks
from skippy_chat.cli.opening import paths_of, settings_of
from skippy_chat.cli.options import Invocation, place_options
from skippy_chat.cli.output import put, put_json
from skippy_chat.errors import EXIT_FAILED
from skippy_chat.talk import one_line

_MARKS = {"ok": "ok", "note": "note", "wrong": "WRONG"}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def command(invocation: Invocation, *, as_json: bool) -> int:
    """Check the installation; exit 1 when something is wrong."""
    host = invocation.host
    model: Callable[[], str | None] = lambda: settings_of(invocation, {}).model  # noqa: E731 - asked within a check
    found = checks(paths_of(invocation), model=model, env=host.env)
    wrong = [check for check in found if check.state == "wrong"]
    if as_json:
        report = {
            "schema": 1,
            "version": __version__,
            "ok": not wrong,
            "checks": [dataclasses.asdict(check) for check in found],
        }
        put_json(host, report)
    else:
        for check in found:
            put(host, _line(check))
        put(host, f"{len(wrong)} wrong." if wrong else "Nothing is wrong.")
    return EXIT_FAILED if wrong else 0


def _line(check: Check) -> str:
    mend = f" {check.mend}" if check.mend and check.state != "ok" else ""
    return f"{_MARKS[check.state]:<6}{one_line(f'{check.name}: {check.found}{mend}')}"
