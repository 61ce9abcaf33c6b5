"""Checkpoint trees for tests of what is shown of them, and where it is shown."""

from __future__ import annotations

from dataclasses import replace

from textual.containers import Horizontal

from skippy_chat.agent.looking import Checkpoints, Miss
from skippy_chat.chat.messages import Message, Role
from skippy_chat.engine.questions import CheckpointTree, EditCost, TreeNode
from skippy_chat.events import MissReason
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.screen import Desk


def said(name: str, role: Role, content: str) -> Message:
    return Message(name, "S", None, role, content)


def node(
    parent: int | None,
    position: int,
    tokens: int,
    message: int,
    *,
    branch: int = 0,
    cut: str = "end_of_message",
    generated: bool = False,
    stored: bool = True,
    live: bool = False,
) -> TreeNode:
    state = 2048 if stored else 0
    rows = 1024 * tokens if stored else 0
    return TreeNode(
        parent, position, tokens, branch, message, cut, generated, stored, live, stored, False, rows, state, 0
    )


def tree(nodes: tuple[TreeNode, ...], *edits: EditCost) -> CheckpointTree:
    return CheckpointTree(nodes, edits, 60, 48, 3 << 20, 300 << 20)


def two_branches(*contents: str) -> Checkpoints:
    """System, a question, its answer; and two messages beside each other, the first of them on the branch of now."""
    words = contents or ("Be brief.", "Hello there", "Hi.", "And now?", "Something else.")
    roles: tuple[Role, ...] = ("system", "user", "assistant", "user", "user")
    system, asked, answered, following, other = (
        said(f"M{number}", role, content)
        for number, (role, content) in enumerate(zip(roles, words, strict=True), 1)
    )
    nodes = (
        node(None, 10, 10, 0, cut="end_of_system", live=True),
        node(0, 30, 20, 1, live=True),
        node(1, 34, 4, 2, cut="generation_prompt", live=True),
        node(2, 38, 4, 2, cut="end_of_answer", generated=True, live=True),
        node(3, 40, 2, 2, live=True),
        node(4, 48, 8, 3, live=True, stored=False),
        node(4, 50, 10, 3, branch=1),
    )
    kept = tree(nodes, EditCost(1, 10, 24, None), EditCost(3, 40, 12, 0.5))
    branches = ((system, asked, answered, following), (system, asked, answered, other))
    miss = Miss("T", "M2", 1, 34, 10, MissReason("diverged", 12, 1), 0)
    return Checkpoints(kept, branches, (miss,))


def session_of(kept: Checkpoints, *turns: Turn) -> FakeConversation:
    """A session that holds the messages of what is kept, the first branch current."""
    talk = FakeConversation(turns)
    for branch in reversed(kept.branches):
        parent = None
        for message in branch:
            talk._tree[message.id] = replace(message, parent=parent)
            parent = message.id
        talk._head = parent
    talk.kept = kept
    return talk


def edge(desk: Desk) -> str:
    """What stands on the upper edge of the box."""
    title = desk.app.screen_stack[0].query_one("#entry", Horizontal)._border_title
    return "" if title is None else title.plain.strip()


def long(messages: int) -> Checkpoints:
    """One branch of so many messages of two checkpoints each, every tenth with a version beside it."""
    branch = tuple(
        said(f"M{number}", "assistant" if number % 2 else "user", f"message {number} of a long talk")
        for number in range(messages)
    )
    other = tuple(said(f"N{number}", "user", f"other {number}") for number in range(messages))
    nodes: list[TreeNode] = []
    last: int | None = None
    position = 0
    for number in range(messages):
        if number % 10 == 0:
            nodes.append(node(last, position + 5, 5, number, branch=1))
        for _ in range(2):
            nodes.append(node(last, position := position + 10, 10, number))
            last = len(nodes) - 1
    edits = tuple(EditCost(number, 20 * number, 20, 0.1) for number in range(0, messages, 2))
    return Checkpoints(tree(tuple(nodes), *edits), (branch, other), ())
