"""Every way a command line can end: the exit code, and how it is told.

Under ``--json`` and ``--jsonl`` an error is ``{"error": {"code", "message", "hint"}}`` on standard output; otherwise
one line on standard error. A traceback appears only with ``--debug``.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

import click

from skippy_chat.cli.host import Host
from skippy_chat.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE, SkippyError
from skippy_chat.talk import one_line
from skippy_chat.text.json_text import json_line


@dataclass(frozen=True, slots=True)
class Failure:
    """One error as it is told: a stable code word, what and why, the mend, and the exit code."""

    code: str
    message: str
    hint: str
    exit_code: int


def failure_of(error: BaseException) -> Failure:
    """Say what an exception means to a person."""
    if isinstance(error, SkippyError):
        return Failure(error.code, error.message, error.hint, error.exit_code)
    if isinstance(error, click.UsageError):
        return Failure("usage", _usage_message(error), _usage_hint(error), EXIT_USAGE)
    if isinstance(error, click.ClickException):
        return Failure("failed", error.format_message(), "", EXIT_FAILED)
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return Failure("interrupted", "Interrupted.", "", EXIT_INTERRUPTED)
    if isinstance(error, OSError):
        return Failure("failed", _os_message(error), "", EXIT_FAILED)
    return Failure(
        "internal",
        f"A fault in the program: {type(error).__name__}: {error}",
        "Run it again with --debug and report what it shows.",
        EXIT_FAILED,
    )


def tell(error: BaseException, host: Host, *, as_json: bool, debug: bool) -> int:
    """Report an error where it belongs and return the exit code."""
    if isinstance(error, BrokenPipeError):
        discard(host)
        return EXIT_FAILED
    talk = host.talk
    if debug and not isinstance(error, (KeyboardInterrupt, click.Abort)):
        talk.traceback("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    failure = failure_of(error)
    if as_json:
        fields = {"code": failure.code, "message": one_line(failure.message), "hint": one_line(failure.hint)}
        with contextlib.suppress(OSError, ValueError):
            host.stdout.write(json_line({"error": fields}, host.stdout))
    elif failure.exit_code == EXIT_INTERRUPTED:
        talk.clear()
    else:
        talk.error(f"{failure.message} {failure.hint}")
    return finish(host, failure.exit_code)


def finish(host: Host, code: int) -> int:
    """Flush standard output; what cannot be written is a failure, told once (quietly for a broken pipe)."""
    try:
        host.stdout.flush()
    except OSError as error:
        discard(host)
        if not isinstance(error, BrokenPipeError):
            host.talk.error(_os_message(error))
        return code or EXIT_FAILED
    return code


def discard(host: Host) -> None:
    """Send what is left of standard output nowhere, so that the interpreter's last flush cannot fail."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, host.stdout.fileno())
        os.close(null)
        host.stdout.flush()


def wants_json(arguments: Sequence[str]) -> bool:
    """Tell whether errors go to standard output as JSON; asked before the command line is understood."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options or "--jsonl" in options


def closest(word: str, known: Sequence[str]) -> str:
    """Return a hint that names the closest known word, or nothing."""
    found = difflib.get_close_matches(word, known, n=1)
    return f"Did you mean {found[0]}?" if found else ""


def _usage_message(error: click.UsageError) -> str:
    # The formatted message of an unknown option repeats the hint; that of a bad value names the option.
    return error.message if isinstance(error, click.NoSuchOption) else error.format_message()


def _usage_hint(error: click.UsageError) -> str:
    context = error.ctx
    path = context.command_path if context is not None else "skippy-chat"
    if isinstance(error, click.NoSuchOption) and context is not None:
        known = [name for param in context.command.params for name in (*param.opts, *param.secondary_opts)]
        hint = closest(error.option_name, known)
        if hint:
            return hint
    return getattr(error, "hint", "") or f"See: {path} --help"


def _os_message(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}."
