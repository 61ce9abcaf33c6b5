"""The seam between faces and everything below: what a face may ask of an open conversation.

Faces know only this and the event stream, so one scripted fake drives them all in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from skippy_chat.agent.asides import SideAnswer
from skippy_chat.agent.looking import Checkpoints
from skippy_chat.agent.room import Dropped, Room
from skippy_chat.agent.tools.journal import Undone
from skippy_chat.chat.messages import Message, Session
from skippy_chat.config import Settings
from skippy_chat.engine.questions import Foreseen
from skippy_chat.events import Event
from skippy_chat.sampling import Sampling


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """The model behind a conversation; ``kind`` is dense, swa, hybrid or recurrent, asked of native code."""

    name: str
    sha256: str
    kind: str
    architecture: str
    context_size: int
    trained_context: int = 0
    """The longest context that it was trained for, in tokens; 0 where that is not known."""
    thinks: bool = False
    """Whether its template knows reasoning, so that ``reasoning`` makes a difference."""


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """What holds for one turn alone; None leaves it to the session.

    ``tool_choice`` (auto, required, none) is for the first step: "required" for all of them would never end.
    ``json_schema`` makes the answer JSON by it, and no tool is called. ``max_tokens`` bounds each answer; 0: no bound.
    ``sampling`` is how the answers are drawn: begin with ``Conversation.sampling`` and change what is to be different.
    """

    tool_choice: str | None = None
    json_schema: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    sampling: Sampling | None = None


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool that the model is offered; ``approval`` is what becomes of its calls where no rule says otherwise."""

    name: str
    description: str
    approval: Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a replay of a stored turn gave: the same ids, or the first position where they differ."""

    message: str
    compared_tokens: int
    same_ids: bool
    first_difference: int | None


@dataclass(frozen=True, slots=True)
class Fork:
    """A new session to begin as a copy of session ``session`` (an id), down to ``message``; None: as far as it goes."""

    session: str
    message: str | None = None
    title: str = ""


class Readable(Protocol):
    """A session's current branch, as it stands in the history."""

    @property
    def session(self) -> Session:
        """The session as stored."""

    def messages(self) -> Sequence[Message]:
        """Return the current branch, root first."""

    def siblings(self, message: str) -> Sequence[Message]:
        """Return all versions of a message (itself included), oldest first."""


class Stored(Readable, Protocol):
    """A session that is only read: each call reads what is there by now, and nothing is ever changed."""

    def close(self) -> None:
        """Stop reading; safe to call twice."""


class Held(Stored, Protocol):
    """A session that another process writes."""

    @property
    def writer(self) -> int | None:
        """The id of the process that writes it, where that is known."""


