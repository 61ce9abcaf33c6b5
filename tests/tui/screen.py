"""The app under Pilot, on a scripted conversation: keys in, what the widgets hold out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from textual.css.query import NoMatches
from textual.pilot import Pilot

from skippy_chat.chat.messages import MADE_TITLE, Session
from skippy_chat.chat.searching import Found
from skippy_chat.chat.session_rows import Overview
from skippy_chat.completions.aids import TypingAids
from skippy_chat.errors import SessionLocked, SessionNotFound, SkippyError
from skippy_chat.notifying import Notifier
from skippy_chat.tui.app import SkippyApp
from skippy_chat.tui.bridge import OnProgress
from skippy_chat.tui.composer import Composer
from skippy_chat.tui.modal import Modal
from skippy_chat.tui.pending import Pending
from skippy_chat.tui.preferences import Preferences
from skippy_chat.tui.services import Services
from skippy_chat.tui.sessions import Choice
from skippy_chat.tui.shelf import Shelf
from skippy_chat.tui.statusbar import StatusBar
from skippy_chat.tui.transcript import Transcript
from tests.fakes.conversation import FakeConversation, FakeHeld

PATIENCE = 60.0
ModalT = TypeVar("ModalT", bound=Modal[Any])


@dataclass
class Desk:
    """What a test looks at: the running app, its widgets' texts, and what was asked of the world."""

    app: SkippyApp
    pilot: Pilot[int]
    clock: list[float]
    chosen: list[Choice] = field(default_factory=list)

    @property
    def transcript(self) -> Transcript:
        return self.app.query_one(Transcript)

    @property
    def composer(self) -> Composer:
        return self.app.query_one(Composer)

    @property
    def status(self) -> str:
        return self.app.query_one(StatusBar).plain

    @property
    def queue(self) -> str:
        pending = self.app.query_one(Pending)
        return str(pending.render()) if pending.display else ""

    @property
    def texts(self) -> list[str]:
        return [view.plain for view in self.transcript.views]

    async def wait_until(self, what: Callable[[], object]) -> None:
        """Let the app run until something holds; the app's own drains are the event that is waited for.

        What looks at a widget that is not composed yet does not hold.
        """
        deadline = asyncio.get_running_loop().time() + PATIENCE
        missing: NoMatches | None = None
        while True:
            try:
                if what():
                    break
                missing = None
            except NoMatches as error:
                missing = error
            if asyncio.get_running_loop().time() > deadline:
                raise AssertionError(f"never came: {self.texts} {self.status!r} {self.queue!r}") from missing
            await self.pilot.pause(0.01)
        await self.pilot.pause()

    async def over(self, kind: type[ModalT]) -> ModalT:
        """Wait for a screen over the app that stands and takes keys, and return it."""
        await self.wait_until(
            lambda: isinstance(self.app.screen, kind) and self.app.screen.stands and self.app.screen.focused
        )
        assert isinstance(self.app.screen, kind)
        return self.app.screen

    async def type(self, text: str) -> None:
        """Type a text without special keys."""
        await self.pilot.press(*(" " if each == " " else each for each in text))

    async def say(self, text: str) -> None:
        """Put a text into the composer and send it."""
        self.composer.put(text)
        await self.pilot.press("enter")

    async def ready(self) -> None:
        """Wait for the end of what is going on; an act that is no turn shows nowhere that it does."""
        await self.pilot.pause()  # what was sent may be on its way still
        await self.wait_until(
            lambda: " ready" in self.status and self.queue == "" and not self.app._turns.busy
        )


