"""A system prompt typed for a session that has begun: not used, and said so once."""

from __future__ import annotations

from pathlib import Path

import pytest

from skippy_chat.agent.opening import ConversationOptions, open_conversation
from skippy_chat.agent.protocol import Conversation
from skippy_chat.config import load_settings
from skippy_chat.events import Notice
from skippy_chat.paths import Paths
from tests.agent.conftest import Turn, play

pytestmark = [pytest.mark.native, pytest.mark.model, pytest.mark.timeout(120)]


def opened(root: Path, model: Path, *, system: str | None, session: dict[str, object]) -> Conversation:
    """Open session S as the command line does: the session's own settings below what was typed."""
    flags = {"model": str(model), "threads": 1, "max_tokens": 4, "ctx": 512, "system": system}
    paths = Paths.resolve(data_dir=root / "data", cache_dir=root / "cache", config_dir=root / "config")
    return open_conversation(
        ConversationOptions(paths, load_settings(flags=flags, session=session), root, session="S"),
        on_progress=lambda what, done, total: None,
    )


def notices(turn: Turn) -> list[str]:
    return [each.text for each in turn.events if isinstance(each, Notice) and "--system" in each.text]


def test_it_is_told_once_and_only_when_it_differs(tmp_path: Path, default_model: Path) -> None:
    stored: dict[str, object] = {}
    for system, told in (("Be brief.", 0), ("Be brief.", 0), (None, 0), ("Be rude.", 1)):
        talk = opened(tmp_path, default_model, system=system, session=stored)
        try:
            assert len(notices(play(talk.send("Hello.")))) == told
            assert notices(play(talk.send("Hello again."))) == []
            stored = dict(talk.session.settings)
            assert talk.messages()[0].content == "Be brief."
        finally:
            talk.close()


def test_a_session_that_began_without_one_says_so_too(tmp_path: Path, default_model: Path) -> None:
    talk = opened(tmp_path, default_model, system=None, session={})
    play(talk.send("Hello."))
    talk.close()
    talk = opened(tmp_path, default_model, system="Be rude.", session={})
    try:
        assert len(notices(play(talk.send("Hello again.")))) == 1
        assert [each.role for each in talk.messages()][:1] == ["user"]
    finally:
        talk.close()
