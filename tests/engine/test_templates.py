"""Templates that rewrite history: every boundary is found, all that stands as it was fed is reused, ids are kept."""

from __future__ import annotations

import functools
from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skippy_chat.checkpoints.placement import Cut
from skippy_chat.engine.planning import remaining
from skippy_chat.native.chat import ChatTemplate
from skippy_chat.native.model import Model, TokenFlag
from tests.engine.llama_source import template_names, template_source, vocabulary
from tests.engine.template_sessions import Message, TemplateSession, Visit
from tests.engine.template_table import (
    CONVERSATION,
    EDITS,
    FAMILIES,
    TOOLS,
    Cell,
    assistant,
    page,
    result,
    run,
    table,
    user,
)

PAGE = Path(__file__).parents[2] / "docs" / "templates.md"
NEXT = ["next turn, after a tool loop", "next turn, after an answer with reasoning"]

# Templates that show neither tools nor calls, or that know no system prompt of its own.
WITHOUT_TOOLS = {"google-gemma-2-2b-it", "llama-cpp-rwkv-world", "microsoft-Phi-3.5-mini-instruct"}


def reused_text(model: Model, cell: Cell) -> str:
    """Return the text of what was reused, without what the vocabulary adds to it."""
    return model.spell(cell.visit.prompt.ids[: cell.visit.reused])


def assert_reused(model: Model, cell: Cell) -> None:
    """All that messages say which stand in the text as they were fed must be reused, to the last of them."""
    reused = reused_text(model, cell)
    last = cell.visit.text[: cell.wanted][-20:]
    assert last in reused or cell.wanted == 0


@pytest.mark.parametrize("edit", [edit.name for edit in EDITS])
@pytest.mark.parametrize("family", FAMILIES)
def test_all_that_stands_as_it_was_fed_is_reused(family: str, edit: str) -> None:
    cell = table(family)[edit]
    assert_reused(vocabulary(FAMILIES[family][1]), cell)
    if edit == "answer 3 regenerated":
        assert cell.visit.reused == cell.prompt


@pytest.mark.parametrize("name", sorted(set(template_names()) - WITHOUT_TOOLS))
def test_every_template_of_the_source_reuses_what_stands_as_it_was_fed(name: str) -> None:
    edits = [edit for edit in EDITS if edit.name in {*NEXT, "user 2 edited", "tool result edited"}]
    for cell in run(name, "qwen35", edits).values():
        assert_reused(vocabulary("qwen35"), cell)


@pytest.mark.parametrize("name", sorted(set(template_names()) - WITHOUT_TOOLS))
def test_every_message_ends_at_a_cut(name: str) -> None:
    session = TemplateSession(vocabulary("qwen35"), template_source(name))
    session.tools = TOOLS
    visit = session.look(CONVERSATION)
    ends = {stretch.message for stretch in visit.prompt.stretches if stretch.cut is not Cut.GENERATION_PROMPT}
    # What a template does not show, and a system prompt that it moves into a user's message, has no end.
    shown = {index for index, message in enumerate(CONVERSATION) if message["content"][:30] in visit.text}
    moved = {"mistralai-Mistral-Nemo-Instruct-2407": {0}}.get(name, set())
    assert ends >= shown - moved


@pytest.mark.parametrize(
    ("family", "turns"),
    [
        ("ChatML (Qwen 2.5)", 0),
        ("Llama 3.1", 0),
        ("Granite 4", 0),
        ("Qwen 3.5", 1),
        ("Nemotron 3 Nano", 1),
        ("LFM2.5", 1),
        ("gpt-oss", 1),
        ("Mistral Small 3.2", 1),
    ],
)
def test_rewriting_costs_one_turn_and_is_named(family: str, turns: int) -> None:
    """``turns`` is how many turns are read again when the next user message comes behind a tool loop."""
    cell = table(family)["next turn, after a tool loop"]
    first_read = cell.visit.prompt.message_at(cell.visit.reused)
    assert first_read is not None
    if turns:
        assert first_read in {
            1,
            2,
        }  # the user's message, where tools stand in the last one, or the answer to it
        assert cell.rewritten == first_read
    else:
        assert first_read == 4
        assert cell.rewritten is None
        assert cell.visit.prompt.rewritten == ()
    # The turn after that reads the last turn and no more.
    later = table(family)["next turn, after an answer without reasoning"]
    again = later.visit.prompt.message_at(later.visit.reused)
    assert again is not None
    assert again >= 7


