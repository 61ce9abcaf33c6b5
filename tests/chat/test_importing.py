"""What is no conversation is refused with its place, before anything is stored."""

from __future__ import annotations

import contextlib
import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skippy_chat.chat import importing_values
from skippy_chat.chat.export import FORMATS, export_text
from skippy_chat.chat.history import History
from skippy_chat.chat.importing import read_import
from skippy_chat.chat.messages import Message, ToolCall
from skippy_chat.chat.pairing import repair
from skippy_chat.errors import ImportRefused
from tests.chat.clock import Clock

NOW = 1_700_000_000_000
LIST: list[dict[str, Any]] = [
    {"role": "developer", "content": "Be brief."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "What"}, {"type": "input_text", "text": "now?"}],
        "name": "a",
    },
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "Look.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"a": '}},
            {"id": "c2", "function": {"name": "read", "arguments": {"b": [1]}}},
        ],
    },
    {"role": "tool", "tool_call_id": "c2", "content": "two"},
    {"role": "tool", "tool_call_id": "c1", "content": "one"},
    {"role": "assistant", "content": "Done.", "tool_calls": [], "refusal": None},
]
OWN: dict[str, Any] = {
    "format": "skippy-chat session",
    "schema": 1,
    "session": {"title": "t", "model": "m", "settings": {"temperature": 0.5, "pinned_time": 7}},
    "heads": {"main": "b"},
    "messages": [
        {"id": "a", "parent": None, "role": "user", "content": "hi", "state": "complete", "created": 5},
        {"id": "b", "parent": "a", "role": "assistant", "content": "ho", "state": "interrupted", "created": 6,
         "tool_calls": [{"id": "", "name": "x", "arguments": "{"}]},
    ],
    "ledgers": [
        {"message": "a", "identity": "m", "prompt_tokens": 2, "base": None, "shared": 0, "ids": [1, 2],
         "schedule": [[2, 0]], "sampling": ""},
        {"message": "b", "identity": "m", "prompt_tokens": 2, "base": "a", "shared": 2, "ids": [3],
         "schedule": [[2, 0], [1, 1]], "sampling": ""},
    ],
}  # fmt: skip


def read(value: object, **options: bool) -> tuple[Message, ...]:
    return read_import(json.dumps(value).encode(), now=NOW, **options).tree.messages


def refused(value: object, **options: bool) -> ImportRefused:
    with pytest.raises(ImportRefused) as told:
        read_import(value if isinstance(value, bytes) else json.dumps(value).encode(), now=NOW, **options)
    assert told.value.hint
    return told.value


def changed(value: Any, *path: str | int, to: object) -> Any:
    """Return a copy of a JSON value in which one place holds something else."""
    whole = copy.deepcopy(value)
    at = whole
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = to
    return whole


@pytest.mark.parametrize("whole", [LIST, {"messages": LIST, "model": "other", "temperature": 1}])
def test_a_list_of_messages_becomes_a_branch(whole: object) -> None:
    messages = read(whole)
    assert [(each.role, each.content) for each in messages] == [
        ("system", "Be brief."),
        ("user", "What\nnow?"),
        ("assistant", ""),
        ("tool", "two"),
        ("tool", "one"),
        ("assistant", "Done."),
    ]
    assert messages[2].reasoning == "Look."
    assert messages[2].tool_calls == (ToolCall("c1", "read", '{"a": '), ToolCall("c2", "read", '{"b": [1]}'))
    assert [each.tool_call_id for each in messages[3:5]] == ["c2", "c1"]
    assert [each.parent for each in messages] == [None, *(each.id for each in messages[:-1])]
    assert {each.created for each in messages} == {NOW}


def test_the_documented_examples_are_read() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sessions.md").read_text(encoding="utf-8")
    own, messages = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    assert len(read(own)) == 1
    assert len(read(messages)) == 2


