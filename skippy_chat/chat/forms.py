"""A conversation in other words, for chat templates that refuse it as it stands.

Some templates take one call at a time, some know no tools at all. A session that began with another model, or was
brought from elsewhere, must not be lost to them.

Invariant: a form depends only on the messages, and changes no message that needs no change, so that what was read of a
prompt stays read. A message that it changes has no id, for what was recorded of it is not what it says here.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from skippy_chat.chat.messages import Message, ToolCall
from skippy_chat.chat.pairing import completed

_MARK, _APART = "<|", "< |"

Form: TypeAlias = Callable[[Sequence[Message]], list[Message]]


def as_it_stands(branch: Sequence[Message]) -> list[Message]:
    """Return the branch itself."""
    return list(branch)


def one_call_each(branch: Sequence[Message]) -> list[Message]:
    """Return a completed branch with each answer of several calls as several answers, each with its result."""
    done: list[Message] = []
    many: Mapping[str | None, Message] = {}
    for message in branch:
        if message.role == "assistant" and len(message.tool_calls) > 1:
            many = {call.id: part for call, part in zip(message.tool_calls, _parts(message), strict=True)}
            continue
        if message.role == "tool" and message.tool_call_id in many:
            done.append(many[message.tool_call_id])
        done.append(message)
    return done


def without_marks(branch: Sequence[Message]) -> list[Message]:
    """Return a completed branch as ``one_call_each`` does, marks of templates in answers and thoughts taken apart.

    A model may write them where they do not belong, and gpt-oss's template refuses its own in what was thought.
    """
    return [_unmarked(each) for each in one_call_each(branch)]


def in_words(branch: Sequence[Message]) -> list[Message]:
    """Return a completed branch with calls and results as text, results as the user's words."""
    done: list[Message] = []
    calls: dict[str | None, ToolCall] = {}
    results: list[Message] = []
    for message in branch:
        if message.role == "tool":
            results.append(message)
            continue
        done += _told(results, calls)
        results = []
        calls = {call.id: call for call in message.tool_calls}
        done.append(_spoken(message) if message.tool_calls else message)
    return completed([*done, *_told(results, calls)])


# As a template is asked, one after the other, until it takes one.
FORMS: tuple[Form, ...] = (as_it_stands, one_call_each, without_marks, in_words)


def _parts(message: Message) -> list[Message]:
    first, *rest = message.tool_calls
    begun = dataclasses.replace(message, id="", tool_calls=(first,))
    return [
        begun,
        *(dataclasses.replace(begun, content="", reasoning=None, tool_calls=(each,)) for each in rest),
    ]


def _spoken(message: Message) -> Message:
    calls = [{"name": call.name, "arguments": call.arguments} for call in message.tool_calls]
    lines = [message.content] if message.content else []
    lines += (json.dumps(call, ensure_ascii=False) for call in calls)
    return dataclasses.replace(message, id="", content="\n".join(lines), tool_calls=())


def _unmarked(message: Message) -> Message:
    if message.role != "assistant" or _MARK not in message.content + (message.reasoning or ""):
        return message
    content = message.content.replace(_MARK, _APART)
    reasoning = None if message.reasoning is None else message.reasoning.replace(_MARK, _APART)
    return dataclasses.replace(message, id="", content=content, reasoning=reasoning)


def _told(results: Sequence[Message], calls: Mapping[str | None, ToolCall]) -> list[Message]:
    if not results:
        return []
    lines = [f"{calls[each.tool_call_id].name}: {each.content}" for each in results]
    return [Message("", results[0].session, None, "user", "\n\n".join(lines))]
