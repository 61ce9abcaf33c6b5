from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Session, ToolCall
from skippy_chat.errors import HistoryError, SessionNotFound
from tests.chat.clock import Clock

HERE, THERE = Path("/here"), Path("/there")


@pytest.fixture
def session(history: History) -> Session:
    return history.create_session(folder=HERE, title="work", model="default", settings={"temperature": 0.5})


def test_a_session_comes_back_as_it_was_stored(history: History, session: Session, clock: Clock) -> None:
    assert session == Session(
        session.id, "work", "/here", clock.now, clock.now, "default", {"temperature": 0.5}
    )
    assert history.find("work") == history.find(session.id) == history.session(session.id.lower()) == session
    assert history.session(session.id[:8]) == session


def test_names_are_unique_but_sessions_need_none(history: History, session: Session) -> None:
    with pytest.raises(HistoryError, match="'work' exists"):
        history.create_session(folder=THERE, title=" work ")
    assert history.create_session(folder=HERE) != history.create_session(folder=HERE)


@pytest.mark.parametrize("title", ["a\nb", "a\x1b[1m", "x" * 201, "a\u202eb", "a\udcff"])
def test_a_name_must_be_printable(history: History, title: str) -> None:
    with pytest.raises(HistoryError, match="name"):
        history.create_session(folder=HERE, title=title)


def test_bytes_that_are_no_text_are_no_name_and_no_session_has_them(
    history: History, session: Session
) -> None:
    for act in (history.find, history.session, lambda name: history.open_session(name, folder=HERE)):
        with pytest.raises(HistoryError, match="cannot be the name"):
            act("work\udcff")


def test_a_folder_whose_name_is_no_text_has_its_own_sessions(history: History) -> None:
    here, there = Path("/here/\udcff"), Path("/here/\udcfe")
    mine = history.create_session(folder=here)
    history.append(mine.id, None, "user", "walrus")
    assert mine.folder == "/here/\\xff"
    assert history.newest(here) == history.session(mine.id)
    assert history.newest(there) is None
    assert [hit.session.id for hit in history.search("walrus", here)] == [mine.id]
    assert history.search("walrus", there) == []


def test_open_session_appends_or_creates(history: History, session: Session) -> None:
    assert history.open_session("work", folder=THERE) == session
    assert history.open_session(session.id, folder=THERE) == session
    fresh = history.open_session("other", folder=THERE, model="m")
    assert (fresh.title, fresh.folder, fresh.model) == ("other", "/there", "m")