def test_the_page_says_what_is() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def letters(family: str, *, thinking: bool = True) -> TemplateSession:
    name, vocabulary_name = FAMILIES[family]
    session = TemplateSession(vocabulary(vocabulary_name), template_source(name), thinking=thinking)
    session.by_letters = True
    return session


def has(ids: array[int], part: array[int]) -> bool:
    whole = part.tobytes()
    return any(ids[at : at + len(part)].tobytes() == whole for at in range(len(ids) - len(part) + 1))


def test_an_answer_inside_a_tool_loop_keeps_its_ids_in_a_template_that_rewrites_later() -> None:
    session = letters("Qwen 3.5")
    session.tools = TOOLS
    session.ask(CONVERSATION[:2], CONVERSATION[2])
    visit = session.ask(CONVERSATION[:4], CONVERSATION[4])
    call, answer = (recorded.ids for _, recorded in session.answers)
    assert has(visit.prompt.ids, call)
    assert visit.prompt.rewritten == ()
    assert visit.reused == len(session.look(CONVERSATION[:2]).prompt.ids) + len(call)
    # Behind the next user message the reasoning is gone, and with it these ids.
    later = session.look(CONVERSATION[:6])
    assert not has(later.prompt.ids, call)
    assert not has(later.prompt.ids, answer)
    assert later.prompt.rewritten == (2, 4)


STUB = [user("Say hello."), assistant("Hello there."), user("Say it again.")]


def test_an_answer_behind_an_empty_reasoning_block_keeps_its_ids_but_is_read_again() -> None:
    """Without thinking, Qwen 3.5 is asked behind ``<think></think>``, which its history does not show."""
    session = letters("Qwen 3.5", thinking=False)
    asked = session.ask(STUB[:1], STUB[1])
    assert session.vocabulary.spell(asked.prompt.ids).endswith("<think>\n\n</think>\n\n")
    visit = session.look(STUB)
    answer = session.answers[0][1].ids
    assert "<think>\n\n</think>\n\nHello" not in visit.text
    assert has(visit.prompt.ids, answer)
    assert all(stretch.sampled_until is None for stretch in visit.prompt.stretches)
    assert visit.prompt.rewritten_at(visit.reused) == 1
    assert visit.reused == asked.prompt.stretches[0].stop


def test_an_answer_behind_an_empty_reasoning_block_that_stays_is_not_read_again() -> None:
    """In a tool loop the block is shown."""
    session = letters("Qwen 3.5", thinking=False)
    session.tools = TOOLS
    messages = [user("Read it."), assistant("", path="documents/notes.txt"), result("Nothing.")]
    asked = session.ask(messages[:1], messages[1])
    visit = session.look(messages)
    assert visit.reused == len(asked.prompt.ids) + len(session.answers[0][1].ids)
    assert visit.prompt.rewritten == ()


def test_parallel_results_end_one_by_one() -> None:
    """Qwen 3.5 puts results of one step into one frame: editing the second keeps the first."""
    session = letters("Qwen 3.5")
    session.tools = TOOLS
    both = assistant("", path="a.txt")
    both["tool_calls"] = [{**both["tool_calls"][0], "id": f"call0000{n}"} for n in range(2)]
    first = {**result("The first file is long and says a lot."), "tool_call_id": "call00000"}
    second = {**result("The second one is short."), "tool_call_id": "call00001"}
    session.ask([user("Read both."), both, first, second], assistant("Done."))
    visit = session.look([user("Read both."), both, first, {**second, "content": "Changed."}])
    assert "The first file is long and says a lot." in session.vocabulary.spell(
        visit.prompt.ids[: visit.reused]
    )


