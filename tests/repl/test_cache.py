"""/cache: drawn, or told where the face speaks in sentences; a conversation without a worker says so."""

from __future__ import annotations

import pytest

from skippy_chat.agent.looking import Checkpoints
from skippy_chat.engine.questions import CheckpointTree
from skippy_chat.errors import EngineDied
from skippy_chat.repl.plain import PlainFace
from tests.fakes.conversation import FakeConversation
from tests.repl import chatting
from tests.repl.chatting import Drawing
from tests.test_cache_wording import KEPT


def chat(conversation: FakeConversation, kind: type[PlainFace]) -> tuple[str, str]:
    chatted = chatting.chat(conversation, "/cache\n", kind=kind)
    return chatted.out, chatted.err


def test_it_is_told_in_sentences_where_the_face_speaks_so() -> None:
    conversation = FakeConversation()
    conversation.kept = KEPT
    out, _ = chat(conversation, PlainFace)
    assert "Assistant, “Hi.”, ends at token 40: 10 tokens on disk, 11.0 KiB, 1 state.\n" in out
    assert "This session: 7 checkpoints, 70.0 KiB on disk, its shared parts included.\n" in out
    assert "├" not in out
    assert "\x1b" not in out


def test_it_is_drawn_elsewhere() -> None:
    conversation = FakeConversation()
    conversation.kept = KEPT
    out, _ = chat(conversation, Drawing)
    assert "├─      50  You 2: Something else. · 10 tokens on disk, 11.0 KiB, 1 state\n" in out
    assert "The cache of all models: 3.0 MiB of its budget of 300 MiB (1 %).\n" in out


def test_nothing_said_nothing_kept() -> None:
    conversation = FakeConversation()
    conversation.kept = Checkpoints(CheckpointTree((), (), 0, 0, 0, 1), (), ())
    assert "Nothing is kept of this session yet." in chat(conversation, PlainFace)[0]


def test_without_a_worker_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_: FakeConversation) -> Checkpoints:
        raise EngineDied("There is no worker to ask.", "The next turn starts one.")

    monkeypatch.setattr(FakeConversation, "checkpoints", gone)
    assert "There is no worker to ask. The next turn starts one." in chat(FakeConversation(), PlainFace)[1]