def test_open_session_takes_what_another_process_made_in_between(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = History.find
    history.create_session(folder=HERE, title="both")
    calls: list[str] = []

    def once(self: History, reference: str) -> Session | None:
        calls.append(reference)
        return None if len(calls) == 1 else real(self, reference)

    monkeypatch.setattr(History, "find", once)
    assert history.open_session("both", folder=THERE).folder == "/here"


def test_a_missing_session_lists_the_closest_names(history: History, session: Session) -> None:
    with pytest.raises(SessionNotFound) as told:
        history.session("Wrok")
    assert "work" in told.value.hint
    with pytest.raises(SessionNotFound) as told:
        history.session("nothing like it")
    assert "sessions list" in told.value.hint


def test_a_short_or_shared_start_of_an_id_is_not_enough(history: History, session: Session) -> None:
    with pytest.raises(SessionNotFound):
        history.session(session.id[:5])
    other = history.create_session(folder=HERE)
    with pytest.raises(SessionNotFound) as told:
        history.session(session.id[:8])
    assert session.id in told.value.hint
    assert other.id in told.value.hint
    with pytest.raises(SessionNotFound):
        history.session("______%")


def test_sessions_are_listed_last_used_first(history: History, session: Session, clock: Clock) -> None:
    clock.now += 1
    other = history.create_session(folder=THERE)
    clock.now += 1
    third = history.create_session(folder=HERE)
    clock.now += 1
    history.append(session.id, None, "user", "hi")
    assert [each.id for each in history.sessions()] == [session.id, third.id, other.id]
    assert [each.id for each in history.sessions(HERE, 1)] == [session.id]
    assert [each.id for each in history.sessions(THERE)] == [other.id]
    newest = history.newest(HERE)
    assert newest is not None
    assert newest.id == session.id
    assert newest.updated == clock.now
    assert history.newest(Path("/nowhere")) is None


def test_an_overview_counts_and_quotes(history: History, session: Session) -> None:
    assert (history.overview(session.id).messages, history.overview(session.id).opening) == (0, "")
    root = history.append(session.id, None, "system", "be brief")
    history.append(session.id, root.id, "user", "  first\n words " + "x" * 1000)
    overview = history.overview(session.id)
    assert overview.messages == 2
    assert overview.opening.startswith("first words x")
    assert len(overview.opening) == 200
    assert [each.session.id for each in history.overviews(HERE)] == [session.id]


def test_rename(history: History, session: Session) -> None:
    assert history.rename(session.id, "play").title == "play"
    assert history.rename(session.id, "play").title == "play"
    assert history.find("work") is None
    other = history.create_session(folder=HERE, title="work")
    with pytest.raises(HistoryError, match="'play' exists"):
        history.rename(other.id, "play")
    assert history.rename(other.id, "").title == ""
    with pytest.raises(SessionNotFound):
        history.rename("no such id", "x")


def test_update_session_changes_only_what_is_given(history: History, session: Session) -> None:
    assert history.update_session(session.id, model="other").settings == {"temperature": 0.5}
    changed = history.update_session(session.id, settings={"seed": 1})
    assert (changed.model, changed.settings) == ("other", {"seed": 1})


def test_delete_removes_everything_of_one_session(
    quick_history: History, session: Session, database: Path
) -> None:
    history = quick_history
    other = history.create_session(folder=HERE)
    kept = history.append(other.id, None, "user", "kept words")
    parent = None
    for number in range(1100):  # deeper than SQLite cascades
        parent = history.append(session.id, parent, "user", f"gone {number}").id
    history.delete(session.id)
    assert history.find("work") is None
    assert history.search("gone") == []
    assert [hit.message for hit in history.search("kept")] == [kept.id]
    with sqlite3.connect(database) as raw:
        assert raw.execute("SELECT count(*) FROM messages").fetchone() == (1,)
        assert raw.execute("SELECT count(*) FROM heads").fetchone() == (1,)
    raw.close()
    with pytest.raises(SessionNotFound):
        history.delete(session.id)


def test_append_is_durable_and_moves_the_head(
    history: History, session: Session, database: Path, clock: Clock
) -> None:
    user = history.append(session.id, None, "user", "question")
    with History.open(database, now=clock) as again:
        assert again.message(user.id) == user
        assert again.head(session.id) == user.id


def test_an_answer_grows_from_interrupted_to_complete(
    history: History, session: Session, database: Path, clock: Clock
) -> None:
    user = history.append(session.id, None, "user", "question")
    answer = history.append(session.id, user.id, "assistant", "", state="interrupted")
    history.finish(answer.id, "par", state="interrupted")
    with History.open(database, now=clock) as again:
        assert (again.message(answer.id).content, again.message(answer.id).state) == ("par", "interrupted")
    call = ToolCall("c", "t", "{}")
    done = history.finish(
        answer.id, "partial no more", reasoning="hm", tool_calls=[call], finish_reason="stop"
    )
    assert history.message(answer.id) == done
    assert (done.state, done.reasoning, done.tool_calls, done.finish_reason) == (
        "complete",
        "hm",
        (call,),
        "stop",
    )
    assert (done.parent, done.created) == (user.id, answer.created)
    assert history.search("par") != []
    assert [hit.message for hit in history.search("more")] == [answer.id]


def test_the_tree(history: History, session: Session) -> None:
    root = history.append(session.id, None, "system", "s")
    first = history.append(session.id, root.id, "user", "a")
    answer = history.append(session.id, first.id, "assistant", "1")
    edited = history.append(session.id, root.id, "user", "b")
    assert history.branch(answer.id) == [root, first, answer]
    assert history.branch(None) == []
    assert history.children(root.id, session.id) == [first, edited]
    assert history.children(None, session.id) == [root]
    assert history.leaves(session.id) == [edited, answer]
    assert history.head(session.id) == edited.id
    aside = history.append(session.id, edited.id, "assistant", "2", head=None)
    assert history.head(session.id) == edited.id
    history.set_head(session.id, aside.id, "draft")
    assert (history.head(session.id, "draft"), history.head(session.id)) == (aside.id, edited.id)
    history.set_head(session.id, None)
    assert history.head(session.id) is None


def test_messages_do_not_cross_sessions(history: History, session: Session) -> None:
    other = history.create_session(folder=HERE)
    message = history.append(session.id, None, "user", "a")
    for wrong in (
        lambda: history.append(other.id, message.id, "user", "b"),
        lambda: history.set_head(other.id, message.id),
        lambda: history.append(other.id, "no such", "user", "b"),
        lambda: history.branch("no such"),
        lambda: history.finish("no such", ""),
    ):
        with pytest.raises(HistoryError, match=r"another session|no message"):
            wrong()
    with pytest.raises(SessionNotFound):
        history.append("no such", None, "user", "b")
    assert history.children(None, other.id) == []


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_stored_and_searched(quick_history: History, text: str) -> None:
    history = quick_history
    session = history.create_session(folder=HERE)
    stored = history.append(session.id, None, "user", text)
    assert history.message(stored.id) == stored
    stored.content.encode()
    if not any(0xD800 <= ord(each) < 0xE000 for each in text):
        assert stored.content == text
    history.search(text)


def test_search_takes_words_not_syntax(history: History, session: Session) -> None:
    other = history.create_session(folder=THERE)
    here = history.append(session.id, None, "user", 'The "quick" brown Füchse AND dogs')
    there = history.append(other.id, None, "assistant", "quick answers")
    history.append(other.id, None, "system", "quick is the word")
    assert {hit.message for hit in history.search("quick")} == {here.id, there.id}
    assert [hit.message for hit in history.search("QUICK fuch", HERE)] == [here.id]
    assert history.search('"brown* NOT') == []
    assert history.search('!?"') == []
    hit = history.search("dogs")[0]
    assert (hit.session.id, hit.role, hit.created) == (session.id, "user", here.created)
    assert "[dogs]" in hit.snippet
    assert len(history.search("quick", limit=1)) == 1


def test_unreadable_settings_cost_only_the_settings(
    history: History, session: Session, database: Path
) -> None:
    with sqlite3.connect(database) as raw:
        raw.execute("UPDATE sessions SET settings = '{'")
    raw.close()
    assert history.session("work").settings == {}


def test_a_damaged_message_is_named(history: History, session: Session, database: Path) -> None:
    message = history.append(session.id, None, "user", "x")
    with sqlite3.connect(database) as raw:
        raw.execute("UPDATE messages SET raw = '{'")
    raw.close()
    with pytest.raises(HistoryError, match="damaged"):
        history.message(message.id)


def test_a_failed_write_leaves_nothing(
    history: History, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("skippy_chat.chat.message_rows.set_head", fail)
        with pytest.raises(HistoryError, match="No room") as told:
            history.append(session.id, None, "user", "lost")
    assert "Free some" in told.value.hint
    assert history.children(None, session.id) == []
    assert history.append(session.id, None, "user", "kept").content == "kept"


def test_closing_twice_is_fine_and_using_it_then_is_told(database: Path, clock: Clock) -> None:
    history = History.open(database, now=clock)
    history.close()
    history.close()
    with pytest.raises(HistoryError):
        history.sessions()
