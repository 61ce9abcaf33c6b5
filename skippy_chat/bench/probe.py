"""What a measuring process is asked, and what it answers: values as one line of JSON each."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from skippy_chat.engine.protocol import (
    LoadRequest,
    RecordedAnswer,
    decode_ids,
    encode_ids,
)


@dataclass(frozen=True, slots=True)
class ProbeRequest:
    """Load a model, and restore this conversation ``pairs`` times; ``scratch`` is a file to write and remove."""

    load: LoadRequest
    messages: list[dict[str, str]]
    answers: dict[int, RecordedAnswer]
    by_ids: bool
    pairs: int
    scratch: str


@dataclass(frozen=True, slots=True)
class ProbeReply:
    """Seconds of each part, pair by pair; ``size`` bytes in ``files`` files are what one restore needs.

    ``row``, ``state`` and ``logits`` are bytes of one token's attention rows, of one state, and of one row of logits.
    """

    prompt: int
    size: int
    files: int
    load: float
    first: float
    render: list[float]
    restore: list[float]
    floor: list[float]
    lookup: list[float]
    verify: list[float]
    put: list[float]
    row: float
    state: int
    logits: int


def request_text(request: ProbeRequest) -> str:
    """Return a request as JSON."""
    return json.dumps(
        {
            "load": dataclasses.asdict(request.load),
            "messages": request.messages,
            "answers": {str(i): [encode_ids(a.ids), a.fed] for i, a in request.answers.items()},
            "by_ids": request.by_ids,
            "pairs": request.pairs,
            "scratch": request.scratch,
        }
    )


def parse_request(text: str) -> ProbeRequest:
    """Build the request that ``request_text`` wrote."""
    value: dict[str, Any] = json.loads(text)
    return ProbeRequest(
        LoadRequest(**value["load"]),
        value["messages"],
        {int(i): RecordedAnswer(decode_ids(ids), fed) for i, (ids, fed) in value["answers"].items()},
        value["by_ids"],
        value["pairs"],
        value["scratch"],
    )


def reply_of(value: dict[str, Any]) -> ProbeReply:
    """Build a reply from plain values."""
    return ProbeReply(**value)
