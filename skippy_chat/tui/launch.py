"""Starting and ending the app: refused without a terminal; whatever ends it, the conversation is closed in order."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import TextIO

from skippy_chat.errors import UsageError
from skippy_chat.talk import wants_colour
from skippy_chat.tui import pasting
from skippy_chat.tui.app import SkippyApp
from skippy_chat.tui.hangup import HangUpWatch
from skippy_chat.tui.services import Services
from skippy_chat.tui.sessions import Choice

_DUMB = frozenset({"", "dumb", "unknown"})
_PATIENCE = 35.0
_PATIENCE_LOADING = 2.0


def check_terminal(env: Mapping[str, str], *, interactive: bool) -> None:
    """Refuse a terminal that cannot show the app; asked before anything is opened.

    Raises:
        UsageError: it cannot.
    """
    if not interactive:
        raise UsageError(
            "The app needs a terminal.",
            "In a pipe use: skippy-chat run, or skippy-chat repl --plain for many turns.",
        )
    if env.get("TERM", "") in _DUMB:
        raise UsageError(
            "The app needs a terminal that can move its cursor, and TERM says this one cannot.",
            "Use: skippy-chat repl --plain, or skippy-chat run.",
        )


def run_app(services: Services, start: Choice | None) -> int:
    """Run the app until the person leaves or a signal ends it; return the exit code.

    Raises:
        Exception: the conversation could not be opened, as its opener said.
    """
    pasting.install()
    app = _with_colour_as_told(lambda: SkippyApp(services, start))
    watch = HangUpWatch(sys.stdin.fileno(), lambda: _hung_up(app))
    watch.start()
    try:
        app.run()
    finally:
        watch.stop()
        _let_go(sys.__stderr__)
        app.bridge.close(_PATIENCE if app.opened else _PATIENCE_LOADING)
    if app.failure is not None:
        raise app.failure
    return app.return_code or 0


def _with_colour_as_told(make: Callable[[], SkippyApp]) -> SkippyApp:
    """Make the app with or without colour: Textual knows NO_COLOR alone, and takes it out of the environment."""
    told = os.environ.get("NO_COLOR")
    if wants_colour(os.environ, sys.stdout):
        os.environ.pop("NO_COLOR", None)
    else:
        os.environ["NO_COLOR"] = "1"
    app = make()
    # The worker and its children should see what the person said.
    os.environ.pop("NO_COLOR", None)
    if told is not None:
        os.environ["NO_COLOR"] = told
    return app


def _hung_up(app: SkippyApp) -> None:
    """The terminal is gone: keep the answer, let the engine record, and end, whatever the app itself waits for."""
    app.bridge.close(_PATIENCE if app.opened else _PATIENCE_LOADING)
    os._exit(128 + signal.SIGHUP)


def _let_go(stream: TextIO | None) -> None:
    """Send what a terminal that went away has not taken nowhere: else the interpreter's last flush fails, exit 120."""
    if stream is None:
        return
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)
            stream.flush()
