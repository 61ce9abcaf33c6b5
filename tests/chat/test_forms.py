"""Other forms of a conversation: what they change, what they leave, and that nothing is lost."""

from __future__ import annotations

import dataclasses
import itertools

from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.chat.forms import FORMS, in_words, one_call_each, without_marks
from skippy_chat.chat.messages import Message, Role, ToolCall
from skippy_chat.chat.pairing import completed

A, B = (ToolCall(name, f"tool_{name}", '{"x": 1}') for name in "ab")


def message(
    role: Role, content: str = "", *, calls: tuple[ToolCall, ...] = (), result: str | None = None
) -> Message:
    return Message("M", "S", None, role, content, tool_calls=calls, tool_call_id=result)


ASKED = message("user", "Go.")
BOTH = message("assistant", "Both.", calls=(A, B))
RESULTS = [message("tool", "one", result="a"), message("tool", "two", result="b")]


def test_one_call_each() -> None:
    shown = one_call_each([ASKED, BOTH, *RESULTS, message("assistant", "Done.")])
    assert [(each.role, each.content, each.tool_calls, each.tool_call_id) for each in shown] == [
        ("user", "Go.", (), None),
        ("assistant", "Both.", (A,), None),
        ("tool", "one", (), "a"),
        ("assistant", "", (B,), None),
        ("tool", "two", (), "b"),
        ("assistant", "Done.", (), None),
    ]
    assert [each.id for each in shown] == ["M", "", "M", "", "M", "M"]


def test_in_words() -> None:
    shown = in_words([ASKED, BOTH, *RESULTS, message("assistant", "Done.")])
    assert [(each.role, each.content) for each in shown] == [
        ("user", "Go."),
        (
            "assistant",
            'Both.\n{"name": "tool_a", "arguments": "{\\"x\\": 1}"}\n{"name": "tool_b", "arguments": "{\\"x\\": 1}"}',
        ),
        ("user", "tool_a: one\n\ntool_b: two"),
        ("assistant", "Done."),
    ]
    assert all(not each.tool_calls and each.tool_call_id is None for each in shown)


def test_a_single_call_stays_as_it_is() -> None:
    branch = [ASKED, message("assistant", calls=(A,)), RESULTS[0]]
    assert one_call_each(branch) == branch


def test_marks_in_answers_are_taken_apart_and_nowhere_else() -> None:
    asked = message("user", "What is <|x|>?")
    answer = dataclasses.replace(message("assistant", "It is <|x|> and <y>."), reasoning="<|x|>")
    plain = dataclasses.replace(message("assistant", "So it is."), reasoning="x")
    apart = dataclasses.replace(answer, id="", content="It is < |x|> and <y>.", reasoning="< |x|>")
    assert without_marks([asked, answer, asked, plain]) == [asked, apart, asked, plain]


_MESSAGES = st.one_of(
    st.just(message("user", "u")),
    st.lists(st.sampled_from([A, B]), max_size=2, unique=True).map(
        lambda calls: message("assistant", "a<|", calls=tuple(calls))
    ),
    st.sampled_from("abc").map(lambda name: message("tool", "r", result=name)),
)


@given(st.lists(_MESSAGES, max_size=10), _MESSAGES)
def test_forms_grow_only_at_the_end(branch: list[Message], following: Message) -> None:
    if following.role == "tool":
        return
    for form in FORMS:
        whole, part = form(completed([*branch, following])), form(completed(branch))
        assert whole[: len(part)] == part


@given(st.lists(_MESSAGES, max_size=10))
def test_words_are_by_turns(branch: list[Message]) -> None:
    shown = in_words(completed(branch))
    roles = [each.role for each in shown]
    assert "tool" not in roles
    assert ("user", "user") not in itertools.pairwise(roles)
