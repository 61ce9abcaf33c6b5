"""Sessions removed for good, with the checkpoints that were theirs alone; drafts; engines that go to the next one."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from skippy_chat.agent.conversation import EngineConversation
from skippy_chat.agent.forgetting import forget_expired, forget_sessions
from skippy_chat.agent.opening import ConversationOptions, open_conversation
from skippy_chat.chat.history import History
from skippy_chat.chat.locks import SessionLock
from skippy_chat.chat.trash import KEPT_MS
from skippy_chat.checkpoints.survey import store_stats
from skippy_chat.config import load_settings
from skippy_chat.engine.seat import EngineSeat
from skippy_chat.events import StepFinished
from skippy_chat.paths import Paths
from tests.agent.conftest import Turn, play

pytestmark = [pytest.mark.native, pytest.mark.model, pytest.mark.timeout(180)]

SYSTEM = "You are a keeper of a lighthouse, and answer briefly, in plain words. " * 4


class Home:
    """One person's folders, where sessions are opened on the same model."""

    def __init__(self, root: Path, model: Path) -> None:
        self.paths = Paths(root / "data", root / "cache", root / "config")
        self.root = root
        self.model = model

    def open(
        self, session: str | None, seat: EngineSeat | None = None, ctx: int = 1024
    ) -> EngineConversation:
        flags = {"model": str(self.model), "threads": 1, "max_tokens": 6, "ctx": ctx, "temperature": 0.0}
        options = ConversationOptions(
            self.paths,
            load_settings(flags={**flags, "system": SYSTEM}),
            self.root,
            session=session,
            new=session is None,
            seat=seat,
        )
        conversation = open_conversation(options, on_progress=lambda what, done, total: None)
        assert isinstance(conversation, EngineConversation)
        return conversation

    def history(self, now: int = 1) -> History:
        return History.open(self.paths.history_db, now=lambda: now)

    def nodes(self) -> int:
        return sum(each.nodes for each in store_stats(self.paths.checkpoints_dir))


@pytest.fixture
def home(tmp_path: Path, default_model: Path) -> Home:
    return Home(tmp_path, default_model)


def reused(turn: Turn) -> tuple[int, int]:
    step = next(each for each in turn.events if isinstance(each, StepFinished))
    return step.usage.cached_tokens, step.usage.prompt_tokens


def said(home: Home, session: str, text: str) -> tuple[int, int]:
    talk = home.open(session)
    try:
        return reused(play(talk.send(text)))
    finally:
        talk.close()


def test_the_checkpoints_of_a_removed_session_go_and_all_others_stay(home: Home) -> None:
    said(home, "kept", "What does a lighthouse do at night?")
    before = home.nodes()
    said(home, "gone", "Which fish are there in the harbour at Brest, and who catches them?")
    between = home.nodes()
    assert between > before
    with home.history() as history:
        copy = history.fork(history.session("kept").id, "copy")
        assert forget_sessions(history, home.paths, [history.session("gone").id, copy.id]) >= 0
        assert [each.title for each in history.sessions()] == ["kept"]
    assert home.nodes() == before
    cached, prompt = said(home, "kept", "And by day?")
    assert prompt - cached < 20  # the new message alone
    cached, prompt = said(home, "gone", "Which fish are there in the harbour at Brest, and who catches them?")
    assert 0 < cached < prompt  # the system prompt, which is the other one's too


def test_deleted_sessions_go_by_themselves_after_thirty_days(home: Home) -> None:
    with home.history(now=1000) as history:
        ids = [history.create_session(folder=home.root, title=each).id for each in ("old", "used", "new")]
        for each in ids[:2]:
            history.put_away(each)
    with home.history(now=2000) as history:
        history.put_away(ids[2])
        with SessionLock(home.paths.locks_dir, ids[1]):
            assert forget_expired(history, home.paths, KEPT_MS + 1001) == 1
        assert {each.session.title for each in history.deleted()} == {"used", "new"}
    home.open("S").close()  # which looks after them, by the real clock
    with home.history() as history:
        assert history.deleted() == []
    with home.history(now=time.time_ns() // 1_000_000) as history:
        fresh = history.create_session(folder=home.root, title="fresh")
        history.put_away(fresh.id)
        home.open("S").close()
        assert [each.session.id for each in history.deleted()] == [fresh.id]


def test_a_new_session_is_kept_for_its_draft_and_goes_without_it(home: Home) -> None:
    talk = home.open(None)
    talk.keep_draft("not yet sent")
    session = talk.session.id
    talk.close()
    talk = home.open(session)
    assert talk.draft == "not yet sent"
    talk.keep_draft("")
    talk.close()
    with home.history() as history:
        assert history.sessions() == []


def test_going_to_another_session_loads_no_model_again_and_gives_the_same(home: Home) -> None:
    alone = home.open("alone")
    first = play(alone.send("What is a buoy?"))
    alone.close()
    seat = EngineSeat()
    one = home.open("one", seat)
    worker = one._engine.pid
    assert worker is not None
    play(one.send("Tell me about tides."))
    one.close()
    two = home.open("two", seat)
    assert two._engine.pid == worker
    second = play(two.send("What is a buoy?"))
    assert (second.text, reused(second)[1]) == (first.text, reused(first)[1])
    two.close()
    again = home.open("one", seat)
    cached, prompt = reused(play(again.send("And ebb?")))
    assert prompt - cached < 20
    again.close()
    other = home.open("two", seat, ctx=512)  # another way to load it: another engine, and the first one ended
    assert other._engine.pid not in (None, worker)
    seat.close()
    other.close()
    assert other._engine.pid is None


def test_resuming_brings_back_model_tools_system_prompt_and_sampling(home: Home) -> None:
    flags = {
        "model": str(home.model),
        "threads": 1,
        "ctx": 1024,
        "max_tokens": 5,
        "temperature": 0.3,
        "top_k": 7,
        "seed": 11,
        "tools": "calculator",
        "system": "Be brief.",
        "reasoning": False,
    }
    options = ConversationOptions(home.paths, load_settings(flags=flags), home.root, session="S")
    talk = open_conversation(options, on_progress=lambda *_: None)
    play(talk.send("Hello."))
    kept = talk.session.settings
    talk.close()
    settings = load_settings(flags={"threads": 1}, session=kept)
    assert settings.model == str(home.model)
    again = open_conversation(replace(options, settings=settings), on_progress=lambda *_: None)
    try:
        assert [each.name for each in again.tools] == ["calculator"]
        for name in ("ctx", "max_tokens", "temperature", "top_k", "seed", "system", "reasoning"):
            assert getattr(settings, name) == flags[name], name
        cached, prompt = reused(play(again.send("Hello again.")))
        assert prompt - cached < 20
    finally:
        again.close()
