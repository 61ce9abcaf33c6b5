"""Calls and results: what is missing is found, stored once, and never missing from a prompt."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Message, Role, ToolCall
from skippy_chat.chat.pairing import CUT_OFF, NOT_RUN, completed, repair, unanswered
from tests.chat.clock import Clock

A, B, C = (ToolCall(name, "calculator", "{}") for name in "abc")


def message(
    role: Role, content: str = "", *, calls: tuple[ToolCall, ...] = (), result: str | None = None
) -> Message:
    return Message("", "S", None, role, content, tool_calls=calls, tool_call_id=result)


def test_what_has_no_result_at_the_end_is_found() -> None:
    asked, answer = message("user"), message("assistant", calls=(A, B, C))
    assert unanswered([]) == ()
    assert unanswered([asked]) == ()
    assert unanswered([asked, answer]) == (A, B, C)
    assert unanswered([asked, answer, message("tool", result="b")]) == (A, C)
    done = [message("tool", result=each.id) for each in (A, B, C)]
    assert unanswered([asked, answer, *done]) == ()
    assert unanswered([asked, answer, *done, message("assistant")]) == ()


def test_repair_stores_what_is_missing_once(tmp_path: Path) -> None:
    with History.open(tmp_path / "history.db", now=Clock()) as history:
        session = history.create_session(folder=tmp_path).id
        assert repair(history, session) == []
        user = history.append(session, None, "user", "Go.")
        answer = history.append(session, user.id, "assistant", "", tool_calls=[A, B, C], turn="T1")
        begun = history.append(
            session,
            answer.id,
            "tool",
            CUT_OFF,
            tool_call_id="a",
            state="interrupted",
            status="error",
            turn="T1",
        )
        stored = repair(history, session)
        assert [(each.tool_call_id, each.content, each.status) for each in stored] == [
            ("b", NOT_RUN, "error"),
            ("c", NOT_RUN, "error"),
        ]
        assert [each.parent for each in stored] == [begun.id, stored[0].id]
        assert [each.turn for each in stored] == ["T1", "T1"]
        assert history.head(session) == stored[-1].id
        assert repair(history, session) == []
        assert [each.content for each in history.branch(stored[-1].id)][2:] == [CUT_OFF, NOT_RUN, NOT_RUN]


def test_a_whole_branch_stays_as_it_is() -> None:
    branch = [
        message("system", "Be brief."),
        message("user", "Go."),
        message("assistant", calls=(A, B)),
        message("tool", "1", result="a"),
        message("tool", "2", result="b"),
        message("assistant", "Done."),
        message("user", "Thanks."),
    ]
    assert completed(branch) == branch


def test_a_call_in_the_middle_is_given_its_result() -> None:
    branch = [
        message("user"),
        message("assistant", calls=(A, B)),
        message("tool", "1", result="a"),
        message("user", "?"),
    ]
    prompt = completed(branch)
    assert [each.role for each in prompt] == ["user", "assistant", "tool", "tool", "assistant", "user"]
    assert (prompt[3].content, prompt[3].tool_call_id) == (NOT_RUN, "b")
    assert prompt[4].content == ""


def test_a_result_without_a_call_is_the_users_word() -> None:
    branch = [
        message("user"),
        message("assistant", "<tool_call>"),
        message("tool", "Unreadable.", result="x"),
    ]
    assert completed(branch)[-1].to_openai() == {"role": "user", "content": "Unreadable."}


def test_an_answer_that_never_began_is_an_empty_one() -> None:
    assert [each.role for each in completed([message("user", "a"), message("user", "b")])] == [
        "user",
        "assistant",
        "user",
    ]


_CALLS = st.lists(st.sampled_from([A, B, C]), max_size=3, unique=True).map(tuple)
_MESSAGES = st.one_of(
    st.just(message("user", "u")),
    _CALLS.map(lambda calls: message("assistant", "a", calls=calls)),
    st.sampled_from("abcd").map(lambda name: message("tool", "r", result=name)),
)


@given(st.lists(_MESSAGES, max_size=12))
def test_any_branch_can_be_read_by_a_strict_template(branch: list[Message]) -> None:
    prompt = completed(branch)
    expected: set[str | None] = set()
    before = ""
    for each in prompt:
        if each.role == "tool":
            assert each.tool_call_id in expected
            expected.discard(each.tool_call_id)
            continue
        assert not expected
        expected = {call.id for call in each.tool_calls}
        assert not (each.role == "user" == before)
        before = each.role
    assert not expected
    assert completed(prompt) == prompt
    # Nothing that was said is lost, and its order stays.
    added = {NOT_RUN, ""}
    assert [each.content for each in prompt if each.content not in added] == [each.content for each in branch]


@given(st.lists(_MESSAGES, max_size=8), _MESSAGES)
def test_what_follows_changes_no_prompt_before_it(branch: list[Message], following: Message) -> None:
    whole, part = completed([*branch, following]), completed(branch)
    if following.role != "tool":  # a result that was missing takes the place of the one that stood for it
        assert whole[: len(part)] == part
