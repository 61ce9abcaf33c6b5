"""What becomes of the text in the box when Enter is pressed: a command, a prompt, an edit, or a message.

Invariant: messages go in the order in which they were sent, also when one waits for a file. A text that cannot be sent
is back in the box, with the reason; nothing of it is lost and nothing was sent.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from skippy_chat.chat.messages import Message
from skippy_chat.completions.aids import Outgoing, TypingAids
from skippy_chat.errors import SkippyError
from skippy_chat.tui.amending import amend
from skippy_chat.tui.command import Parts
from skippy_chat.tui.commands import Commands, Typed, read, unknown
from skippy_chat.tui.pointing import stop_first

_SEARCH = "history"  # what is searched is found, and the search not among it
_UNCHANGED = "The message stays as it was."


class Sending:
    """Sends what was typed."""

    def __init__(self, parts: Parts, commands: Commands) -> None:
        self._parts = parts
        self._commands = commands
        self._in_order = asyncio.Lock()
        self._remembering = ThreadPoolExecutor(1, "typed")  # one, so that the newest is stored last

    def submit(self, text: str) -> None:
        """Send, queue, carry out, or finish an edit."""
        if self._parts.editing.message is not None:
            self._finish_edit(text)
            return
        typed = read(text)
        if typed.command in self._commands.table:
            self._carry_out(typed, text)
        elif not self._takes_time(text):
            if typed.command:
                self._refuse(text, unknown(typed.command))
            else:
                self._send(typed.message, text)
        else:
            self._wait_for(text, lambda aids: self._prepare(aids, text, typed), self._prepared)

    def _carry_out(self, typed: Typed, text: str) -> None:
        if not self._commands.carry_out(typed):
            self._put_back(text)
        elif typed.command != _SEARCH:
            self._remember(text)

    def _takes_time(self, text: str) -> bool:
        aids = self._parts.services.aids
        if aids is None or not text.strip():
            return False
        return self._in_order.locked() or aids.takes_time(text, self._commands.table)

    def _send(self, message: str, typed: str) -> None:
        parts = self._parts
        if message.strip():
            parts.pending.put(message)
            self._remember(typed)
        parts.pending.release()
        parts.turns.next()

    def _prepare(self, aids: TypingAids, text: str, typed: Typed) -> Outgoing | None:
        outgoing = aids.outgoing(text, self._commands.table)
        # Words behind a slash that name no prompt are a message, unless they are a single one.
        return aids.edited(typed.message) if outgoing is None and typed.message else outgoing

    def _prepared(self, outgoing: Outgoing | None, typed: str) -> None:
        if outgoing is None:
            self._refuse(typed, unknown(read(typed).command))
            return
        self._send(outgoing.text, typed)
        if outgoing.notes:
            self._parts.bar.change(hint=" ".join(outgoing.notes))

    # Edits

    def _finish_edit(self, text: str) -> None:
        message = self._parts.editing.finish(text)
        if message is None:
            self._parts.bar.change(hint=_UNCHANGED)
            return
        if message.role != "user":
            amend(self._parts, message, text)
            return
        self._remember(text)
        aids = self._parts.services.aids
        # No command is meant in an edit; whether a file is named is all there is to ask.
        if aids is None or not aids.takes_time(f" {text}", ()):
            self._edit(message, text)
            return
        self._wait_for(
            text,
            lambda aids: aids.edited(text, message.content),
            lambda outgoing, _typed: self._edit(message, text if outgoing is None else outgoing.text),
            lambda: self._parts.editing.begin(message),
        )

    def _edit(self, message: Message, text: str) -> None:
        parts = self._parts
        if not parts.turns.free:
            self._refuse(text, stop_first("edit"))
            return
        parts.transcript.cut(message.id)
        question = parts.transcript.ask(text)
        parts.turns.begin(lambda conversation: conversation.edit(message.id, text), question)

    # What waits for the disk

    def _wait_for(
        self,
        typed: str,
        prepare: Callable[[TypingAids], Outgoing | None],
        then: Callable[[Outgoing | None, str], None],
        back: Callable[[], object] = lambda: None,
    ) -> None:
        """Prepare in a thread, and go on with ``then``; ``back`` is called before a refused text goes back."""
        aids = self._parts.services.aids
        assert aids is not None

        async def run() -> None:
            async with self._in_order:
                try:
                    outgoing = await asyncio.to_thread(prepare, aids)
                except Exception as error:  # noqa: BLE001 - told in the app
                    back()
                    told = (
                        str(error) if isinstance(error, SkippyError) else f"A fault in the program: {error!r}"
                    )
                    self._refuse(typed, told)
                    return
                then(outgoing, typed)

        self._parts.app.run_worker(run(), group="sending")

    def _refuse(self, typed: str, why: str) -> None:
        self._put_back(typed)
        self._parts.bar.change(hint=why)

    def _put_back(self, typed: str) -> None:
        composer = self._parts.composer
        if self._parts.editing.message is None and composer.text:
            typed = f"{typed}\n{composer.text}"  # what was typed since stays behind it
        composer.put(typed)

    # What is typed again

    def _remember(self, text: str) -> None:
        aids = self._parts.services.aids
        if aids is not None and aids.typed.worth_keeping(text):
            self._remembering.submit(_kept, aids, text)


def _kept(aids: TypingAids, text: str) -> None:
    with contextlib.suppress(SkippyError):  # optional work: what matters is in the session
        aids.typed.add(text)
