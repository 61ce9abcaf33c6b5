"""Prompts made of token ids, for models whose template or tokenizer is of no use, such as generated test models.

A message's content is its ids as text, separated by spaces; stand-ins take the place of a template's delimiters, so
that the prompt has the same boundaries as a rendered one.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from skippy_chat.checkpoints.placement import Cut
from skippy_chat.engine.planning import Prompt, Stretch
from skippy_chat.engine.rendering import Answer
from skippy_chat.errors import NativeError

OPEN, CLOSE = (5, 9), (7,)
"""Ids that stand before and after every message."""


def prompt_of_ids(messages: Sequence[Mapping[str, Any]], answers: Mapping[int, Answer]) -> Prompt:
    """Return the prompt of a conversation whose contents are ids.

    Raises:
        NativeError: a content is not a list of ids.
    """
    ids = array("i")
    stretches: list[Stretch] = []

    def cut(kind: Cut, message: int, fed: int | None = None) -> None:
        start = stretches[-1].stop if stretches else 0
        stretches.append(Stretch(start, len(ids), kind, message, fed))

    for index, message in enumerate(messages):
        ids.extend(OPEN)
        fed = None
        if message["role"] == "assistant":
            cut(Cut.GENERATION_PROMPT, index)
            if index in answers:
                fed = len(ids) + answers[index].fed
        ids.extend(answers[index].ids if index in answers else _parsed(message))
        ids.extend(CLOSE)
        if index == len(messages) - 1:
            kind = Cut.END_OF_PROMPT
        else:
            kind = Cut.END_OF_SYSTEM if message["role"] == "system" else Cut.END_OF_MESSAGE
        cut(kind, index, fed)
    ids.extend(OPEN)
    cut(Cut.GENERATION_PROMPT, len(messages))
    return Prompt(ids, tuple(stretches))


def _parsed(message: Mapping[str, Any]) -> list[int]:
    try:
        return [int(each) for each in str(message["content"]).split()]
    except ValueError as error:
        raise NativeError(f"A message in ids holds something else: {error}.") from error
