"""``Skippy``: one conversation that a script holds.

Invariant: what the script reads back is what is stored: its message before the model is asked, the answer when it ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from typing_extensions import Self

from skippy_chat.agent.looking import Checkpoints
from skippy_chat.agent.protocol import Conversation, LoadedModel, ReplayReport, ToolInfo, TurnOptions
from skippy_chat.agent.tools.journal import Undone
from skippy_chat.api.approving import OnApproval
from skippy_chat.api.aside import Aside
from skippy_chat.api.opening import OnProgress, ToolLike, Wanted, open_wanted, tools_of, workspace_of
from skippy_chat.api.reply import Reply
from skippy_chat.api.schemas import SchemaLike, read_answer, schema_of
from skippy_chat.api.stream import Stream
from skippy_chat.chat.messages import Message, Session
from skippy_chat.config import Approve
from skippy_chat.engine.questions import Foreseen
from skippy_chat.errors import SkippyError
from skippy_chat.events import Event


class Skippy:
    """An open conversation on a running model; close it, or use it in a ``with`` block.

    For one thread, except ``cancel``, ``foresee`` and ``checkpoints``. Each question is stored and answered; what was
    read before is never read again.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        session: str | None = None,
        system: str | None = None,
        tools: Sequence[ToolLike] | None = None,
        approve: Approve | None = None,
        workspace: str | Path | None = None,
        on_approval: OnApproval | None = None,
        on_progress: OnProgress | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        max_tokens: int | None = None,
        ctx: int | None = None,
        threads: int | None = None,
        data_dir: str | Path | None = None,
        cache_dir: str | Path | None = None,
        config_dir: str | Path | None = None,
        settings: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Load the model and open a session; None leaves a value to the session, the environment and the user's file.

        Args:
            model: a path or a name; the default model otherwise.
            session: a name or id to go on with, or to create; a new session without a name otherwise.
            system: the system prompt of a new session.
            tools: what the model may call: functions of yours, and names of built-in tools (or ``default``, ``all``).
            approve: what needs approval: ``ask`` all but what touches nothing, ``auto-read`` what writes, runs, or
                is a function that does not say ``@tool(read_only=True)``, ``all`` nothing, ``deny`` denies it all.
            workspace: the folder that the session belongs to and that tools stay in; the git root otherwise, or the
                working folder.
            on_approval: is asked before a call that needs approval; without it such calls are denied, and reading the
                workspace needs none.
            on_progress: is told (what, done, total) while the model is made, fetched or loaded.
            temperature: 0 takes the likeliest token each time.
            seed: of the sampling; a fresh one for each answer otherwise.
            max_tokens: of one answer; 0 goes on until the context is full.
            ctx: tokens of context.
            threads: threads of the model.
            data_dir: where sessions are kept.
            cache_dir: where checkpoints and models are kept.
            config_dir: where the user's own settings are.
            settings: any other setting by its name (``skippy-chat config show`` lists them).
            env: instead of the process's environment, for settings and for commands that tools run.

        Raises:
            ModelFileError: no such model, or not one this build can load.
            SessionLocked: another process writes the session.
            ConfigError: a setting that does not fit.
            SkippyError: anything else that stops it.
        """
        names, functions = tools_of(tools or ())
        flags = {
            "tools": None if tools is None else names,
            "approve": approve,
            "model": None if model is None else str(model),
            "system": system,
            "temperature": temperature,
            "seed": seed,
            "max_tokens": max_tokens,
            "ctx": ctx,
            "threads": threads,
        }
        self._on_approval = on_approval
        self._running: Stream | None = None
        self._conversation = open_wanted(
            Wanted(
                flags={
                    **(settings or {}),
                    **{key: value for key, value in flags.items() if value is not None},
                },
                env=os.environ if env is None else env,
                session=session,
                functions=functions,
                can_ask=on_approval is not None,
                workspace=workspace_of(workspace),
                data_dir=data_dir,
                cache_dir=cache_dir,
                config_dir=config_dir,
                on_progress=on_progress or _quiet,
            )
        )

    @classmethod
    def over(cls, conversation: Conversation, *, on_approval: OnApproval | None = None) -> Self:
        """Return the same interface over a conversation that is open already, and is closed with it."""
        self = cls.__new__(cls)
        self._on_approval = on_approval
        self._running = None
        self._conversation = conversation
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let recording finish and end the model's process; safe to call twice."""
        try:
            self._leave()
        finally:
            self._conversation.close()

    @property
    def session(self) -> Session:
        """The session as stored; its ``name`` opens it again."""
        return self._conversation.session

    @property
    def model(self) -> LoadedModel:
        """The loaded model."""
        return self._conversation.model

    @property
    def tools(self) -> Sequence[ToolInfo]:
        """The tools that the model is offered, sorted by name, and what becomes of their calls."""
        return self._conversation.tools

    @property
    def messages(self) -> Sequence[Message]:
        """The current branch, root first."""
        return self._conversation.messages()

    def ask(
        self,
        text: str,
        *,
        json_schema: SchemaLike | None = None,
        tool_choice: str | None = None,
        max_tokens: int | None = None,
    ) -> Reply:
        """Say something and return the answer.

        Args:
            text: the user's message.
            json_schema: have the answer be JSON by it: a dict, or a pydantic model; ``Reply.parsed`` is the value.
            tool_choice: ``required`` makes the first step a call, ``none`` makes none; ``auto`` is the model's choice.
            max_tokens: of each answer of this turn.

        Raises:
            ContextFull: it does not fit; it is stored, marked failed, and the next message takes its place.
            EngineDied: the model's process ended; the next question starts it again.
            AnswerUnfit: the answer is not what ``json_schema`` asks for.
        """
        return self.stream(
            text, json_schema=json_schema, tool_choice=tool_choice, max_tokens=max_tokens
        ).read()

    def stream(
        self,
        text: str,
        *,
        json_schema: SchemaLike | None = None,
        tool_choice: str | None = None,
        max_tokens: int | None = None,
    ) -> Stream:
        """Say something and return the events of the answer; arguments and errors as ``ask``."""
        options = _options(json_schema, tool_choice, max_tokens)
        self._leave()
        return self._follow(self._conversation.send(text, options), json_schema)

    def edit(self, message: str | Message, text: str, *, max_tokens: int | None = None) -> Reply:
        """Say ``text`` instead of a user's message and return the answer; the old branch stays.

        Raises:
            UsageError: it is not a user's message.
            SkippyError: as ``ask``.
        """
        self._leave()
        options = _options(None, None, max_tokens)
        return self._follow(self._conversation.edit(_id(message), text, options)).read()

    def amend(self, message: str | Message, text: str) -> None:
        """Put a text in place of what the model said or a tool gave, as a version beside it; nothing is asked.

        The branch ends behind it, marked ``edited``, and the next question reads it; the old branch stays.

        Raises:
            UsageError: it is no answer or result of this branch, or says this already.
        """
        self._leave()
        self._conversation.amend(_id(message), text)

    def regenerate(self, *, max_tokens: int | None = None) -> Reply:
        """Have the last user's message answered again, beside the old answer.

        Raises:
            UsageError: nothing was asked yet.
            SkippyError: as ``ask``.
        """
        self._leave()
        return self._follow(self._conversation.regenerate(_options(None, None, max_tokens))).read()

    def go_on(self) -> Reply:
        """Continue a turn that ended in the middle: it was stopped, met a limit, or a call has no result.

        Raises:
            SkippyError: as ``ask``.
        """
        self._leave()
        return self._follow(self._conversation.go_on()).read()

    def aside(self, text: str, *, max_tokens: int = 64) -> Aside:
        """Ask something beside the conversation, of which nothing is kept; the script goes on at once.

        The question stands behind the last whole answer, so that it reads little more than itself. It waits while a
        turn runs, and gives way to one; ``Aside.result`` is the answer.
        """
        return Aside(self._conversation.aside(text, max_tokens=max_tokens))

    def foresee(self, text: str, message: str | Message | None = None) -> Foreseen:
        """Tell where ``text`` would resume, asked next or as an edit of a message; nothing is asked or stored.

        It is what that turn's first step will report, unless something is evicted or found damaged before it. From
        any thread, also while a turn runs; the same goes for ``checkpoints``.

        Raises:
            EngineDied: there is no worker now; the next turn starts one.
            UsageError: the message is not a user's.
        """
        return self._conversation.foresee(text, None if message is None else _id(message))

    def checkpoints(self) -> Checkpoints:
        """Tell what is kept of this session, what an edit of each message would cost, and the last misses.

        Raises:
            EngineDied: there is no worker now; the next turn starts one.
        """
        return self._conversation.checkpoints()

    def branches(self) -> Sequence[Message]:
        """Return the last message of every branch, newest first."""
        return self._conversation.leaves()

    def branch(self, message: str | Message) -> Sequence[Message]:
        """Return the branch down to a message, root first."""
        return self._conversation.branch(_id(message))

    def siblings(self, message: str | Message) -> Sequence[Message]:
        """Return all versions of a message, itself included, oldest first."""
        return self._conversation.siblings(_id(message))

    def switch(self, message: str | Message) -> None:
        """Make the branch through a message the current one, down to its newest end."""
        self._leave()
        self._conversation.switch(_id(message))

    def replay(self, message: str | Message | None = None) -> ReplayReport:
        """Compute a stored answer (the last one) again from scratch, and say whether it has the same ids.

        Raises:
            SkippyError: there is none, its ledger is not this model's, or the model's process ended.
        """
        self._leave()
        items = [*self._conversation.replay(None if message is None else _id(message))]
        if not items or not isinstance(items[-1], ReplayReport):
            raise SkippyError("The replay was stopped before its end.", "Start it again.")
        return items[-1]

    def undo(self) -> Undone:
        """Put back the files that the newest turn of this branch wrote.

        Raises:
            UndoRefused: there is nothing to undo, or a file was changed since.
        """
        self._leave()
        return self._conversation.undo()

    def cancel(self) -> None:
        """Stop the running turn; safe from any thread. What was written is kept, marked interrupted."""
        self._conversation.cancel()

    def _follow(self, events: Iterator[Event], wanted: SchemaLike | None = None) -> Stream:
        parse = None if wanted is None else lambda text: read_answer(text, wanted)
        self._running = Stream(self._conversation, events, self._on_approval, parse)
        return self._running

    def _leave(self) -> None:
        """Stop a stream that was left in the middle: only one turn runs at a time."""
        running, self._running = self._running, None
        if running is not None:
            running.close()


def _quiet(_what: str, _done: int, _total: int) -> None:
    """Tell nobody."""


def _id(message: str | Message) -> str:
    return message.id if isinstance(message, Message) else message


def _options(wanted: SchemaLike | None, tool_choice: str | None, max_tokens: int | None) -> TurnOptions:
    return TurnOptions(tool_choice, None if wanted is None else schema_of(wanted), max_tokens)
