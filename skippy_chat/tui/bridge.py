"""Thread and app: one thread asks things of the conversation, the app collects what came of it when it likes.

Invariant: the conversation is used by this thread alone (``cancel``, ``decide`` and looks at the cache excepted, which
may come from any), and a turn's iterator is always read to its end, also while the app is being closed; so an answer is
stored whatever the screen does.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TypeAlias

from skippy_chat.agent.naming import name_behind
from skippy_chat.agent.protocol import Conversation, Held, Readable, Stored
from skippy_chat.chat.messages import Message, Session, ToolCall
from skippy_chat.errors import SessionLocked, SessionNotFound
from skippy_chat.events import ApprovalNeeded, Event, PrefillStarted
from skippy_chat.tui.calls import paired

OnProgress = Callable[[str, int, int], None]
Begin = Callable[[Conversation], Iterator[Event]]
Act = Callable[[Conversation], str]


@dataclass(frozen=True, slots=True)
class Branch:
    """The current branch, root first; by message, the ids of all its versions, and the calls that it shows."""

    messages: tuple[Message, ...] = ()
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    calls: Mapping[str, tuple[ToolCall, ...]] = field(default_factory=dict)

    @property
    def leaf(self) -> str:
        """The id of the last message; empty when there is none."""
        return self.messages[-1].id if self.messages else ""


@dataclass(frozen=True, slots=True)
class Loading:
    """A step of opening a conversation; ``total`` is 0 when nobody knows."""

    what: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Before:
    """What is stored of the session that is being opened: to be read until it is."""

    branch: Branch


@dataclass(frozen=True, slots=True)
class Opened:
    """The conversation is open."""

    conversation: Conversation
    branch: Branch
    draft: str = ""
    """What was typed in it and not sent."""


@dataclass(frozen=True, slots=True)
class OpeningFailed:
    """No conversation could be opened."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Left:
    """The conversation was closed, and its session ``deleted``; or ``error`` says why it was not."""

    deleted: Session | None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """A session that could not be opened since another process writes it, as it stood a moment ago."""

    locked: SessionLocked
    session: Session
    branch: Branch


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn, or a switch of branches, is over; ``branch`` is None when it could not be read again."""

    branch: Branch | None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """Something that is no turn was done: ``text`` tells what, or ``error`` why not.

    ``branch`` is the current one afterwards; None when nothing was done, or it could not be read.
    """

    text: str
    error: Exception | None = None
    branch: Branch | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """The session got a title of the program's making."""

    session: Session


Item: TypeAlias = (
    "Event | Loading | Before | Opened | OpeningFailed | Left | Looked | TurnEnded | Done | Named"
)


