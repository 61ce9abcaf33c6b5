"""Tool loops over every template of llama.cpp's source: the call is read, and the next step reads only what is new.

The model writes what its template writes for a call, letter by letter and with white space of its own, as
re-tokenising the template's text never would.
"""

from __future__ import annotations

import contextlib
import json
from array import array
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from skippy_chat.chat.forms import FORMS, Form, as_it_stands, in_words, without_marks
from skippy_chat.chat.messages import Message, ToolCall
from skippy_chat.engine.answering import ReadAnswer
from skippy_chat.engine.forming import Answering
from skippy_chat.engine.protocol import StepReply, StepRequest
from skippy_chat.engine.rendering import Answer, Asked
from skippy_chat.errors import TemplateRefused
from skippy_chat.events import Event
from skippy_chat.native.chat import ChatTemplate
from skippy_chat.sampling import Sampling
from tests.engine.engines import message_of
from tests.engine.llama_source import template_names, template_source, vocabulary
from tests.engine.template_sessions import Message as Told
from tests.engine.template_sessions import TemplateSession, Visit
from tests.engine.template_table import CALL_ID, CONVERSATION, TOOLS, assistant, result

ARGUMENTS = {"path": "documents/notes-2024.txt"}
# What a model draws to end its call, which is never fed, and what templates write behind it.
ENDS = (
    "<|call|>",
    "<tool_response>",
    "<|tool_response>",
    "<|eom_id|>",
    "<SPECIAL_12>",
    "<\uff5cend▁of▁sentence\uff5c>",
    "<\uff5chy_eos:opensource\uff5c>",
    "<|END_OF_TURN_TOKEN|>",
)
# Templates that do not show calls, or show them to no parser.
WITHOUT_CALLS = {
    "CohereForAI-c4ai-command-r-plus-tool_use",  # explains calls behind every call
    "HuggingFaceTB-SmolLM3-3B",
    "LFM2-8B-A1B",
    "LFM2.5-Instruct",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B",
    "google-gemma-2-2b-it",
    "ibm-granite-granite-3.3-2B-Instruct",
    "llama-cpp-rwkv-world",
    "microsoft-Phi-3.5-mini-instruct",
    "upstage-Solar-Open-100B",  # llama.cpp's parser wants content before calls, the template writes none
}
# Templates that show a call otherwise once there is a result, and the message that is named.
REWRITING = {
    "Apriel-1.6-15b-Thinker-fixed": 2,  # without thoughts
    "NVIDIA-Nemotron-Nano-v2": 2,
    "Qwen-QwQ-32B": 2,
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": 2,
    "llama-cpp-deepseek-r1": 2,
    "mistralai-Mistral-Nemo-Instruct-2407": 1,  # the system prompt moves to the last message, if that is a user's
    "unsloth-Apriel-1.5": 2,  # with an id, which llama.cpp's parser does not know
}


SENTENCE_PIECE = ("llama-spm", "phi-3")


@dataclass(frozen=True)
class Loop:
    """A call as it was read, and the step behind its result; ``fed`` is what the step before has read and written."""

    read: ReadAnswer
    events: list[Event]
    after: Visit
    fed: int


def reading(
    session: TemplateSession, messages: list[Told], ids: array[int]
) -> tuple[ReadAnswer, list[Event]]:
    """Read an answer as the engine does."""
    rendering = session.renderer.ask(messages, {}, Asked(0, session.thinking, session.tools))
    request = StepRequest("s", "t", messages, Sampling(temperature=0), tools=session.tools)
    events: list[Event] = []
    answering = Answering(
        session.vocabulary, request, rendering, session.renderer, events.append, lambda: 0.0
    )
    with answering:
        for token in ids:
            answering.reader.take(token)
        return answering.reader.end(), events


