"""Whatever is stopped, denied or unreadable, every template that knows tools can render what is left of it."""

from __future__ import annotations

from typing import Any

import pytest

from skippy_chat.agent.conversation import EngineConversation
from skippy_chat.chat.forms import FORMS, Form, as_it_stands, in_words, one_call_each
from skippy_chat.chat.messages import Message
from skippy_chat.chat.pairing import completed
from skippy_chat.engine.protocol import AnsweredCall
from skippy_chat.errors import TemplateRefused
from skippy_chat.events import ApprovalNeeded
from skippy_chat.native.chat import ChatTemplate
from tests.agent.loops import Place
from tests.engine.llama_source import template_names, template_source, vocabulary, vocabulary_names
from tests.fakes.engine import FakeEngine, Said

pytestmark = pytest.mark.native

# What they refuse as it stands, they take in another form: one call at a time, or in words.
IN_FORM = {
    "google-gemma-2-2b-it": in_words,
    "meta-llama-Llama-3.1-8B-Instruct": one_call_each,
    "meta-llama-Llama-3.2-3B-Instruct": one_call_each,
    "meta-llama-Llama-3.3-70B-Instruct": one_call_each,
}
_WRONG = (
    '{"a": 1e999}',
    '{"a": "\\ud800"}',
    '{"a": ',
    "[1]",
    "",
    '{"a": 1, "a": 2}',
    '{"a": ' + "[" * 900 + "]" * 900 + "}",
)


def calls(*arguments: str, name: str = "calculator") -> tuple[AnsweredCall, ...]:
    return tuple(AnsweredCall(f"call{number:05}", name, each) for number, each in enumerate(arguments))


def left_over(place: Place) -> tuple[EngineConversation, FakeEngine]:
    """A session in which all went wrong that can, its last prompt holding the whole of it."""
    good = '{"expression": "1"}'
    script = [
        Said("Denied?", calls(good, '{"path": "a", "content": ""}', name="write_file")),
        Said("So be it."),
        Said("", calls(*_WRONG)),
        Said("", calls(good, name="nothing")),
        Said("<tool_call>{", malformed="it ends too soon"),
        Said("Sorry."),
        Said("Cut", calls(good), finish_reason="length"),
        Said("", calls('{"path": "b", "content": ""}', good, name="write_file")),
        Said("", waits=True),
        Said("", calls(good), reasoning="I think"),
        Said("Half", waits=True),
        Said("The end."),
    ]
    conversation, engine = place.open(script, place.box(approve="ask", parallel=True))
    stops = iter([False, False, True])
    for text in ("One.", "Two.", "Three.", "Four.", "Five.", "Six.", "Seven."):
        for event in conversation.send(text):
            if isinstance(event, ApprovalNeeded):
                if next(stops, True):
                    conversation.cancel()
                else:
                    conversation.decide(event.call, allowed=False, reason="No.")
            if event.type == "prefill_started" and len(engine.requests) in (9, 11):
                conversation.cancel()
    return conversation, engine


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> list[list[Message]]:
    place = Place(tmp_path_factory.mktemp("left-over"))
    conversation, engine = left_over(place)
    stored = conversation.messages()
    place.close()
    states = {(each.role, each.state, each.status) for each in stored}
    assert {
        ("assistant", "interrupted", None),
        ("tool", "interrupted", "error"),
        ("tool", "complete", "denied"),
        ("tool", "complete", "error"),
        ("tool", "complete", "ok"),
    } <= states
    assert len(engine.requests) == 12
    whole = [message.to_openai() for message in completed(stored[:-1])]
    assert whole == engine.requests[-1].messages
    asked = [length for length, last in enumerate(stored, 1) if last.role in ("user", "tool")]
    return [completed(stored[:length]) for length in asked]


@pytest.mark.parametrize("name", template_names())
def test_every_template_renders_what_is_left(name: str, prompts: list[list[Message]], place: Place) -> None:
    tools = [{"type": "function", "function": each} for each in place.box().registry.schemas()]
    template = ChatTemplate(vocabulary(vocabulary_names()[0]), template_source(name))
    needed = set()
    try:
        for prompt in prompts:
            needed.add(first_taken(template, prompt, tools))
    finally:
        template.close()
    assert needed == {as_it_stands, IN_FORM.get(name, as_it_stands)}


def first_taken(template: ChatTemplate, prompt: list[Message], tools: list[dict[str, Any]]) -> Form:
    for form in FORMS:
        messages = [message.to_openai() for message in form(prompt)]
        try:
            assert template.render({"messages": messages, "tools": tools, "now": 0})["prompt"]
        except TemplateRefused:
            continue
        return form
    raise AssertionError("no form is taken")