class Bridge:
    """Runs one job at a time; ``take`` hands over what has come since the last time, in order."""

    def __init__(self, end_with: Callable[[], object] | None = None) -> None:
        """``end_with`` is called at the very end, when the conversation was closed."""
        self._end_with = end_with
        self.parting: list[Callable[[Conversation], object]] = []
        """Called with a conversation before it is closed, in the bridge's thread."""
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._items: deque[Item] = deque()
        self._conversation: Conversation | None = None
        self._versions: dict[str, tuple[str, ...]] = {}
        self._stopping = False
        self._closing = False
        self.naming = False
        """Whether a title is being made, so that ``Named`` may follow."""
        # A daemon, since a model that is being loaded, or that hangs, must not keep the program from ending.
        self._thread = threading.Thread(target=self._work, name="conversation", daemon=True)
        self._thread.start()

    def take(self) -> list[Item]:
        """Return everything that happened since the last call."""
        items = []
        while self._items:
            items.append(self._items.popleft())
        return items

    def open(
        self, opener: Callable[[OnProgress], Conversation], read: Callable[[], Stored] | None = None
    ) -> None:
        """Open a conversation, after the one that is open was closed; ``Opened`` or ``OpeningFailed`` follows.

        Where ``read`` gives what is stored of it, ``Before`` comes before that.
        """
        self._jobs.put(lambda: self._open(opener, read))

    def leave(self, delete: Callable[[], Session]) -> None:
        """Close the conversation and have its session deleted; ``Left`` follows."""
        self._jobs.put(lambda: self._leave(delete))

    def look(self, locked: SessionLocked, opener: Callable[[], Held]) -> None:
        """Read the session that ``locked`` was raised for; ``Looked`` or ``OpeningFailed`` follows."""
        self._jobs.put(lambda: self._look(locked, opener))

    def turn(self, begin: Begin) -> None:
        """Run a turn; its events follow, then ``TurnEnded``."""
        self._stopping = False
        self._jobs.put(lambda: self._turn(begin))

    def switch(self, message: str) -> None:
        """Go to the branch through a message; ``TurnEnded`` follows."""
        self._jobs.put(lambda: self._switch(message))

    def do(self, act: Act) -> None:
        """Have something done that is no turn; ``Done`` follows, with what it returned."""
        self._jobs.put(lambda: self._do(act))

    def decide(self, call: str, *, allowed: bool, scope: str, reason: str) -> None:
        """Answer an ``ApprovalNeeded``, for which the turn waits.

        Raises:
            UsageError: nothing waits for this call any more.
        """
        conversation = self._conversation
        assert conversation is not None
        conversation.decide(call, allowed=allowed, scope=scope, reason=reason)

    def stop(self) -> None:
        """Ask for the running turn to end; what was written is kept."""
        self._stopping = True
        conversation = self._conversation
        if conversation is not None:
            # The engine's pipe may be full, and the app must not wait for it.
            threading.Thread(target=conversation.cancel, name="cancel", daemon=True).start()

    def close(self, patience: float) -> bool:
        """Stop the turn, keep its answer, close the conversation; give up after ``patience`` seconds.

        Returns:
            Whether everything was closed in time.
        """
        self._closing = True
        self.stop()
        self._jobs.put(None)
        self._thread.join(patience)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not self._closing:
                job()
        self._part()
        if self._end_with is not None:
            with contextlib.suppress(Exception):
                self._end_with()

    def _part(self) -> None:
        """Close the conversation, if one is open."""
        conversation, self._conversation = self._conversation, None
        if conversation is None:
            return
        for listen in self.parting:
            with contextlib.suppress(Exception):
                listen(conversation)
        with contextlib.suppress(Exception):
            conversation.close()

    def _leave(self, delete: Callable[[], Session]) -> None:
        self._part()
        self.naming = False  # whatever is still being asked is told to nobody
        try:
            left = Left(delete())
        except SessionNotFound:
            left = Left(None)  # nothing was said in it, so it was not kept
        except Exception as error:  # noqa: BLE001 - told in the app
            left = Left(None, error)
        self._items.append(left)

    def _open(self, opener: Callable[[OnProgress], Conversation], read: Callable[[], Stored] | None) -> None:
        self._part()
        self.naming = False  # whatever is still being asked is told to nobody
        if read is not None:
            self._read(read)
        try:
            conversation = opener(lambda what, done, total: self._items.append(Loading(what, done, total)))
            self._conversation = conversation
            self._versions = {}
            opened = Opened(conversation, self._branch(conversation), conversation.draft)
        except Exception as error:  # noqa: BLE001 - told in the app
            self._items.append(OpeningFailed(error))
        else:
            self._items.append(opened)

    def _read(self, read: Callable[[], Stored]) -> None:
        """Hand over what is stored; what is wrong with it is told by the opener that comes next."""
        with contextlib.suppress(Exception), contextlib.closing(read()) as stored:
            self._versions = {}
            self._items.append(Before(self._branch(stored)))

    def _look(self, locked: SessionLocked, opener: Callable[[], Held]) -> None:
        try:
            with contextlib.closing(opener()) as held:
                self._versions = {}  # its writer may have made new ones
                looked = Looked(locked, held.session, self._branch(held))
        except Exception as error:  # noqa: BLE001 - told in the app
            self._items.append(OpeningFailed(error))
        else:
            self._items.append(looked)

    def _turn(self, begin: Begin) -> None:
        conversation = self._conversation
        assert conversation is not None
        failure: Exception | None = None
        try:
            for event in begin(conversation):
                self._items.append(event)
                # A stop that came before the engine knew of the turn was a stop of nothing.
                if self._stopping and isinstance(event, (PrefillStarted, ApprovalNeeded)):
                    conversation.cancel()
        except Exception as error:  # noqa: BLE001 - told in the app
            failure = error
        else:
            if not (self.naming or self._closing):
                self._name(conversation)
        self._end(conversation, failure)

    def _switch(self, message: str) -> None:
        conversation = self._conversation
        assert conversation is not None
        failure: Exception | None = None
        try:
            conversation.switch(message)
        except Exception as error:  # noqa: BLE001 - told in the app
            failure = error
        self._end(conversation, failure)

    def _do(self, act: Act) -> None:
        conversation = self._conversation
        assert conversation is not None
        text = ""
        try:
            text = act(conversation)
            done = Done(text, None, self._branch(conversation))
        except Exception as error:  # noqa: BLE001 - told in the app
            done = Done(text, error)
        self._items.append(done)

    def _name(self, conversation: Conversation) -> None:
        self.naming = True  # before the turn's end is told: whoever hears of that goes on listening
        if not name_behind(conversation, lambda session: self._named(conversation, session)):
            self.naming = False

    def _named(self, conversation: Conversation, session: Session | None) -> None:
        if conversation is not self._conversation:
            return  # it was left meanwhile
        if session is not None:
            self._items.append(Named(session))
        self.naming = False

    def _end(self, conversation: Conversation, failure: Exception | None) -> None:
        try:
            branch = self._branch(conversation)
        except Exception as error:  # noqa: BLE001 - told in the app
            self._items.append(TurnEnded(None, failure or error))
        else:
            self._items.append(TurnEnded(branch, failure))

    def _branch(self, conversation: Readable) -> Branch:
        messages = tuple(conversation.messages())
        for message in messages:
            if message.id not in self._versions:
                ids = _ids(conversation.siblings(message.id))
                # A new version changes what is known of all its siblings.
                self._versions.update(dict.fromkeys(ids, ids))
        shown = {each.id: self._versions[each.id] for each in messages if len(self._versions[each.id]) > 1}
        return Branch(messages, shown, paired(messages))


def _ids(messages: Sequence[Message]) -> tuple[str, ...]:
    return tuple(each.id for each in messages)