FUZZED = ["ChatML (Qwen 2.5)", "Qwen 3.5", "LFM2.5", "Hermes 3", "Llama 3.1", "gpt-oss", "Mistral Small 3.2"]


@functools.cache  # a look at every token of the vocabulary
def special_words(model: Model) -> list[str]:
    flags = TokenFlag.CONTROL | TokenFlag.UNKNOWN
    return [model.spell([token]) for token in range(model.n_vocab) if model.flags(token) & flags][:12]


def contents(model: Model) -> st.SearchStrategy[str]:
    words = [
        "yes",
        " and\n",
        "ünï 🙂",
        "x = [1, 2]",
        "</think>",
        "<tool_response>",
        '"quoted"',
        "\\n",
        "{{ x }}",
        "\t",
    ]
    return st.lists(st.sampled_from(words + special_words(model)), min_size=1, max_size=4).map("".join)


@st.composite
def conversations(draw: st.DrawFn, model: Model) -> list[Message]:
    text = contents(model)
    messages: list[Message] = [{"role": "system", "content": draw(text)}]
    for _ in range(draw(st.integers(1, 3))):
        messages.append(user(draw(text)))
        if draw(st.booleans()):
            messages += [
                assistant("", draw(st.just("") | text), draw(st.sampled_from("ab"))),
                result(draw(text)),
            ]
        messages.append(assistant(draw(text), draw(st.just("") | text)))
    return [*messages, user(draw(text))]


def harmless(model: Model, value: Any) -> Any:
    """Return a message with its special-token text replaced by a word."""
    if isinstance(value, str):
        for word in sorted(special_words(model), key=len, reverse=True):
            value = value.replace(word, "word")
        return value
    if isinstance(value, dict):
        return {key: harmless(model, inner) for key, inner in value.items()}
    return [harmless(model, inner) for inner in value] if isinstance(value, list) else value


def controls(session: TemplateSession, visit: Visit) -> list[int]:
    flags = TokenFlag.CONTROL | TokenFlag.UNKNOWN
    return [token for token in visit.prompt.ids if session.vocabulary.flags(token) & flags]


@pytest.mark.parametrize("family", FUZZED)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_random_conversations(family: str, data: st.DataObject) -> None:
    name, vocabulary_name = FAMILIES[family]
    model = vocabulary(vocabulary_name)
    messages = data.draw(conversations(model))
    session = TemplateSession(model, template_source(name), thinking=data.draw(st.booleans()))
    session.by_letters = data.draw(st.booleans())
    session.tools = TOOLS if data.draw(st.booleans()) or any(m["role"] == "tool" for m in messages) else []

    # No control token out of content, and the ids spell the text.
    fresh = session.look(messages)
    spelt = model.spell(fresh.prompt.ids)
    opening = spelt[: len(spelt) - len(fresh.text)]
    assert spelt == opening + fresh.text
    assert controls(session, fresh) == controls(session, session.look([harmless(model, m) for m in messages]))

    # Every stretch ends where a prefix of the text ends.
    for stretch in fresh.prompt.stretches:
        assert spelt.startswith(model.spell(fresh.prompt.ids[: stretch.stop]))

    # The conversation as it happened: counts add up, what is reused is what the prompt starts with.
    for index, message in enumerate(messages):
        if message["role"] in {"user", "tool"} and index + 1 < len(messages):
            visit = session.ask(messages[: index + 1], messages[index + 1])
            read = remaining(visit.prompt, visit.match.edges, as_generated=False)
            assert visit.reused + sum(edge.stop - edge.start for edge in read) == len(visit.prompt.ids)
            reused = b"".join(planned.edge.ids for planned in visit.match.edges)
            assert reused == visit.prompt.ids[: visit.reused].tobytes()
            again = session.look(messages[: index + 1])
            assert again.reused == len(again.prompt.ids)
            assert again.prompt.ids == visit.prompt.ids


def test_a_template_has_its_own_source() -> None:
    """Which user-defined tokens count as special follows from it."""
    source = template_source("Qwen3.5-4B")
    assert ChatTemplate(vocabulary("qwen35"), source).source == source
