"""Whatever a model writes as arguments, a turn ends as it should, and what was stored can be asked about."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from typing import Any

import pytest

from skippy_chat.agent.toolbox import LoopLimits
from skippy_chat.agent.tools.built_in import NAMES, built_in_tools
from skippy_chat.agent.tools.protocol import Limits
from skippy_chat.chat.messages import ToolCall
from skippy_chat.engine.protocol import AnsweredCall, StepRequest
from skippy_chat.events import ToolFinished, TurnFinished
from tests.agent.loops import Place, follow
from tests.agent.test_loop_stops import check_prompt
from tests.fakes.engine import Said

OBJECTS = 10_000  # per tool
# Calls in one answer: in a third one, a call that was denied in both before would end the turn.
TOGETHER = 5000
WORDS = (
    "", ".", "..", "/", "/etc/passwd", "~", "a.txt", "A.TXT", "../x", "a/../../x", "con", "a\0b", "\ud800", "\u202e",
    "<|im_start|>", "*" * 300, "-rf", "$(id)", "2**9**9", "1/0", "file:///etc/passwd", "http://127.0.0.1:1/", "[", "\\",
    "Europe/Berlin", "UTC", "\n", "é", "\U0001f600", "{}", "null",
)  # fmt: skip


def value(draw: random.Random, depth: int = 0) -> Any:
    kinds = ("word", "word", "word", "int", "float", "bool", "none", "list", "dict")
    kind = draw.choice(kinds if depth < 3 else kinds[:7])
    if kind == "word":
        return draw.choice(WORDS) + draw.choice(("", "", "x"))
    if kind == "int":
        return draw.choice((0, 1, -1, 7, 10**6, 2**63, 10**400))
    if kind == "float":
        return draw.choice((0.0, -0.5, 3.0, 1e308, math.inf, math.nan))
    if kind == "list":
        return [value(draw, depth + 1) for _ in range(draw.randrange(3))]
    if kind == "dict":
        return {draw.choice(WORDS): value(draw, depth + 1) for _ in range(draw.randrange(3))}
    return draw.choice((True, False)) if kind == "bool" else None


def arguments(draw: random.Random, schema: dict[str, Any]) -> str:
    """Objects near the schema: right names with any values, a few wrong names, now and then damaged text."""
    names = [*schema["properties"], "surplus"]
    made = {name: value(draw) for name in names if draw.random() < 0.7}
    for name, each in schema["properties"].items():
        if each.get("type") == "string" and draw.random() < 0.6:
            made[name] = draw.choice(WORDS)
    text = json.dumps(made)
    if draw.random() < 0.1:
        cut = draw.randrange(len(text) + 1)
        text = text[:cut] + draw.choice(("", "{", '"', "\ud800", "\0", text))
    return text


def offered(name: str) -> dict[str, Any]:
    (only,) = built_in_tools([name])
    return dict(only.parameters)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", NAMES)
def test_random_arguments_never_raise_out_of_the_loop(place: Place, name: str) -> None:
    """Nothing is approved that needs it, so that no random command and no random address is tried for real."""
    draw = random.Random(f"arguments of {name}")
    schema = offered(name)
    said = _answers(draw, name, schema)
    tools = built_in_tools([name]) if name == "fetch_url" else []
    box = place.box(
        approve="auto-read",
        can_ask=False,
        parallel=True,
        limits=LoopLimits(steps=0),
        bounds=Limits(search_seconds=2.0),
        tools=tools,
    )
    conversation, engine = place.open(lambda _request: next(said), box)
    conversation._history._connection.execute("PRAGMA synchronous = OFF")  # killing is tested elsewhere
    events = follow(conversation, conversation.send("Go."))
    finished = [each for each in events if isinstance(each, ToolFinished)]
    assert len(finished) == OBJECTS
    assert {each.status for each in finished} >= {"error"}
    last = events[-1]
    assert isinstance(last, TurnFinished)
    assert last.finish_reason == "stop"
    check_prompt(engine.requests[-1].messages)
    for message in engine.requests[-1].messages:
        for call in message.get("tool_calls", ()):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)


def _answers(draw: random.Random, name: str, schema: dict[str, Any]) -> Iterator[Said]:
    for batch in range(OBJECTS // TOGETHER):
        yield Said(
            "",
            tuple(
                AnsweredCall(f"{batch}-{number}", name, arguments(draw, schema)) for number in range(TOGETHER)
            ),
        )
    yield Said("Done.")


def test_any_answer_script_ends(place: Place) -> None:
    """Answers of every kind, in random order, with stops and limits in between: each branch stays askable."""
    draw = random.Random(7)

    def said(_request: StepRequest) -> Said:
        kind = draw.randrange(6)
        if kind == 0:
            return Said("Done.")
        if kind == 1:
            return Said("<tool_call>{", malformed="unreadable")
        if kind == 2:
            return Said("Cut", finish_reason="length")
        names = draw.choices(["calculator", "current_time", "nothing", "write_file"], k=draw.randrange(1, 4))
        calls = tuple(
            AnsweredCall(f"{draw.random()}", each, draw.choice(('{"expression": "1"}', "{}", "{", "")))
            for each in names
        )
        during = conversation.cancel if draw.random() < 0.2 else None
        return Said("Let me see.", calls, finish_reason="length" if kind == 3 else None, during=during)

    conversation, engine = place.open(said, place.box(limits=LoopLimits(steps=4), can_ask=False))
    for number in range(60):
        follow(conversation, conversation.send(f"Say {number}."))
        if draw.random() < 0.3:
            follow(conversation, conversation.regenerate())
        if draw.random() < 0.3:
            leaf = draw.choice(conversation.leaves())
            conversation.switch(leaf.id)
    assert len(engine.requests) > 60
    for request in engine.requests:
        check_prompt(request.messages)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1e999}',
        '{"a": NaN}',
        '{"a": "\\ud800"}',
        '{"\\udc00": 1}',
        "[1]",
        "",
        "{",
        f'{{"a": 1{"0" * 400}}}',
        f'{{"a": {"[" * 2000}{"]" * 2000}}}',
    ],
)
def test_arguments_that_a_template_cannot_read_are_sent_as_text(text: str) -> None:
    sent = ToolCall("c1", "calculator", text).valid_arguments()
    assert json.loads(sent) == {"invalid_json": text}


@pytest.mark.parametrize(
    "text", ['{"a": 1e300}', '{"a": "\\ud83d\\ude00"}', "{}", ' {"a" :\n[1, -2.5e3, null]} ']
)
def test_arguments_that_are_json_are_sent_as_they_are(text: str) -> None:
    assert ToolCall("c1", "calculator", text).valid_arguments() == text
