"""What the command line gives a face to help a person type, and to tell them that an answer is there.

Invariant: what is typed is kept as the person's own settings say; no session has a say in it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from skippy_chat.cli.opening import paths_of, settings_of, workspace_of
from skippy_chat.cli.options import Invocation
from skippy_chat.completions.aids import TypingAids
from skippy_chat.notifying import Notifier
from skippy_chat.typed_history import TypedHistory


@contextlib.contextmanager
def aids_of(invocation: Invocation) -> Iterator[TypingAids]:
    """Give what helps to type in this workspace, with what was typed before; nothing is opened before it is used."""
    paths = paths_of(invocation)
    keep = settings_of(invocation, {}).typed_history
    with contextlib.closing(TypedHistory(paths.history_db, now=invocation.host.now_ms, keep=keep)) as typed:
        yield TypingAids(paths, workspace_of(invocation), typed)


def notifier_of(invocation: Invocation, write: Callable[[str], object] | None) -> Notifier:
    """Return what tells through the terminal that ``write`` writes to; None: there is no terminal."""
    settings = settings_of(invocation, {})
    return Notifier(settings.notify, settings.notify_after, invocation.host.env, write)
