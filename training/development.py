"""The development set as token batches: how likely are the right calls? It decides which checkpoint is kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from itertools import groupby

from training.cases import Case, load_cases, load_workspaces
from training.conversation import Conversation, Message
from training.encode import Encoded, Encoder
from training.room import Room, room

_NOW = datetime(2026, 3, 5, 14, 7, tzinfo=timezone.utc)
_CELLS = ("one_step", "two_steps", "follow_up")
_REFUSAL = "I can't do that: none of my tools does it."


def development_batches(encoder: Encoder, which: str = "dev") -> list[Encoded]:
    """Return the cases with their right calls; of the refusals, one way to put them."""
    cases = [case for cell in (*_CELLS, "no_tool_fits") for case in load_cases(which, cell)]
    spaces = load_workspaces()
    batches = []
    for tools, group in groupby(sorted(cases, key=lambda case: case.tools), key=lambda case: case.tools):
        talks = [_solved(case, spaces) for case in group]
        batches.append(encoder.encode(None, tools, talks))
    return batches


def _solved(case: Case, spaces: dict[str, dict[str, str]]) -> Conversation:
    if not case.calls:
        messages = ({"role": "user", "content": case.turns[-1]}, {"role": "assistant", "content": _REFUSAL})
        return Conversation(case.cell, messages, "words", ())
    with room(spaces[case.workspace], _NOW) as place:
        return Conversation(case.cell, tuple(_messages(case, place)), "words", ())


def _messages(case: Case, place: Room) -> Iterator[Message]:
    # What the model itself would say to the earlier turns is not known; a nod stands for it.
    for turn in case.turns[:-1]:
        yield {"role": "user", "content": turn}
        yield {"role": "assistant", "content": "OK."}
    yield {"role": "user", "content": case.turns[-1]}
    last = ""
    for index, expected in enumerate(case.calls):
        arguments = {
            key: last if value == "@any" else value for key, value in expected.alternatives[0].items()
        }
        function = {"name": expected.tool, "arguments": arguments}
        yield {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": f"call{index}", "type": "function", "function": function}],
        }
        if index < len(case.calls) - 1:
            last = place.run(expected.tool, arguments).text
            yield {"role": "tool", "tool_call_id": f"call{index}", "content": last}
