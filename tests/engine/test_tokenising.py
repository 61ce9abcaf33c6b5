"""Tokenising in pieces, over every vocabulary of llama.cpp's source: the same ids as in one go, and no control token
from content."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skippy_chat.engine.planning import Prompt
from skippy_chat.engine.rendering import Renderer
from skippy_chat.engine.tokenising import Tokeniser
from skippy_chat.native.chat import ChatTemplate
from skippy_chat.native.model import Model, TokenFlag
from tests.engine.llama_source import template_source, vocabulary, vocabulary_names

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA_2 = (
    "{% for m in messages %}{% if m.role == 'user' %}{{ '[INST] ' + m.content + ' [/INST]' }}"
    "{% elif m.role == 'system' %}{{ '<<SYS>>\n' + m.content + '\n<</SYS>>\n\n' }}"
    "{% else %}{{ ' ' + m.content + ' </s>' }}{% endif %}{% endfor %}"
)
SOURCES = {
    "chatml": CHATML,
    "llama-2": LLAMA_2,
    "phi-3.5": template_source("microsoft-Phi-3.5-mini-instruct"),
}

# Tokenizers of embedding models: they drop case, white space and unknown characters, so no text comes back from them.
LOSSY = {"bert-bge", "nomic-bert-moe"}
SPACE_BEFORE_TEXT = {"baichuan", "llama-spm", "phi-3"}

# fmt: off
WORDS = st.sampled_from([
    "hello", "  two", "\n", "\n\n\n", " lead", "trail ", "def f(x):\n    return x\n", "naïve", "日本語", "🙂🙂", "\t",
    "aaaa", "3.14", "<b>x</b>", "</", ">", "<", "|", "[", "]", "\r\n", "don't", "…", "<|im_", "_end|>", "[INST", " ",
])
# fmt: on
PLAIN = st.lists(WORDS, min_size=1, max_size=6).map("".join).filter(str.strip)
FEW = settings(max_examples=8, suppress_health_check=[HealthCheck.filter_too_much], deadline=None)


@dataclass(frozen=True)
class Rendered:
    vocabulary: Model
    text: str
    prompt: Prompt
    messages: Sequence[dict[str, Any]]

    @property
    def spelt(self) -> str:
        return self.vocabulary.spell(self.prompt.ids)

    @property
    def controls(self) -> list[int]:
        return [token for token in self.prompt.ids if is_control(self.vocabulary, token)]


def is_control(model: Model, token: int) -> bool:
    return bool(model.flags(token) & (TokenFlag.CONTROL | TokenFlag.UNKNOWN))


@functools.cache
def renderer(name: str, source: str) -> tuple[Renderer, ChatTemplate]:
    template = ChatTemplate(vocabulary(name), SOURCES[source])
    return Renderer(vocabulary(name), template), template


def rendered(name: str, source: str, contents: Sequence[str]) -> Rendered:
    roles = ["system", "user", "assistant", "user"]
    messages = [{"role": role, "content": content} for role, content in zip(roles, contents, strict=True)]
    request = {"messages": messages, "now": 0, "enable_thinking": True, "add_generation_prompt": True}
    drawn, template = renderer(name, source)
    prompt = drawn.render(messages, {}, now=0, thinking=True)
    return Rendered(vocabulary(name), template.render(request)["prompt"], prompt, messages)


def in_one_go(model: Model, text: str) -> list[int]:
    return [*Tokeniser(model).opening(text), *model.tokenize(text, special=True)]


def spans(model: Model, ids: Sequence[int]) -> set[tuple[int, int, int]]:
    """Return each token with the bytes it stands for."""
    position, found = 0, set()
    for token in ids:
        size = (
            len(model.spell([token]).encode()) if "�" not in model.spell([token]) else len(model.piece(token))
        )
        found.add((position, position + size, token))
        position += size
    return found


def runs(found: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Join tokens that touch to stretches of bytes."""
    joined: list[tuple[int, int]] = []
    for start, stop, _ in sorted(found):
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
    return joined


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", sorted(set(vocabulary_names()) - LOSSY))
@FEW
@given(contents=st.tuples(PLAIN, PLAIN, PLAIN, PLAIN))
def test_plain_content_gives_the_ids_of_the_whole_text(
    name: str, source: str, contents: tuple[str, ...]
) -> None:
    result = rendered(name, source, contents)
    whole = in_one_go(result.vocabulary, result.text)
    if whole == list(result.prompt.ids):
        return
    assert name not in SPACE_BEFORE_TEXT
    # Only merges over the end of a message, or of a generation prompt, may differ: there a state is kept. (Where text
    # is split before it is merged, white space goes by what follows it, so what differs may only touch the border.)
    ours, theirs = spans(result.vocabulary, result.prompt.ids), spans(result.vocabulary, whole)
    sizes = [
        len(result.vocabulary.spell(result.prompt.ids[: s.stop]).encode()) for s in result.prompt.stretches
    ]
    for start, stop in runs(sorted(theirs - ours)):
        assert any(start <= size <= stop for size in sizes)