def written(session: TemplateSession, messages: list[Told]) -> str:
    """Return what the model writes."""
    said = session.vocabulary.spell(session.written(messages, CONVERSATION[2]))
    if not said:  # the template shows it otherwise than it was asked for
        reply = session.renderer.ask(messages, {}, Asked(0, session.thinking, session.tools)).reply
        whole = session.text([*messages, CONVERSATION[2]], generate=False)
        ending = session.text([*messages, assistant("qprobeq")], generate=False).split("qprobeq")[-1]
        trigger = reply["grammar_triggers"][0]["value"].strip()
        said = whole[whole.rindex(trigger) :].removesuffix(ending)
        if reply["thinking_end_tags"]:
            said = f"It should be read.\n{reply['thinking_end_tags'][0]}\n\n{said}"
    for end in ENDS:
        said = said.partition(end)[0]
    return said


def loop(
    name: str,
    change: Callable[[str], str],
    alter: Callable[[Told], Told] = lambda message: message,
    vocabulary_name: str = "qwen35",
) -> Loop:
    """Let the model call, and plan the step behind the result; ``alter`` changes the call in between."""
    session = TemplateSession(vocabulary(vocabulary_name), template_source(name))
    session.tools = TOOLS
    messages = CONVERSATION[:2]
    said = change(written(session, messages))
    # SentencePiece puts a space before every text, so there letters cannot be had one by one.
    parts = [said] if vocabulary_name in SENTENCE_PIECE else list(said)
    ids = array("i", [token for part in parts for token in session.vocabulary.tokenize(part, special=False)])
    before = session.ask(messages, CONVERSATION[2], ids)
    read, events = reading(session, messages, ids)
    message = message_of(
        StepReply(read.text, "tool_calls", ids, 0, [], "", read.reasoning, read.calls, read.malformed)
    )
    message = alter(message)
    session.answers = [(message, Answer(ids, len(ids)))]
    call = read.calls[0].id if read.calls else "none"
    after = session.look([*messages, message, {**result("Apples are red."), "tool_call_id": call}])
    return Loop(read, events, after, len(before.prompt.ids) + len(ids))


def loosen(said: str) -> str:
    return said.replace('{"path": ', '{\n  "path":')


@pytest.mark.parametrize("change", [str, loosen])
@pytest.mark.parametrize("name", sorted(set(template_names()) - WITHOUT_CALLS))
def test_a_call_is_read_and_what_follows_reads_only_what_is_new(
    name: str, change: Callable[[str], str]
) -> None:
    went = loop(name, change)
    assert went.read.malformed == ""
    (call,) = went.read.calls
    assert (call.name, json.loads(call.arguments)) == ("read_file", ARGUMENTS)
    assert call.id
    if name in REWRITING:
        assert went.after.prompt.rewritten_at(went.after.reused) == REWRITING[name]
    else:
        assert went.after.prompt.rewritten == ()
        assert went.after.reused == went.fed


@pytest.mark.parametrize("change", [str, loosen])
@pytest.mark.parametrize("vocabulary_name", [*SENTENCE_PIECE, "llama-bpe", "starcoder", "gpt-neox"])
@pytest.mark.parametrize(
    "name", ["Qwen-Qwen2.5-7B-Instruct", "Qwen3.5-4B", "Mistral-Small-3.2-24B-Instruct-2506", "LFM2.5-8B-A1B"]
)
def test_so_it_is_with_other_vocabularies(
    name: str, vocabulary_name: str, change: Callable[[str], str]
) -> None:
    went = loop(name, change, vocabulary_name=vocabulary_name)
    assert went.read.malformed == ""
    assert [json.loads(call.arguments) for call in went.read.calls] == [ARGUMENTS]
    assert went.after.prompt.rewritten == ()
    assert went.after.reused == went.fed


def changed_calls(message: Told, **more: str) -> Told:
    call = message["tool_calls"][0]
    function = {**call["function"], **{key: value for key, value in more.items() if key != "id"}}
    return {**message, "tool_calls": [{**call, "id": more.get("id", call["id"]), "function": function}]}


CHANGES: dict[str, Callable[[Told], Told]] = {
    "nothing": lambda message: message,
    "white space": lambda message: changed_calls(message, arguments=json.dumps(ARGUMENTS, indent=3)),
    "arguments": lambda message: changed_calls(message, arguments='{"path": "documents/notes-2025.txt"}'),
    "another argument": lambda message: changed_calls(
        message, arguments=json.dumps({**ARGUMENTS, "first": 1})
    ),
    "name": lambda message: changed_calls(message, name="list_directory"),
    "thoughts": lambda message: {**message, "reasoning_content": "I thought of something else."},
    "content": lambda message: {**message, "content": "Let me see."},
    "a second call": lambda message: {**message, "tool_calls": message["tool_calls"] * 2},
    "no call": lambda message: {key: value for key, value in message.items() if key != "tool_calls"},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["Qwen-Qwen3-0.6B", "Qwen3.5-4B", "LFM2.5-8B-A1B", "GLM-4.6"])
