"""Reading a list of messages as the chat APIs have them, and many programs keep them.

Invariant: nothing that was said is dropped. What the history has no place for (images, sound, calls of another kind) is
refused with its place.
"""

from __future__ import annotations

from typing import cast

from skippy_chat.chat.importing_own import MOST_MESSAGES
from skippy_chat.chat.importing_settings import PINNED_TIME
from skippy_chat.chat.importing_values import Found
from skippy_chat.chat.messages import Message, Role, Session, ToolCall
from skippy_chat.chat.trees import MAIN, SessionTree

_MOST_PARTS = 10_000
_MOST_CALLS = 1_000
_ROLES = ("system", "developer", "user", "assistant", "tool")
_TEXTS = ("text", "input_text", "output_text")
_NO_PLACE = ("function_call", "audio", "images")


def read_openai(messages: Found, now: int) -> SessionTree:
    """Return a list of messages as a tree of one branch; they were said at ``now``, milliseconds since the epoch.

    Raises:
        ImportRefused: a message is not one, or holds what cannot be kept; it names the place.
    """
    read: list[Message] = []
    for number, found in enumerate(messages.items(MOST_MESSAGES)):
        parent = str(number - 1) if number else None
        read.append(_message(found, str(number), parent, now))
    if not read:
        raise messages.refuse("there is no message in it", "Give a list with one message at least.")
    session = Session("", "", "", now, now, "", {PINNED_TIME: now // 1000})
    return SessionTree(session, tuple(read), {MAIN: read[-1].id})


def _message(found: Found, message_id: str, parent: str | None, now: int) -> Message:
    role = found.part("role").word(*_ROLES)
    for key in _NO_PLACE:
        if found.part(key).value:
            raise found.part(key).refuse(
                "a message with this cannot be kept", "Leave it out, or tell it in words."
            )
    calls = _calls(found.part("tool_calls"))
    if calls and role != "assistant":
        raise found.part("tool_calls").refuse(f"the {role} does not call tools", "Mend the role.")
    answer_to = found.part("tool_call_id").text() if role == "tool" else None
    thoughts = found.part("reasoning_content").text_or_none()
    if thoughts is None:
        thoughts = found.part("reasoning").text_or_none()
    finished = "tool_calls" if calls else "stop"
    return Message(
        id=message_id,
        session="",
        parent=parent,
        role=cast("Role", "system" if role == "developer" else role),
        content=_content(found, needed=role != "assistant"),
        reasoning=thoughts if role == "assistant" else None,
        tool_calls=calls,
        tool_call_id=answer_to,
        finish_reason=finished if role == "assistant" else None,
        created=now,
        status="ok" if role == "tool" else None,
    )


def _content(found: Found, *, needed: bool) -> str:
    content = found.part("content")
    if isinstance(content.value, list):
        # As llama.cpp does it for templates that take no parts.
        return "\n".join(map(_part, content.items(_MOST_PARTS)))
    if content.value is None and not needed:
        return found.part("refusal").text_or_none() or ""
    return content.text()


def _part(found: Found) -> str:
    kind = found.part("type")
    if kind.value not in _TEXTS:
        kind.word(*_TEXTS)
    return found.part("text").text()


def _calls(found: Found) -> tuple[ToolCall, ...]:
    if found.value is None:
        return ()
    calls: dict[str, ToolCall] = {}
    for call in found.items(_MOST_CALLS):
        if call.part("type").value is not None:
            call.part("type").word("function")
        call_id = call.part("id").text()
        if call_id in calls:
            raise call.part("id").refuse("another call of this message has this id", "Give each its own.")
        function = call.part("function")
        arguments = function.part("arguments")
        # Some programs keep them as values; the model wrote text.
        raw = arguments.compact() if isinstance(arguments.value, dict) else arguments.text()
        calls[call_id] = ToolCall(call_id, function.part("name").text(), raw)
    return tuple(calls.values())