class Conversation(Readable, Protocol):
    """One open session on a running engine. Iterators of events must be read to their end.

    A turn's iterator raises ``SkippyError`` subclasses (ContextFull, EngineDied, NativeError …); the user's
    message is already stored then. One that does not fit the context is marked failed, and the next takes its place.
    """

    @property
    def model(self) -> LoadedModel:
        """The loaded model."""

    @property
    def tools(self) -> Sequence[ToolInfo]:
        """The tools that the model is offered, sorted by name."""

    @property
    def settings(self) -> Settings:
        """The settings in force in this conversation."""

    def adjust(self, changes: Mapping[str, object]) -> Settings:
        """Change settings from the next step on, those that sessions keep also for good; return those in force.

        The changes are as TOML has them, or texts. ``agent.adjusting.ADJUSTABLE`` are the keys. Safe from any thread.

        Raises:
            UsageError: one cannot be changed while a session is open.
            ConfigError: a value does not fit.
        """

    def send(self, text: str, options: TurnOptions | None = None) -> Iterator[Event]:
        """Store ``text`` as a user message under the head, and answer it."""

    def regenerate(self, options: TurnOptions | None = None) -> Iterator[Event]:
        """Answer the last user message of the branch again, as a sibling of the old answer."""

    def edit(self, message: str, text: str, options: TurnOptions | None = None) -> Iterator[Event]:
        """Store ``text`` as a sibling of user message ``message`` (an id) and answer it; the old branch stays."""

    def branch(self, message: str) -> Sequence[Message]:
        """Return the branch down to a message, root first."""

    def leaves(self) -> Sequence[Message]:
        """Return the last message of every branch, newest first."""

    def switch(self, message: str) -> None:
        """Make the branch through ``message`` the current one, down to its newest leaf."""

    def sampling(self) -> Sampling:
        """Return how the next answer would be drawn: as the session says, with a new seed where it sets none."""

    def remove(self, message: str) -> None:
        """Leave out the turn of user message ``message`` (an id): the question, its answers, calls and results.

        A branch without it becomes the current one: what followed is copied behind what was before, and the old branch
        stays. With nothing behind it the current branch ends above it. Its files are not undone.

        Raises:
            UsageError: ``message`` is not a user's in the current branch, or a turn is running.
        """

    def amend(self, message: str, text: str) -> None:
        """Store ``text`` as a person's version of an answer or a tool's result ``message`` (an id); it is ``edited``.

        Nothing is asked: the current branch ends behind it, and the next turn reads it as text. Calls of the same
        answer and what they gave stay, copied behind it; ``go_on`` has the model answer those. The old branch stays,
        with all that followed.

        Raises:
            UsageError: it is no answer or result in the current branch, says this already, or a turn is running.
        """

    def room(self) -> Room:
        """Tell what the conversation fills of the context, by kind; from any thread, also while a turn runs.

        Raises:
            EngineDied: there is no worker, or it ended; the next turn starts one.
            SkippyError: as the worker said.
        """

    def drop_results(self) -> Dropped:
        """Leave out what tools gave in all turns but the newest: a new branch, in which a short note stands for each.

        The old branch stays. What was read before the first of them stays read; what follows is read once more.

        Raises:
            UsageError: there is nothing to leave out, or a turn is running.
            SkippyError: as the worker said.
        """

    def compact(self) -> Iterator[Event]:
        """Have the model sum up the branch, and begin a new one with the summary and the newest turns behind it.

        The events are a turn's; the text is the summary. The summary stands in the new branch as the answer to a
        question which says that messages were left out, and how many. The newest turns that fit half the context follow
        it word for word. The old branch stays, and is the current one where this is stopped or fails. A message that
        did not fit is in neither: send it again.

        Raises:
            UsageError: there is nothing to sum up.
            SkippyError: as a turn's.
        """

    def replay(self, message: str | None = None) -> Iterator[Event | ReplayReport]:
        """Compute a stored answer from scratch with its ledger's schedule; the report is the last item."""

    def decide(self, call: str, *, allowed: bool, scope: str = "once", reason: str = "") -> None:
        """Answer an ``ApprovalNeeded`` about ``call``; safe from any thread.

        Where one thread both reads the events and asks, it answers before it takes the next event; where another one
        asks, the turn waits in its iterator until it is answered or cancelled. ``scope`` must be one that the event
        offered; ``reason`` goes to the model when the answer is no.

        Raises:
            UsageError: nothing waits for this call, or the scope was not offered; it goes on waiting then.
        """

    def go_on(self) -> Iterator[Event]:
        """Continue a turn that ended in the middle (stopped, a limit, a call without a result); asks nothing new."""

    def aside(self, text: str, *, max_tokens: int = 64) -> Callable[[], SideAnswer]:
        """Prepare a side question behind the branch's last whole answer, of which nothing is kept.

        The function that is returned asks it and waits for the answer, from any thread, also while a turn runs: the
        turn goes first. It raises ``SkippyError`` where there is no answer.
        """

    def checkpoints(self) -> Checkpoints:
        """Tell what is kept of this session, its current branch first, what an edit there costs, and the last misses.

        From any thread, also while a turn runs: then as things stand in it. The same goes for ``foresee``. Neither
        waits for an answer, changes anything, or counts as a use of what it looks at.

        Raises:
            EngineDied: there is no worker, or it ended; the next turn starts one.
            SkippyError: as the worker said.
        """

    def foresee(self, text: str, message: str | None = None) -> Foreseen:
        """Tell where ``text`` would resume if it were sent now, or as an edit of user message ``message`` (an id).

        It is what that turn's first step will report, unless something is evicted or found damaged before it.

        Raises:
            EngineDied: there is no worker, or it ended; the next turn starts one.
            UsageError: ``message`` is not a user's.
            SkippyError: as the worker said.
        """

    def entitle(self) -> Callable[[], Session] | None:
        """Prepare to have the model name the session, once, behind its last whole answer.

        None where there is no such answer, the session has a title, or ``titles`` is off. The function that is returned
        asks aside, keeps the title, and returns the session, from any thread; it raises ``SkippyError`` where a title
        cannot be kept. One that is still being asked for when the conversation closes is not kept.
        """

    def rename(self, title: str) -> Session:
        """Give the session a person's title, which goes before a made one; an empty one takes it away.

        Raises:
            HistoryError: it is taken, or not fit to be one.
        """

    @property
    def draft(self) -> str:
        """The text that was typed in this session and not sent; from any thread."""

    def keep_draft(self, text: str) -> None:
        """Keep the text that is typed, for the next time the session is opened; empty: there is none. From any thread.

        A new session with a draft is kept, though nothing was said in it.
        """

    def keep(self) -> None:
        """Keep the session also if nothing is said in it: it is about to be opened anew."""

    def undo(self) -> Undone:
        """Put back the files that the newest turn of this branch wrote; it is not undone twice.

        Raises:
            UndoRefused: there is nothing to undo, or a file was changed since.
        """

    def cancel(self) -> None:
        """Stop the running turn from another thread; the partial answer is kept, marked interrupted."""

    def close(self) -> None:
        """Stop the engine, release the session's lock; safe to call twice."""