def test_a_list_gets_the_day_of_its_import_for_templates_that_tell_it() -> None:
    imported = read_import(json.dumps(LIST).encode(), now=NOW)
    assert imported.tree.session.settings == {"pinned_time": NOW // 1000}
    assert imported.notes == ()


def test_an_open_call_is_repaired_as_the_agent_does_on_load(history: History, clock: Clock) -> None:
    imported = read_import(json.dumps(LIST[:4]).encode(), now=NOW)
    assert imported.notes == (
        "1 call at the end got no result; when the session is opened, the model is told that nothing ran.",
    )
    session = history.plant(imported.tree, folder=Path("/here"))
    assert [each.tool_call_id for each in repair(history, session.id)] == ["c1"]


def test_a_person_is_told_of_lost_results_and_of_tools() -> None:
    alone = [{"role": "tool", "tool_call_id": "x", "content": "1"}, {"role": "user", "content": "2"}]
    notes = read_import(json.dumps(alone).encode(), now=NOW).notes
    assert notes == ("1 result of tools stands behind no such call; the model reads them as your words.",)
    offered = changed(OWN, "session", "settings", "tools", to=["run_command"])
    assert "run_command" in read_import(json.dumps(offered).encode(), now=NOW).notes[0]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ([], "messages: there is no message"),
        ({"messages": {}}, "messages: a list is wanted, not an object"),
        (["hi"], 'messages[0]: an object is wanted, not "hi"'),
        ([{"content": "x"}], "messages[0].role: null is not known"),
        (changed(LIST, 1, "role", to="wizard"), 'messages[1].role: "wizard" is not known'),
        (changed(LIST, 1, "role", to=["user"]), "messages[1].role: a list is not known"),
        (changed(LIST, 1, "content", to=None), "messages[1].content: a text is wanted, and nothing"),
        (changed(LIST, 1, "content", to=5), "messages[1].content: a text is wanted, not 5"),
        (changed(LIST, 1, "content", 1, to={"type": "image_url"}), 'messages[1].content[1].type: "image_url"'),
        (changed(LIST, 1, "content", 0, to={"type": "text"}), "messages[1].content[0].text: a text is wanted"),
        (changed(LIST, 1, "tool_calls", to=LIST[2]["tool_calls"]), "messages[1].tool_calls: the user does not"),
        (changed(LIST, 2, "tool_calls", 0, "id", to=None), "messages[2].tool_calls[0].id: a text is wanted"),
        (changed(LIST, 2, "tool_calls", 1, "id", to="c1"), "messages[2].tool_calls[1].id: another call"),
        (changed(LIST, 2, "tool_calls", 0, "type", to="custom"), 'messages[2].tool_calls[0].type: "custom"'),
        (changed(LIST, 2, "tool_calls", 0, "function", to="f"), "messages[2].tool_calls[0].function: an object"),
        (changed(LIST, 2, "function_call", to={"name": "x"}), "messages[2].function_call: a message with this"),
        (changed(LIST, 3, "tool_call_id", to=7), "messages[3].tool_call_id: a text is wanted, not 7"),
        (changed(LIST, 5, "audio", to={"id": "x"}), "messages[5].audio: a message with this"),
        ({"mapping": {}}, "neither an exported session nor a list"),
        ("text", "neither an exported session nor a list"),
        ({"schema": 1, "session": {}, "messages": []}, "what sessions show --json prints"),
    ],
)  # fmt: skip
def test_what_is_no_list_of_messages_is_refused_with_its_place(value: object, place: str) -> None:
    assert place in refused(value).message


def test_an_exported_session_is_read_as_it_is() -> None:
    messages = read(OWN)
    assert messages[1] == Message(
        "b", "", "a", "assistant", "ho", None, (ToolCall("", "x", "{"),), None, "interrupted", None, 6
    )
    imported = read_import(json.dumps(OWN).encode(), now=NOW, ledgers=True)
    assert [ledger.ids for _, ledger in imported.tree.ledgers] == [(1, 2), (1, 2, 3)]
    newer = changed(OWN, "messages", 0, "mood", to="glad")
    assert read(newer) == messages