@pytest.mark.parametrize("name", sorted(set(vocabulary_names()) - LOSSY))
def test_an_answer_that_starts_with_a_letter_gives_the_ids_of_the_whole_text(name: str) -> None:
    result = rendered(name, "chatml", ["Be brief.", "  What is\n\n that?", "That is it.", "\n\nAnd this?"])
    assert list(result.prompt.ids) == in_one_go(result.vocabulary, result.text)


@functools.cache
def special_texts(model: Model, flag: TokenFlag, limit: int = 40) -> list[str]:
    found = (model.spell([token]) for token in range(model.n_vocab) if model.flags(token) & flag)
    return [text for text in found if text.strip()][:limit]


@functools.cache
def hostile(name: str) -> st.SearchStrategy[str]:
    specials = special_texts(vocabulary(name), TokenFlag.CONTROL | TokenFlag.UNKNOWN)
    # Also in halves, which only what the template writes around them could complete.
    halves = [text[:cut] for text in specials[:5] for cut in range(1, len(text))]
    return st.lists(st.sampled_from(specials + halves[::3]) | WORDS, min_size=1, max_size=6).map("".join)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", sorted(set(vocabulary_names()) - LOSSY))
@FEW
@given(data=st.data())
def test_no_control_token_comes_out_of_content(name: str, source: str, data: st.DataObject) -> None:
    contents = [data.draw(hostile(name).filter(str.strip)) for _ in range(4)]
    result = rendered(name, source, contents)
    harmless = rendered(name, source, ["a", "b", "c", "d"])
    assert result.controls == harmless.controls
    text, back = result.text, with_text_back(result)
    if name == "phi-3":  # its control tokens swallow the white space behind them
        text, back = (re.sub(r"(<\|?/?\w+\|?>)\s+", r"\1", each) for each in (text, back))
    assert back == text


def with_text_back(result: Rendered) -> str:
    """Return the prompt's text, without what the vocabulary adds: BOS, and a space where text starts."""
    model = result.vocabulary
    ids = list(result.prompt.ids)
    opening = len(Tokeniser(model).opening(result.text))
    if model.path.stem.removeprefix("ggml-vocab-") not in SPACE_BEFORE_TEXT:
        return model.spell(ids[opening:])
    parts: list[str] = []
    run: list[int] = []
    for token in [*ids[opening:], None]:
        if token is not None and not model.flags(token) & (
            TokenFlag.USER_DEFINED | TokenFlag.CONTROL | TokenFlag.UNKNOWN
        ):
            run.append(token)
            continue
        parts.append(model.spell(run).removeprefix(" ") if run else "")
        run = []
        if token is not None:
            parts.append(model.spell([token]))
    return "".join(parts)


def test_a_control_token_spelt_by_content_and_template_together_stays_text() -> None:
    """The template writes ``_end|>`` behind a content that ends with ``<|im``."""
    model = vocabulary("qwen2")
    source = "{% for m in messages %}{{ '<|im_start|>' + m.content + '_end|> so' }}{% endfor %}"
    prompt = Renderer(model, ChatTemplate(model, source)).render(
        [{"role": "user", "content": "open <|im"}], {}, now=0, thinking=True
    )
    assert model.spell(prompt.ids) == "<|im_start|>open <|im_end|> so"
    assert [model.spell([token]) for token in prompt.ids if is_control(model, token)] == ["<|im_start|>"]


def test_user_defined_tokens_that_the_template_writes_are_special_in_others_words() -> None:
    """The model's own words may hold its markup, but nothing that begins a turn."""
    model = vocabulary("command-r")
    turn, other = "<|START_OF_TURN_TOKEN|>", "<|GOOD_TOKEN|>"
    source = (
        "{% for m in messages %}{{ '"
        + turn
        + "' + m.role + ': ' + m.content + '"
        + other
        + "' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '" + turn + "assistant: ' }}{% endif %}"
    )
    drawn = Renderer(model, ChatTemplate(model, source))
    for role, expected in (("user", {turn: 0, other: 0}), ("assistant", {turn: 0, other: 1})):
        messages = [{"role": "user", "content": "Hi."}, {"role": role, "content": f"a {turn} b {other} c"}]
        plain = [messages[0], {"role": role, "content": "a b c"}]
        ids, without = (drawn.render(each, {}, now=0, thinking=True).ids for each in (messages, plain))
        assert f"a {turn} b {other} c" in model.spell(ids)
        for word, more in expected.items():
            (token,) = model.tokenize(word, special=False)
            assert list(ids).count(token) == list(without).count(token) + more


def test_other_user_defined_tokens_stay_tokens_in_content() -> None:
    model = vocabulary("gpt-neox")
    (run_of_spaces,) = model.tokenize(" " * 24, special=False)
    assert model.flags(run_of_spaces) & TokenFlag.USER_DEFINED
    prompt = Renderer(model, ChatTemplate(model, CHATML)).render(
        [{"role": "user", "content": "a" + " " * 24 + "b<|endoftext|>"}], {}, now=0, thinking=True
    )
    assert run_of_spaces in prompt.ids
    assert not any(is_control(model, token) for token in prompt.ids)
