from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.chat.messages import Message, Session, ToolCall

MESSAGE = Message("M", "S", None, "assistant", "hello")


def test_a_plain_message_has_only_what_templates_need() -> None:
    assert MESSAGE.to_openai() == {"role": "assistant", "content": "hello"}


def test_reasoning_calls_and_results_go_in_their_own_fields() -> None:
    call = ToolCall("c1", "read", '{"path": "a"}')
    answer = Message("M", "S", "P", "assistant", "", reasoning="hm", tool_calls=(call,))
    assert answer.to_openai() == {
        "role": "assistant",
        "content": "",
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
        ],
    }
    result = Message("R", "S", "M", "tool", "text", tool_call_id="c1")
    assert result.to_openai() == {"role": "tool", "content": "text", "tool_call_id": "c1"}


@pytest.mark.parametrize("raw", ["", "{", '{"a": 1', "[1]", '"x"', "null", '{"a": NaN}', "[" * 100_000])
def test_invalid_arguments_are_kept_but_never_sent_as_they_are(raw: str) -> None:
    call = ToolCall("c", "t", raw)
    assert json.loads(call.to_openai()["function"]["arguments"]) == {"invalid_json": raw}
    assert call.arguments == raw


_optional = st.one_of(st.none(), st.text())


@given(
    st.builds(
        Message,
        st.just("M"),
        st.just("S"),
        st.one_of(st.none(), st.just("P")),
        st.sampled_from(["system", "user", "assistant", "tool"]),
        st.text(),
        _optional,
        st.lists(st.builds(ToolCall, st.text(), st.text(), st.text())).map(tuple),
        _optional,
        st.sampled_from(["complete", "interrupted", "failed"]),
        _optional,
        st.integers(),
    )
)
def test_raw_json_round_trip(message: Message) -> None:
    again = Message.from_raw(
        message.raw_json(),
        message_id="M",
        session="S",
        parent=message.parent,
        role=message.role,
        state=message.state,
        created=message.created,
    )
    assert again == message


@pytest.mark.parametrize(
    "raw", ["", "[]", "{}", "1", '{"content": "x", "tool_calls": [[1]]}', '{"content": 1}']
)
def test_damaged_raw_json_is_told(raw: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Message.from_raw(
            raw, message_id="M", session="S", parent=None, role="user", state="complete", created=0
        )


def test_parts_of_a_later_version_are_ignored() -> None:
    raw = '{"content": "x", "pictures": [1]}'
    read = Message.from_raw(
        raw, message_id="M", session="S", parent=None, role="user", state="complete", created=0
    )
    assert read.content == "x"


def test_a_session_is_called_by_its_title_or_id() -> None:
    assert Session("ID", "", "/", 0, 0, "").name == "ID"
    assert Session("ID", "T", "/", 0, 0, "").name == "T"