@pytest.mark.parametrize(
    ("path", "to", "place"),
    [
        (("schema",), 2, "schema: 2 was written by another version"),
        (("schema",), None, "schema: a whole number is wanted"),
        (("session",), [], "session: an object is wanted"),
        (("session", "title"), "a\x1b[2J", "session.title: it cannot be the name"),
        (("session", "title"), "x" * 201, "session.title: it cannot be the name"),
        (("session", "model"), 5, "session.model: a text is wanted"),
        (("session", "settings", "temperature"), 99, "session.settings: session setting temperature"),
        (("session", "settings", "temperature"), True, "session.settings: session setting temperature"),
        (("session", "settings", "pinned_time"), -1, "session.settings: session setting pinned_time"),
        (("heads",), None, "heads: an object is wanted"),
        (("heads", "main"), "x", "heads, entry 1: no message has this id"),
        (("heads", "\x1b"), "a", "heads, entry 2: its name is none"),
        (("messages",), None, "messages: a list is wanted"),
        (("messages", 1, "id"), "a", "messages[1].id: another message has this id"),
        (("messages", 1, "id"), "", "messages[1].id: an id is wanted"),
        (("messages", 1, "parent"), "b", "messages[1].parent: no message before it"),
        (("messages", 0, "parent"), "b", "messages[0].parent: no message before it"),
        (("messages", 0, "role"), "root", 'messages[0].role: "root" is not known'),
        (("messages", 0, "state"), "odd", 'messages[0].state: "odd" is not known'),
        (("messages", 0, "status"), "fine", 'messages[0].status: "fine" is not known'),
        (("messages", 0, "created"), 1 << 60, "messages[0].created: it must be from 0"),
        (("messages", 0, "created"), 1.5, "messages[0].created: a whole number is wanted, not 1.5"),
        (("messages", 0, "created"), True, "messages[0].created: a whole number is wanted"),
        (("messages", 0, "content"), None, "messages[0].content: a text is wanted"),
        (("messages", 0, "reasoning"), [], "messages[0].reasoning: a text is wanted, not a list"),
        (("messages", 0, "edited"), 1, "messages[0].edited: true or false is wanted, not 1"),
        (("messages", 0, "turn"), "x" * 201, "messages[0].turn: a text of at most 200"),
        (("messages", 1, "tool_calls", 0, "arguments"), {}, "messages[1].tool_calls[0].arguments: a text"),
        (("ledgers", 0, "message"), "x", "ledgers[0].message: no message has this id"),
        (("ledgers", 1, "message"), "a", "ledgers[1].message: no message has this id, or it has this"),
        (("ledgers", 1, "base"), "b", "ledgers[1].base: no ledger before it"),
        (("ledgers", 1, "shared"), 3, "ledgers[1].shared: it must be from 0 to 2"),
        (("ledgers", 0, "ids", 1), -1, "ledgers[0].ids[1]: it must be from 0"),
        (("ledgers", 0, "ids", 1), 1 << 31, "ledgers[0].ids[1]: it must be from 0"),
        (("ledgers", 0, "prompt_tokens"), 3, "ledgers[0]: 3 prompt tokens of 2 ids"),
        (("ledgers", 0, "schedule"), [[3, 0]], "ledgers[0]: 3 tokens fed of 2 ids"),
        (("ledgers", 0, "schedule"), [[0, 0]], "ledgers[0].schedule[0][0]: it must be from 1"),
        (("ledgers", 0, "schedule"), [[1]], "ledgers[0].schedule[0]: a whole number is wanted"),
        (("ledgers", 0, "schedule"), [[1, 0, 0]], "ledgers[0].schedule[0]: 3 items are more than 2"),
    ],
)  # fmt: skip
def test_what_is_no_exported_session_is_refused_with_its_place(
    path: tuple[str | int, ...], to: object, place: str
) -> None:
    assert place in refused(changed(OWN, *path, to=to), ledgers=True).message