@asynccontextmanager
async def app_on(
    conversation: FakeConversation | Callable[[OnProgress], FakeConversation],
    *,
    start: Choice | None = None,
    sessions: Sequence[Overview] = (),
    shelf: Shelf | None = None,
    size: tuple[int, int] = (80, 24),
    wait: bool = True,
    held: Callable[[], FakeHeld] | None = None,
    stored: Callable[[str], FakeHeld] | None = None,
    folder: Path = Path("/work"),
    preferences: Preferences | None = None,
    aids: TypingAids | None = None,
    notifier: Notifier | None = None,
) -> AsyncIterator[Desk]:
    """Run the app on a conversation, or on what an opener gives; ``start`` None lets it choose.

    The picker shows ``sessions``, or what a ``shelf`` has.

    ``held`` reads the session when the opener says that another process writes it; ``stored`` reads one, by its id,
    before it is opened. Exports go into ``folder``.
    """
    clock = [0.0]
    chosen: list[Choice] = []

    def open_it(choice: Choice, on_progress: OnProgress) -> FakeConversation:
        chosen.append(choice)
        return conversation(on_progress) if callable(conversation) else conversation

    def look(locked: SessionLocked) -> FakeHeld:
        if held is None:
            raise SessionNotFound("No session is held.")
        return held()

    services = Services(
        "/work",
        shelf or FakeShelf(sessions),
        open_it,
        look,
        lambda: clock[0],
        lambda: 1_000_000_000,
        folder,
        preferences=preferences or Preferences(),
        aids=aids,
        read=stored,
        notifier=None if notifier is None else lambda _write: notifier,
    )
    app = SkippyApp(services, start)
    async with app.run_test(size=size) as pilot:
        desk = Desk(app, pilot, clock, chosen)
        if wait:
            await desk.ready()
        try:
            yield desk
        finally:
            app.bridge.close(PATIENCE)


class FakeShelf:
    """Sessions that are found by a part of their title or opening, and what was done to them."""

    folder = "/work"

    def __init__(self, sessions: Sequence[Overview]) -> None:
        self.sessions = {each.session.id: each for each in sessions}
        self.deleted: dict[str, Overview] = {}
        self.asked: list[str] = []
        self.fails: SkippyError | None = None
        self.unreadable: SkippyError | None = None
        self.may_answer = threading.Event()
        self.may_answer.set()

    def found(self, text: str) -> Sequence[Found]:
        self.asked.append(text)
        if self.unreadable is not None:
            raise self.unreadable
        self.may_answer.wait(PATIENCE)
        here = [each for each in self.sessions.values() if each.session.folder == "/work"]
        others = [each for each in self.sessions.values() if each.session.folder != "/work"]
        return [
            Found(each, ((text, True), (" was said", False)) if text in each.opening and text else ())
            for each in (*here, *others)
            if text in f"{each.session.title} {each.session.made_title} {each.opening}"
        ]

    def rename(self, session: str, title: str) -> Session:
        self._fail()
        self.sessions[session] = replace(
            self.sessions[session], session=replace(self.sessions[session].session, title=title)
        )
        return self.sessions[session].session

    def fork(self, session: str) -> Session:
        self._fail()
        copy = replace(self.sessions[session].session, id=f"{session}C", title="")
        self.sessions[copy.id] = replace(self.sessions[session], session=copy)
        return copy

    def delete(self, session: str) -> Session:
        self._fail()
        if session not in self.sessions:
            raise SessionNotFound(f"There is no session {session} any more.")
        self.deleted[session] = self.sessions.pop(session)
        return self.deleted[session].session

    def restore(self, session: str) -> Session:
        self._fail()
        self.sessions[session] = self.deleted.pop(session)
        return self.sessions[session].session

    def bring_back(self, reference: str) -> Session:
        for session, overview in reversed(self.deleted.items()):
            if reference in ("", session, overview.session.title):
                return self.restore(session)
        raise SessionNotFound("No session is deleted.")

    def _fail(self) -> None:
        if self.fails is not None:
            raise self.fails


def overview(number: int, opening: str, *, title: str = "", made: str = "") -> Overview:
    session = Session(
        f"01S{number}",
        title,
        "/work",
        0,
        1_000_000_000 - 60_000 * number,
        "fake-135m",
        {MADE_TITLE: made} if made else {},
    )
    return Overview(session, 2 * number, opening)
