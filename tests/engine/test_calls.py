"""Steps that call tools, on the default model: each reads only what is new, and equals its replay."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from skippy_chat.engine.engine import Engine
from skippy_chat.engine.protocol import StepRequest
from skippy_chat.errors import NativeError
from skippy_chat.events import CheckpointRecorded, Event, ReasoningDelta, TextDelta, ToolCallDelta
from skippy_chat.native.grammar import Constraint
from skippy_chat.native.sampler import Sampler
from skippy_chat.sampling import Sampling
from tests.engine.engines import GREEDY, Bench, Result, make_engine, message_of, same_logits

pytestmark = [pytest.mark.native, pytest.mark.model]


def tool(name: str, argument: str, *values: str) -> dict[str, Any]:
    """Return a tool whose calls are short, whatever the model thinks of it."""
    parameters = {
        "type": "object",
        "properties": {argument: {"enum": list(values)}},
        "required": [argument],
        "additionalProperties": False,
    }
    function = {"name": name, "description": f"Choose a {argument}.", "parameters": parameters}
    return {"type": "function", "function": function}


# No model says these by itself, so the grammar has something to refuse.
TOOLS = [tool("choose_colour", "colour", "xq-red", "xq-blue"), tool("choose_size", "size", "zz 7", "zz 11")]
REQUIRED: dict[str, Any] = {"tools": TOOLS, "tool_choice": "required", "max_tokens": 100}
OFFERED: dict[str, Any] = {"tools": TOOLS, "max_tokens": 12}
SYSTEM = {"role": "system", "content": "You answer briefly."}
SAMPLINGS = [GREEDY, Sampling(temperature=1.2, seed=11)]
CALL = '<tool_call>\n{"name": "choose_colour", "arguments": {"colour": "xq-red"}}\n</tool_call>'
LOOSE = CALL.replace('{"c', '{\n  "c').replace('d"}}', 'd"\n}\n}')


def start(model: Path, root: Path) -> Bench:
    return Bench(make_engine(model, root, by_ids=False, n_ctx=4096))


@pytest.fixture(scope="module")
def engine(default_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    made = start(default_model, tmp_path_factory.mktemp("store")).engine
    yield made
    made.close()


@pytest.fixture
def bench(engine: Engine) -> Iterator[Bench]:
    yield Bench(engine)
    engine.on_logits = None


def ask(bench: Bench, text: str) -> None:
    bench.messages += [] if bench.messages else [SYSTEM]
    bench.messages.append({"role": "user", "content": text})


def answer_call(bench: Bench, result: str) -> None:
    calls = bench.messages[-1]["tool_calls"]
    bench.messages += [{"role": "tool", "content": result, "tool_call_id": call["id"]} for call in calls]


Say = Callable[[str], None]


@pytest.fixture
def say(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Have the model write a text instead of what it would draw; the grammar must allow it."""

    def prepare(text: str) -> None:
        tokens = iter([*engine.model.tokenize(text, special=True), engine.model.end])

        def choose(sampler: Sampler, _row: NDArray[np.float32], constraint: Constraint | None = None) -> int:
            token = next(tokens)
            sampler.redrew = False
            assert constraint is None or constraint.accept(token)
            return token

        monkeypatch.setattr(Sampler, "choose", choose)

    return prepare


