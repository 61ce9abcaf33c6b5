"""Frames survive the pipe as they were."""

from __future__ import annotations

import json
from array import array

import pytest

from skippy_chat.engine.protocol import (
    AnsweredCall,
    LoadRequest,
    RecordedAnswer,
    ReplayRequest,
    StepReply,
    StepRequest,
    parse_request,
    parse_step_reply,
    request_line,
    to_line,
)
from skippy_chat.sampling import Sampling

STEP = StepRequest(
    session="s",
    turn="t",
    messages=[{"role": "user", "content": "Grüße \u2028 \U0001f600"}],
    sampling=Sampling(temperature=0.0, seed=7),
    answers={1: RecordedAnswer(array("i", [1, -2, 2**31 - 1]), 2)},
    max_tokens=3,
    now=5,
    tools=[{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
    tool_choice="required",
    parallel_tool_calls=True,
    json_schema={"type": "object"},
)
REPLAY = ReplayRequest(
    "s", "t", array("i", [1, 2, 3]), 2, [(2, False), (1, True)], Sampling(), redrawn=(0,), ended=True
)
LOAD = LoadRequest("m.gguf", "c", "d", 4096, 2, "auto", 1 << 30)


@pytest.mark.parametrize("request_", [STEP, REPLAY, LOAD])
def test_a_request_survives(request_: StepRequest | ReplayRequest | LoadRequest) -> None:
    line = request_line(request_)
    assert line.count(b"\n") == 1
    assert parse_request(json.loads(line)) == request_


def test_a_reply_survives() -> None:
    reply = StepReply(
        "text\n",
        "tool_calls",
        array("i", range(5)),
        3,
        [(3, False), (2, True)],
        reasoning="Hm.",
        calls=(AnsweredCall("call00000", "f", '{\n"a": "ü"}'),),
        malformed="not quite",
        redrawn=(0, 1),
    )
    assert parse_step_reply(json.loads(to_line("reply", reply))["body"]) == reply


@pytest.mark.parametrize("frame", [{}, {"kind": "step", "body": {}}, {"kind": "load", "body": {"no": 1}}])
def test_a_malformed_request_is_refused(frame: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="request"):
        parse_request(frame)