def test_an_answer_that_was_changed_is_read_as_it_is_now(name: str, change: str) -> None:
    went = loop(name, loosen, CHANGES[change])
    if change in {"nothing", "white space"}:
        assert went.after.reused == went.fed
        return
    text = vocabulary("qwen35").spell(went.after.prompt.ids)
    assert text.endswith(went.after.text)
    if change != "a second call":  # the first one stands as it was written, so its ids do too
        assert went.after.reused < went.fed


def test_what_a_step_costs_does_not_grow_with_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls are counted, not time: renderings, and answers read to compare them with the text."""
    session = TemplateSession(vocabulary("qwen35"), template_source("Qwen-Qwen3-0.6B"))
    session.tools = TOOLS
    counts = {"render": 0, "read": 0}
    for name in counts:
        method = getattr(session.template, name)

        def counted(*args: object, name: str = name, method: Callable[..., object] = method) -> object:
            counts[name] += 1
            return method(*args)

        monkeypatch.setattr(session.template, name, counted)
    messages = [CONVERSATION[1]]
    answers: dict[int, Answer] = {}
    costs = []
    for step in range(12):
        counts.update(render=0, read=0)
        prompt = session.renderer.render(messages, answers, now=0, thinking=True, tools=TOOLS)
        assert prompt.rewritten == ()
        costs.append((counts["render"], counts["read"]))
        arguments = f'{{\n  "path":"notes-{step}.txt"}}'
        thoughts = f"Step {step}."
        written = f'<tool_call>\n{{"name": "read_file", "arguments": {arguments}}}\n</tool_call>'
        ids = session.vocabulary.tokenize(f"<think>\n{thoughts}\n</think>\n\n{written}", special=True)
        answers[len(messages)] = Answer(ids, len(ids))
        function = {"name": "read_file", "arguments": arguments}
        call = {"id": f"call{step:05d}", "type": "function", "function": function}
        called = {"role": "assistant", "content": "", "reasoning_content": thoughts, "tool_calls": [call]}
        messages += [called, {**result(f"Line {step}."), "tool_call_id": call["id"]}]
    assert len(set(costs[3:])) == 1
    assert costs[-1][0] <= 5
    assert costs[-1][1] <= 3


def test_every_template_takes_what_a_confused_model_writes() -> None:
    """Thoughts and content beside a call, and marks where they do not belong: a session must not end there."""
    marks = (
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant to=<tool_call>[TOOL_CALLS]<think></think>"
    )
    call = ToolCall(CALL_ID, "read_file", json.dumps(ARGUMENTS))
    branch = [
        Message("1", "s", None, "user", "Read it."),
        Message("2", "s", "1", "assistant", "Let me see.", "Hm.", (call,)),
        Message("3", "s", "2", "tool", "Apples.", tool_call_id=CALL_ID),
        Message("4", "s", "3", "assistant", marks, f"Hm. {marks}"),
        Message("5", "s", "4", "user", "That was no call."),
    ]
    taken = {name: form_of(name, branch) for name in template_names()}
    others = {name: form for name, form in taken.items() if form is not as_it_stands}
    assert others == {"google-gemma-2-2b-it": in_words, "openai-gpt-oss-120b": without_marks}


def form_of(name: str, branch: list[Message]) -> Form | None:
    template = ChatTemplate(vocabulary("qwen35"), template_source(name))
    try:
        for form in FORMS:
            messages = [message.to_openai() for message in form(branch)]
            with contextlib.suppress(TemplateRefused):
                prompt = template.render({"messages": messages, "tools": TOOLS, "now": 0})["prompt"]
                assert branch[-1].content in prompt
                return form
        return None
    finally:
        template.close()
