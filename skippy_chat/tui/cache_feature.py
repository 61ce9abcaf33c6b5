"""What the app tells of the cache: the view of what is kept, and on the box what a text would cost.

Invariant: both only look; where the person goes from there, they go by the app's own ways.
"""

from __future__ import annotations

from skippy_chat.tui.cache_screen import CacheScreen, Wanted
from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.foresight import Foresight
from skippy_chat.tui.jumping import go_to
from skippy_chat.tui.looks import Looks
from skippy_chat.tui.message import MessageView
from skippy_chat.tui.pointing import stop_first

KEY = "ctrl+t"


def _install(parts: Parts) -> None:
    looks = Looks(parts.app.call_later, parts.services.monotonic)
    foresight = Foresight(parts, looks)
    parts.opened.append(lambda _conversation: foresight.changed())
    parts.typed.append(foresight.changed)
    parts.turns.began.append(foresight.changed)
    parts.settled.append(foresight.changed)
    parts.opening.leaving.append(foresight.changed)
    parts.settled.append(lambda: _look_again(parts))


def _look_again(parts: Parts) -> None:
    if isinstance(parts.app.screen, CacheScreen):
        parts.app.screen.action_look()


def _show(parts: Parts, _argument: str) -> bool:
    conversation = parts.turns.conversation
    if conversation is None:
        return False
    looks = Looks(parts.app.call_later, parts.services.monotonic)
    parts.app.push_screen(CacheScreen(looks, conversation.checkpoints), lambda wanted: _go(parts, wanted))
    return True


def _go(parts: Parts, wanted: Wanted | None) -> None:
    if wanted is None:
        return
    message = wanted.message
    if message is None:
        parts.transcript.follow()
    elif wanted.edit:
        parts.app.post_message(MessageView.EditWanted(message))
    elif wanted.now:
        go_to(parts, message)
    elif parts.turns.free:
        parts.turns.switch(message.id)
    else:
        parts.bar.change(hint=stop_first("go to another branch"))


CACHE = Feature(
    (
        AppCommand(
            "cache", "what is kept of this session, and what an edit would cost", _show, "", "open", KEY
        ),
    ),
    _install,
)
