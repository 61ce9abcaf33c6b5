"""The world outside the program, passed in: streams, environment, clocks, and what opens a conversation.

Tests hand over a ``Host`` of their own; the product has no other way to be told what to talk to.
"""

from __future__ import annotations

import functools
import io
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TextIO

from skippy_chat.talk import Talk, is_dumb, on_terminal, wants_colour

if TYPE_CHECKING:
    from skippy_chat.agent.protocol import Conversation, Fork
    from skippy_chat.config import Settings
    from skippy_chat.engine.seat import EngineSeat
    from skippy_chat.events import Event
    from skippy_chat.paths import Paths

    Progress = Callable[[str, int, int], None]


class OpenConversation(Protocol):
    """Start an engine and open a session on it, or a ``fork``; ``on_progress`` gets (what, done, total).

    ``changes`` are those of the settings that the session keeps from now on.
    """

    def __call__(
        self,
        *,
        paths: Paths,
        settings: Settings,
        session: str | None,
        continue_newest: bool,
        new: bool,
        folder: Path,
        on_progress: Progress,
        fork: Fork | None = None,
        can_ask: bool = False,
        on_event: Callable[[Event], None] | None = None,
        changes: Mapping[str, object] | None = None,
        seat: EngineSeat | None = None,
    ) -> Conversation:
        """Return the open conversation, which tells ``on_event`` of each event and has its engine from a ``seat``.

        Its caller closes it, and answers approvals where it ``can_ask``.
        """


@dataclass(frozen=True, slots=True)
class Host:
    """Streams (standard error inside ``talk``), environment, working folder, clocks, and the engine's opener.

    ``monotonic`` gives seconds, ``now_ms`` milliseconds since the epoch.
    """

    stdin: TextIO
    stdout: TextIO
    talk: Talk
    env: Mapping[str, str]
    folder: Path
    monotonic: Callable[[], float]
    now_ms: Callable[[], int]
    open_conversation: OpenConversation

    @property
    def interactive(self) -> bool:
        """Whether a person can be asked: both ends are terminals."""
        return on_terminal(self.stdin) and on_terminal(self.stdout)


def _nothing(mode: Literal["r", "w"]) -> TextIO:
    """What a stream that was closed before the start stands for; Python has none then."""
    return open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123 - the null device, for the process's life


def _tolerant(stream: TextIO) -> TextIO:
    """Let a stream that cannot write a character show it as an escape, instead of ending the answer there."""
    if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
        stream.reconfigure(errors="backslashreplace")
    return stream


def process_host() -> Host:
    """Return this process's own world."""
    # Now, since the app takes variables away that commands of the person's should see.
    environment = dict(os.environ)
    return Host(
        stdin=sys.stdin or _nothing("r"),
        stdout=_tolerant(sys.stdout or _nothing("w")),
        talk=Talk(
            _tolerant(sys.stderr or _nothing("w")),
            time.monotonic,
            plain=is_dumb(environment),
            colour=wants_colour(environment, sys.stderr),
        ),
        env=environment,
        folder=Path.cwd(),
        monotonic=time.monotonic,
        now_ms=lambda: time.time_ns() // 1_000_000,
        open_conversation=functools.partial(_open, environment),
    )


def _open(
    environment: Mapping[str, str],
    *,
    paths: Paths,
    settings: Settings,
    session: str | None,
    continue_newest: bool,
    new: bool,
    folder: Path,
    on_progress: Progress,
    fork: Fork | None = None,
    can_ask: bool = False,
    on_event: Callable[[Event], None] | None = None,
    changes: Mapping[str, object] | None = None,
    seat: EngineSeat | None = None,
) -> Conversation:
    from skippy_chat.agent.opening import (  # noqa: PLC0415 - the engine, only when a model is needed
        ConversationOptions,
        open_conversation,
    )

    options = ConversationOptions(
        paths=paths,
        settings=settings,
        session=session,
        continue_newest=continue_newest,
        new=new,
        folder=folder,
        fork=fork,
        can_ask=can_ask,
        environment=environment,
        on_event=on_event,
        changes=changes or {},
        seat=seat,
    )
    return open_conversation(options, on_progress=on_progress)
