"""Room in the context: told when it is full, by how much, with the ways out; and by command at any time.

Invariant: a message that did not fit is never lost. It is sent once there is room, or is back in the box; where
something else was typed there by then, it stays in the transcript, and Up brings it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

from textual.app import App

from skippy_chat.agent.protocol import Conversation, Fork
from skippy_chat.agent.room import Room
from skippy_chat.errors import ContextFull, SkippyError
from skippy_chat.events import Event, TurnFinished
from skippy_chat.room_wording import SMALLEST, context_meant, dropped_text
from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.looks import Looks, Seen
from skippy_chat.tui.room_screen import RoomScreen, Way, Ways
from skippy_chat.tui.sessions import Choice
from skippy_chat.wording import plural

_KIND = "room"
_ROOM_HINT = "The context is full: /room shows what fills it, and what makes room."
_MIDDLE = "The turn ended where the context does. /continue goes on once there is room."


class RoomKeeper:
    """Notices that the context is full, asks what to do, and sees to the message that waits."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._looks = Looks(parts.app.call_later, parts.services.monotonic)
        self._full = ""
        self._waiting = ""
        self._in_copy = False
        parts.turns.failed.append(self._failed)
        parts.turns.heard.append(self._heard)
        parts.settled.append(self._settled)
        parts.opened.append(self._opened)

    def show(self, full: str = "", refused: str = "") -> None:
        """Ask what to do; ``full`` says why, and message ``refused`` waits for the answer."""
        conversation = self._parts.turns.conversation
        if conversation is None or isinstance(self._parts.app.screen, RoomScreen):
            return
        screen = RoomScreen(Ways(conversation.model, full, refused=bool(refused)))

        def take(seen: Seen[Room]) -> None:
            trouble = "" if seen.error is None else _trouble(seen.error)
            screen.put(replace(screen.ways, room=seen.found, trouble=trouble))

        def chosen(way: Way | None) -> None:
            self._looks.forget(_KIND)
            if screen.typed:
                self._parts.composer.insert(screen.typed)
                self._parts.bar.change(hint=_ROOM_HINT)
            else:
                self._chosen(way, screen.ways, refused)

        self._parts.app.push_screen(screen, chosen)
        self._looks.ask(_KIND, conversation.room, take)

    def compact(self) -> None:
        """Have older turns summed up, and then send what waits for room."""
        self._waiting = _refused(self._parts)
        self._parts.transcript.follow()
        self._parts.turns.begin(lambda conversation: conversation.compact())

    def drop(self) -> None:
        """Leave out what tools gave in older turns, and then send what waits for room."""
        self._waiting = _refused(self._parts)
        self._parts.turns.do(lambda conversation: dropped_text(conversation.drop_results()))

    def reopen(self, size: int) -> None:
        """Open the session with another context, which it keeps, and then send what waits for room."""
        self._waiting = _refused(self._parts)
        self._parts.opening.begin(Choice(self._parts.turns.session_id, changes={"ctx": size}))

    # What the app tells

    def _failed(self, error: Exception) -> None:
        if isinstance(error, ContextFull):
            self._full = error.message

    def _heard(self, events: Sequence[Event]) -> None:
        if any(isinstance(each, TurnFinished) and each.finish_reason == "context_full" for each in events):
            self._full = _MIDDLE

    def _settled(self) -> None:
        full, self._full = self._full, ""
        waiting, self._waiting = self._waiting, ""
        refused = _refused(self._parts)
        if not waiting and full and (self._parts.composer.text or len(self._parts.app.screen_stack) > 1):
            self._parts.bar.change(hint=_ROOM_HINT)  # who types, or looks at something, is not disturbed
        elif not waiting and full:
            self.show(full, refused)
        elif refused:
            self._put_back(waiting)
        else:
            self._send(waiting)

    def _opened(self, _conversation: Conversation) -> None:
        self._full = ""
        waiting, self._waiting = self._waiting, ""
        in_copy, self._in_copy = self._in_copy, False
        if in_copy:
            self._put_back(waiting)
        else:
            self._send(waiting)

    # What is chosen

    def _chosen(self, way: Way | None, ways: Ways, refused: str) -> None:
        parts = self._parts
        if way is None or not parts.turns.free:
            self._put_back(refused)
            return
        if way == "compact":
            self.compact()
        elif way == "drop":
            self.drop()
        elif way == "fork":
            self._waiting, self._in_copy = refused, True
            parts.opening.begin(Choice(fork=Fork(parts.turns.session_id, None, "")))
        elif ways.larger is not None:
            self.reopen(ways.larger)

    def _send(self, text: str) -> None:
        parts = self._parts
        if not text:
            return
        if not parts.turns.free:
            self._put_back(text)
            return
        parts.pending.release()
        parts.turns.begin(lambda conversation: conversation.send(text), parts.transcript.ask(text))

    def _put_back(self, text: str) -> None:
        composer = self._parts.composer
        if text and not composer.text and self._parts.editing.message is None:
            composer.put(text)


def _refused(parts: Parts) -> str:
    """Return the message at the end of the branch that did not fit; empty when there is none."""
    messages = parts.transcript.messages
    return messages[-1].content if messages and messages[-1].state == "failed" else ""


def _trouble(error: Exception) -> str:
    return str(error) if isinstance(error, SkippyError) else f"A fault in the program: {error!r}"


def _context(keeper: RoomKeeper, parts: Parts, argument: str) -> bool:
    conversation = parts.turns.conversation
    if conversation is None:
        return False
    model = conversation.model
    most = model.trained_context
    if not argument:
        longest = f"; the model's longest has {most:,}" if most else ""
        parts.bar.change(hint=f"The context holds {plural(model.context_size, 'token')}{longest}.")
        return True
    size = context_meant(argument, model)
    if size is None:
        parts.bar.change(hint=f"Give a number from {SMALLEST}{f' to {most:,}' if most else ''}.")
        return False
    keeper.reopen(size)
    return True


def _feature() -> Feature:
    keepers: WeakKeyDictionary[App[int], RoomKeeper] = WeakKeyDictionary()

    def install(parts: Parts) -> None:
        keepers[parts.app] = RoomKeeper(parts)

    def show(parts: Parts, _argument: str) -> None:
        keepers[parts.app].show(refused=_refused(parts))

    def compact(parts: Parts, _argument: str) -> None:
        keepers[parts.app].compact()

    def drop(parts: Parts, _argument: str) -> None:
        keepers[parts.app].drop()

    def context(parts: Parts, argument: str) -> bool:
        return _context(keepers[parts.app], parts, argument)

    return Feature(
        (
            AppCommand("room", "what fills the context, and what makes room", show, needs="open"),
            AppCommand(
                "compact",
                "have older turns summed up, in a new branch; the old one stays",
                compact,
                needs="free",
            ),
            AppCommand(
                "drop", "leave out what tools gave in older turns, in a new branch", drop, needs="free"
            ),
            AppCommand(
                "context",
                "the context's size, or this session opened with another one",
                context,
                "[N]",
                "free",
            ),
        ),
        install,
    )


ROOM = _feature()