def test_ledgers_must_follow_their_messages() -> None:
    backwards = changed(OWN, "ledgers", to=list(reversed(OWN["ledgers"])))
    backwards["ledgers"][0] |= {"base": None, "shared": 0, "ids": [1, 2, 3]}
    assert "ledgers[1].message: ledgers are not in the order" in refused(backwards, ledgers=True).message
    assert len(read(backwards)) == 2


def test_ledgers_that_would_fill_the_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few numbers that each say that they share all of those before them."""
    monkeypatch.setattr("skippy_chat.chat.importing_own._MOST_IDS", 4)
    told = refused(OWN, ledgers=True)
    assert "ledgers[1]: these ledgers are too large" in told.message
    assert "without --ledgers" in told.hint


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "not JSON: line 1, column 1"),
        (b'[{"role": "user",\n "content": }]', "not JSON: line 2, column 13"),
        (b'[{"role": "user", "content": "\xff"}]', "not UTF-8 text (byte 30)"),
        (b"[NaN]", "NaN is no number"),
        (b"[1e999]", "a number that is too large"),
        (b"[" + b"9" * 5000 + b"]", "a number of 5,000 digits"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"messages":' * 50_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_is_refused(data: bytes, told: str) -> None:
    assert told in refused(data).message


def test_arguments_that_are_nested_deeply_are_refused() -> None:
    deep: object = 1
    for _ in range(100):
        deep = {"a": deep}
    value = changed(LIST, 2, "tool_calls", 0, "function", "arguments", to=deep)
    assert "function.arguments: it is nested more than 64 deep" in refused(value).message


def test_what_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing_values, "MOST_BYTES", 10)
    assert "larger than" in refused(json.dumps(LIST).encode()).message
    monkeypatch.undo()
    # Small on disk, gigabytes in memory; refused before it is taken apart.
    assert "more than 16,777,216 values" in refused(b"[" + b"{}," * (1 << 24) + b"{}]").message
    monkeypatch.setattr("skippy_chat.chat.importing_openai.MOST_MESSAGES", 5)
    assert "messages: 6 items are more than 5" in refused(LIST).message
    monkeypatch.setattr("skippy_chat.chat.importing_own.MOST_MESSAGES", 1)
    assert "messages: 2 items are more than 1" in refused(OWN).message


def test_a_byte_order_mark_and_halves_of_surrogates_are_no_fault() -> None:
    data = b'\xef\xbb\xbf[{"role": "user", "content": "a\\ud83db\\ud83d\\ude42"}]'
    assert read_import(data, now=NOW).tree.messages[0].content == "a\ufffdb🙂"


atoms = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.text(max_size=5)
    | st.sampled_from(["user", "tool", "b"])
)
keys = st.sampled_from([*OWN, *OWN["messages"][1]])
json_values = st.recursive(
    atoms, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner), max_leaves=12
)
places = st.sampled_from(
    [
        *((key,) for key in OWN),
        *(("messages", 1, key) for key in OWN["messages"][1]),
        *(("ledgers", 1, key) for key in OWN["ledgers"][1]),
    ]
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places, json_values)
def test_whatever_stands_in_a_file_it_is_refused_or_can_be_stored(
    quick_history: History, path: tuple[str | int, ...], value: Any
) -> None:
    data = json.dumps(changed(OWN, *path, to=value)).encode()
    with contextlib.suppress(ImportRefused):
        imported = read_import(data, now=NOW, ledgers=True)
        session = quick_history.plant(imported.tree, folder=Path("/here"))
        for form in FORMATS:
            export_text(quick_history.tree(session.id, ledgers=True), form)
        quick_history.delete(session.id)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([(2,), *((2, key) for key in LIST[2]), (2, "tool_calls", 0), (1, "content")]), json_values
)
def test_whatever_stands_in_a_list_it_is_refused_or_read(path: tuple[str | int, ...], value: Any) -> None:
    with contextlib.suppress(ImportRefused):
        assert len(read(changed(LIST, *path, to=value))) == len(LIST)
