"""The message tree of a scripted conversation, kept in memory: what a face reads of it, and branches made of others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from skippy_chat.agent.room import Dropped
from skippy_chat.chat.messages import Message, Role, Session
from skippy_chat.errors import UsageError

LEFT_OUT = "[left out]"


class FakeTree:
    """Messages of one session and a head; ``asked`` tells what was asked for, in order."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tree: dict[str, Message] = {}
        self._head: str | None = None
        self.asked: list[str] = []

    def add(self, role: Role, content: str, parent: str | None) -> Message:
        """Put a message into the tree and the head on it."""
        message = Message(self._next_id(), self._session.id, parent, role, content)
        self._tree[message.id] = message
        self._head = message.id
        return message

    def messages(self) -> Sequence[Message]:
        return [] if self._head is None else self.branch(self._head)

    def siblings(self, message: str) -> Sequence[Message]:
        parent = self._tree[message].parent
        return [each for each in self._tree.values() if each.parent == parent]

    def branch(self, message: str) -> Sequence[Message]:
        branch: list[Message] = []
        at: str | None = message
        while at is not None:
            branch.append(self._tree[at])
            at = self._tree[at].parent
        return branch[::-1]

    def leaves(self) -> Sequence[Message]:
        parents = {each.parent for each in self._tree.values()}
        return [each for each in reversed(self._tree.values()) if each.id not in parents]

    def switch(self, message: str) -> None:
        at = message
        while below := [each.id for each in self._tree.values() if each.parent == at]:
            at = below[-1]
        self._head = at

    def remove(self, message: str) -> None:
        branch = self.messages()
        at = next((n for n, each in enumerate(branch) if each.id == message and each.role == "user"), None)
        if at is None:
            raise UsageError(f"Message {message} is not a user's in this branch.")
        self.asked.append(f"remove {message}")
        self._head = branch[at].parent
        following = [n for n, each in enumerate(branch) if n > at and each.role == "user"]
        self._copy(branch[following[0] :] if following else ())

    def amend(self, message: str, text: str) -> None:
        branch = self.messages()
        at = next((n for n, each in enumerate(branch) if each.id == message), None)
        if at is None or branch[at].role not in ("assistant", "tool"):
            raise UsageError(f"Message {message} is no answer or result in this branch.")
        self.asked.append(f"amend {message}")
        self._head = branch[at].parent
        new = replace(branch[at], content=text, edited=True, state="complete", finish_reason=None)
        results = itertools.takewhile(lambda each: each.role == "tool", branch[at + 1 :])
        self._copy([new, *results])

    def drop_results(self) -> Dropped:
        branch = self.messages()
        newest = max((n for n, each in enumerate(branch) if each.role == "user"), default=0)
        old = [
            n for n, each in enumerate(branch[:newest]) if each.role == "tool" and each.content != LEFT_OUT
        ]
        if not old:
            raise UsageError("There is no tool output to leave out.")
        self._head = branch[old[0]].parent
        noted = [
            replace(each, content=LEFT_OUT) if n in old else each
            for n, each in enumerate(branch)
            if each.state != "failed"
        ]
        self._copy(noted[old[0] :])
        return Dropped(len(old), 100 * len(old))

    def _copy(self, messages: Sequence[Message]) -> None:
        for each in messages:
            self._keep(each)

    def _keep(self, message: Message) -> Message:
        """Put a message under the head."""
        kept = replace(message, id=self._next_id(), session=self._session.id, parent=self._head)
        self._tree[kept.id] = kept
        self._head = kept.id
        return kept

    def _next_id(self) -> str:
        return f"M{len(self._tree) + 1}"