def put_together(events: list[Event]) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return the text and the calls that the deltas of a step make."""
    text = ""
    calls: dict[str, tuple[str, str]] = {}
    for event in events:
        if isinstance(event, TextDelta):
            text += event.text
        if isinstance(event, ToolCallDelta):
            assert event.call
            name, arguments = calls.get(event.call, ("", ""))
            assert bool(name) != bool(event.name), "the name comes whole and first"
            calls[event.call] = (name or event.name, arguments + event.arguments)
    return text, calls


def test_a_call_that_is_asked_for_is_made(bench: Bench) -> None:
    ask(bench, "Choose something, and tell me why: 1.")
    result = bench.step(**REQUIRED)
    reply = result.reply
    assert reply.finish_reason == result.finished.finish_reason == "tool_calls"
    assert (reply.text, reply.malformed) == ("", "")
    (call,) = reply.calls
    assert len(call.id) == 9
    assert call.id.isalnum()
    assert call.name in {tool["function"]["name"] for tool in TOOLS}
    assert isinstance(json.loads(call.arguments), dict)
    text, calls = put_together(result.events)
    assert (text, calls) == ("", {call.id: (call.name, call.arguments)})


def test_each_step_of_a_loop_reads_only_what_is_new(bench: Bench) -> None:
    ask(bench, "Choose two things.")
    before: Result | None = None
    for step in range(3):
        result = bench.step(**(REQUIRED if step < 2 else OFFERED))
        prompt, cached, prefilled = result.counts
        assert cached + prefilled == prompt
        if before is not None:
            # All that was fed: the prompt before, and the call as it was generated.
            assert cached == before.finished.usage.context_tokens == len(before.reply.ids)
            assert bench.engine.model.spell(result.reply.ids[cached:prompt]).count("<tool_response>") == 1
        bench.keep(result.reply)
        if step < 2:
            answer_call(bench, f"The result of step {step}.")
            before = result


def test_a_call_in_other_words_than_the_template_s_keeps_its_ids(bench: Bench, say: Say) -> None:
    ask(bench, "Choose a colour in your own way.")
    say(LOOSE)
    result = bench.step(**REQUIRED)
    assert result.reply.calls[0].arguments != '{"colour": "xq-red"}'
    assert json.loads(result.reply.calls[0].arguments) == {"colour": "xq-red"}
    bench.keep(result.reply)
    answer_call(bench, "Red it is.")
    say("So be it.")
    again = bench.step(**OFFERED)
    assert again.counts[1] == len(result.reply.ids)
    assert again.finished.cache.miss_reason is None
    assert LOOSE in bench.engine.model.spell(again.reply.ids)


@pytest.mark.parametrize("changed", ['{"colour": "xq-blue"}', '{"colour": "xq-red", "more": true}'])
def test_a_call_that_says_something_else_does_not(bench: Bench, say: Say, changed: str) -> None:
    ask(bench, f"Choose a colour, but not {changed}.")
    say(LOOSE)
    result = bench.step(**REQUIRED)
    call = replace(result.reply.calls[0], arguments=changed)
    bench.keep(replace(result.reply, calls=(call,)))
    answer_call(bench, "Blue it is.")
    say("So be it.")
    again = bench.step(**OFFERED)
    assert again.counts[1] == result.counts[0]
    assert again.finished.cache.miss_reason is not None
    assert again.finished.cache.miss_reason.kind == "template_rewrote"
    assert changed in bench.engine.model.spell(again.reply.ids[again.counts[1] :])


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_loop_goes_on_after_a_restart_in_its_middle(
    default_model: Path, tmp_path: Path, sampling: Sampling
) -> None:
    first = start(default_model, tmp_path)
    ask(first, "Choose something, and tell me why: 2.")
    called = first.step(sampling=sampling, **REQUIRED)
    first.keep(called.reply)
    answer_call(first, "42")
    first.engine.close()

    second = start(default_model, tmp_path)
    second.messages, second.answers = first.messages, first.answers
    answered = second.step(sampling=sampling, **OFFERED)
    prompt, cached, prefilled = answered.counts
    assert (cached, cached + prefilled) == (called.finished.usage.context_tokens, prompt)
    assert answered.finished.cache.source == "disk"
    again = second.replay(answered.reply, sampling=sampling)
    assert again.reply.ids == answered.reply.ids
    assert same_logits(answered, again)
    second.engine.close()


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_constrained_answer_equals_its_replay(bench: Bench, sampling: Sampling) -> None:
    """The grammar refused some tokens; a replay knows which, and draws the others as freely as they were drawn."""
    ask(bench, "Tell me about the sea.")
    first = bench.step(sampling=sampling, digest_logits=True, **REQUIRED)
    assert first.reply.redrawn
    again = bench.replay(first.reply, sampling=sampling, digest_logits=True)
    assert again.reply.ids == first.reply.ids
    assert again.reply.logits_digest == first.reply.logits_digest != ""
    scratch = bench.step(sampling=sampling, digest_logits=True, replay=True, cache=False, **REQUIRED)
    assert scratch.reply.ids == first.reply.ids
    assert scratch.reply.logits_digest == first.reply.logits_digest
    # Without the list it comes out otherwise, so the comparison is worth something.
    free = bench.replay(replace(first.reply, redrawn=()), sampling=sampling)
    assert free.reply.ids != first.reply.ids


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_one_call_is_enough_unless_more_are_wanted(
    bench: Bench, say: Say, several: bool, choice: str
) -> None:
    """The grammar lets more follow, and this model would go on."""
    ask(bench, f"Choose twice: {choice} {several}.")
    say(f"{CALL}\n{LOOSE}")
    result = bench.step(**{**REQUIRED, "tool_choice": choice}, parallel_tool_calls=several)
    reply = result.reply
    assert reply.finish_reason == "tool_calls"
    assert [json.loads(call.arguments) for call in reply.calls] == [{"colour": "xq-red"}] * (1 + several)
    assert len({call.id for call in reply.calls}) == len(reply.calls)
    assert set(put_together(result.events)[1]) == {call.id for call in reply.calls}


def test_ids_of_calls_are_those_of_the_conversation_and_no_others(bench: Bench) -> None:
    ask(bench, "Choose something, and tell me why: 3.")
    seen = []
    for _ in range(3):
        result = bench.step(**REQUIRED)
        assert bench.step(**REQUIRED).reply.calls == result.reply.calls
        bench.keep(result.reply)
        answer_call(bench, "Ask again.")
        seen += [call.id for call in result.reply.calls]
    assert len(set(seen)) == 3


def test_no_tool_is_called_where_none_may_be(bench: Bench) -> None:
    ask(bench, "Choose something, and tell me why: 4.")
    result = bench.step(tools=TOOLS, tool_choice="none", max_tokens=12)
    assert (result.reply.calls, result.reply.malformed) == ((), "")
    assert put_together(result.events) == (result.reply.text, {})
    # Which tools stand in the prompt does not depend on it.
    assert bench.step(**OFFERED).counts[1:] == (result.counts[0], 0)


def test_an_answer_cut_off_in_a_call_makes_none(bench: Bench, say: Say) -> None:
    ask(bench, "Choose a colour.")
    ids = bench.engine.model.tokenize(LOOSE, special=True)
    begins = len(bench.engine.model.tokenize("<tool_call>\n", special=True))
    for tokens in range(1, len(ids), 2):
        say(LOOSE)
        reply = bench.step(**{**REQUIRED, "max_tokens": tokens}).reply
        assert (reply.finish_reason, reply.calls) == ("length", ())
        assert reply.text == bench.engine.model.spell(ids[:tokens])
        assert bool(reply.malformed) == (tokens >= begins)
    # What was kept of it stands in the next prompt as it was fed.
    bench.keep(reply)
    ask(bench, "Go on.")
    say("Yes.")
    assert bench.step(**OFFERED).counts[1] == len(reply.ids) - 1
    # With its last token it is whole.
    bench.messages = bench.messages[:2]
    say(LOOSE)
    whole = bench.step(**{**REQUIRED, "max_tokens": len(ids)}).reply
    assert (whole.finish_reason, whole.malformed, len(whole.calls)) == ("length", "", 1)


@pytest.mark.parametrize(
    "broken", [CALL.replace("}}", "}"), CALL.replace("choose", "lose"), f"{CALL}\nAnd so on."]
)
def test_a_call_that_cannot_be_read_is_said_and_kept_as_text(
    bench: Bench, say: Say, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """Templates without a trigger, and what a model writes without one, leave calls to the model."""
    monkeypatch.setattr("skippy_chat.engine.forming.Answering._grammar", lambda *_: None)
    ask(bench, f"Choose {len(broken)}.")
    say(broken)
    result = bench.step(**{**OFFERED, "max_tokens": 100})
    reply = result.reply
    assert reply.finish_reason == "stop"
    assert reply.malformed
    assert reply.text == broken == put_together(result.events)[0]
    assert [json.loads(call.arguments) for call in reply.calls] == [{"colour": "xq-red"}] * broken.startswith(
        CALL
    )
    bench.keep(reply)
    ask(bench, "That was no call.")
    say("I see.")
    assert bench.step(**OFFERED).counts[1] == len(reply.ids)


def test_a_call_that_is_stopped_makes_none(bench: Bench) -> None:
    ask(bench, "Choose a size.")
    events: list[Event] = []

    def emit(event: Event) -> None:
        events.append(event)
        if isinstance(event, ToolCallDelta):
            bench.engine.cancel()

    request = StepRequest("s", "t", list(bench.messages), GREEDY, **REQUIRED)
    reply = bench.engine.step(request, emit)
    assert any(isinstance(event, ToolCallDelta) for event in events)
    assert (reply.finish_reason, reply.calls) == ("cancelled", ())
    assert reply.malformed == "the answer ends inside a call"


SCHEMA = {
    "type": "object",
    "properties": {
        "answer": {"type": "integer"},
        "sure": {"type": "boolean"},
        "unit": {"enum": ["none", "metres"]},
    },
    "required": ["answer", "sure", "unit"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("offered", [[], TOOLS])
def test_an_answer_by_a_schema_is_json_by_it(
    bench: Bench, sampling: Sampling, offered: list[dict[str, Any]]
) -> None:
    ask(bench, "How long is a mile?")
    result = bench.step(json_schema=SCHEMA, tools=offered, max_tokens=120, sampling=sampling)
    reply = result.reply
    assert (reply.finish_reason, reply.calls, reply.malformed) == ("stop", (), "")
    value = json.loads(reply.text)
    assert set(value) == {"answer", "sure", "unit"}
    assert (type(value["answer"]), type(value["sure"])) == (int, bool)
    assert value["unit"] in {"none", "metres"}
    assert put_together(result.events)[0] == reply.text
    again = bench.replay(reply, sampling=sampling)
    assert same_logits(result, again)


def test_an_answer_by_a_schema_that_is_cut_off_is_text(bench: Bench) -> None:
    ask(bench, "How long is a mile?")
    reply = bench.step(json_schema=SCHEMA, max_tokens=4).reply
    assert (reply.finish_reason, reply.malformed) == ("length", "")
    assert reply.text == bench.engine.model.spell(reply.ids[reply.prompt_tokens :])


def test_a_schema_that_cannot_be_used_is_refused_before_anything_is_read(bench: Bench) -> None:
    ask(bench, "Choose something, and tell me why: 5.")
    request = StepRequest("s", "t", list(bench.messages), GREEDY, json_schema={"$ref": "#/nowhere"})
    events: list[Event] = []
    with pytest.raises(NativeError):
        bench.engine.step(request, events.append)
    assert events == []
    assert bench.step(**REQUIRED).reply.calls


def test_a_grammar_without_a_way_on_is_an_error_and_the_next_step_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(bench, "Choose something, and tell me why: 6.")
    taken = 0

    def refuse(_self: object, _token: int) -> bool:
        nonlocal taken
        taken += 1
        return taken < 10

    with monkeypatch.context() as patched:
        patched.setattr("skippy_chat.native.grammar.Grammar.accept", refuse)
        with pytest.raises(NativeError, match="refuses token"):
            bench.step(**REQUIRED)
    assert bench.engine.lane.position == 0
    result = bench.step(**REQUIRED)
    assert result.reply.calls
    assert same_logits(result, bench.replay(result.reply))


def test_plain_chat_takes_no_grammar_and_reads_nothing_twice(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What tools need costs nothing where there are none."""

    def unwanted(*_args: object, **_more: object) -> None:
        raise AssertionError("plain chat needs none of this")

    for name in ("grammar.Grammar.__init__", "parsing.AnswerParser.__init__"):
        monkeypatch.setattr(f"skippy_chat.native.{name}", unwanted)
    renders = 0
    render = bench.engine.renderer._template.render

    def counted(request: dict[str, Any]) -> dict[str, Any]:
        nonlocal renders
        renders += 1
        return render(request)

    monkeypatch.setattr(bench.engine.renderer._template, "render", counted)
    for turn in range(5):
        ask(bench, f"Say the number {turn}.")
        before = renders
        result = bench.step(max_tokens=12)
        bench.keep(result.reply)
        assert turn < 2 or renders - before <= 3
        # Text is shown with the token that completes it.
        shown = [event for event in result.events if isinstance(event, TextDelta)]
        assert len(shown) == len(result.reply.ids) - result.reply.prompt_tokens
        assert not any(isinstance(event, ReasoningDelta) for event in result.events)


def test_a_call_is_recorded_before_it_is_answered(bench: Bench) -> None:
    ask(bench, "Choose something, and tell me why: 7.")
    result = bench.step(**REQUIRED)
    recorded = [event.position for event in result.events if isinstance(event, CheckpointRecorded)]
    assert recorded[-1] == len(result.reply.ids)
    assert message_of(result.reply)["tool_calls"]


def test_a_stop_of_the_template_ends_the_answer(
    bench: Bench, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some templates have stops that are no tokens. What is behind one in its last token is not shown either."""
    template = bench.engine.renderer._template
    render = template.render
    monkeypatch.setattr(
        template, "render", lambda request: {**render(request), "additional_stops": ["</assistant>"]}
    )
    ask(bench, "Say one, and stop.")
    say("One, two </assist, three </assistant>\n and four")
    result = bench.step(max_tokens=60)
    assert result.reply.finish_reason == "stop"
    assert result.reply.text == "One, two </assist, three " == put_together(result.events)[0]
    bench.keep(result.reply)
    ask(bench, "Go on.")
    say("Two.")
    assert bench.step(max_tokens=4).counts[1] == len(result.reply.ids) - 1
