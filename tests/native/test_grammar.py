"""A grammar lets text through, starts at a call, refuses without harm, and can be cloned and rewound."""

from __future__ import annotations

import numpy as np
import pytest

from skippy_chat.errors import NativeError
from skippy_chat.native.chat import ChatTemplate
from skippy_chat.native.grammar import Grammar
from skippy_chat.native.model import Model
from tests.native.answering import accepted, grammar_of, request, tools

OPEN = '<tool_call>\n{"name": "calculator", "arguments": '
CALL = OPEN + '{"expression": "6 * 7"}}\n</tool_call>'


def test_lazy_grammar_waits_for_a_call_far_down(vocabulary: Model, template: ChatTemplate) -> None:
    text = vocabulary.tokenize("Some (text) with {braces}, <tags> and <tool calls. " * 100, special=False)
    call = vocabulary.tokenize(CALL, special=True)
    with grammar_of(vocabulary, template.render(request(tools=tools()))) as grammar:
        assert accepted(grammar, text) == len(text)
        assert not grammar.is_active
        assert grammar.mask(np.arange(vocabulary.n_vocab, dtype=np.int32)).all()
        assert accepted(grammar, call) == len(call)
        assert grammar.is_active


def test_call_is_found_however_its_mark_is_split(vocabulary: Model, template: ChatTemplate) -> None:
    whole = vocabulary.tokenize(CALL, special=True)
    single = [token for letter in CALL for token in vocabulary.tokenize(letter, special=False)]
    assert len(single) > len(whole)
    with grammar_of(vocabulary, template.render(request(tools=tools()))) as grammar:
        for ids in (whole, single):
            grammar.reset()
            assert accepted(grammar, ids) == len(ids)
            assert grammar.is_active


def test_refused_token_changes_nothing(vocabulary: Model, template: ChatTemplate) -> None:
    end = vocabulary.library.api.llama_vocab_eos(vocabulary.vocab)
    (seven,) = vocabulary.tokenize("7", special=False)
    rest = vocabulary.tokenize('{"expression": "6 * 7"}}\n</tool_call>', special=True)
    with grammar_of(vocabulary, template.render(request(tools=tools()))) as grammar:
        opening = vocabulary.tokenize(OPEN, special=True)
        assert accepted(grammar, opening) == len(opening)
        for wrong in (end, seven):
            assert not grammar.allows(wrong)
            assert not grammar.accept(wrong)
        assert accepted(grammar, rest) == len(rest)
        assert grammar.accept(end)


@pytest.mark.parametrize("stop", [0, 3, 8, 14, 20])
def test_mask_says_what_each_check_says(vocabulary: Model, template: ChatTemplate, stop: int) -> None:
    rendered = template.render(request(tools=tools(), tool_choice="required"))
    ids = np.arange(0, vocabulary.n_vocab, 97, dtype=np.int32)
    call = vocabulary.tokenize(CALL, special=True)
    with grammar_of(vocabulary, rendered) as grammar:
        assert accepted(grammar, call[:stop]) == stop
        ids = np.union1d(ids, np.array([call[stop]], dtype=np.int32)).astype(np.int32)
        mask = grammar.mask(ids)
        assert mask.tolist() == [grammar.allows(int(token)) for token in ids]
        assert mask[ids == call[stop]].all()
        assert not mask.all()


def test_clone_and_reset(vocabulary: Model, template: ChatTemplate) -> None:
    call = vocabulary.tokenize(CALL, special=True)
    with grammar_of(vocabulary, template.render(request(tools=tools()))) as grammar:
        half = len(call) // 2
        assert accepted(grammar, call[:half]) == half
        twin = grammar.clone()
        assert accepted(grammar, call[half:]) == len(call) - half
        grammar.reset()
        assert not grammar.is_active
        assert twin.is_active
        assert accepted(twin, call[half:]) == len(call) - half
        assert accepted(grammar, call) == len(call)
        twin.close()
        twin.close()


def test_token_that_does_not_exist_is_an_error_and_no_crash(
    vocabulary: Model, template: ChatTemplate
) -> None:
    with grammar_of(vocabulary, template.render(request(tools=tools()))) as grammar:
        for token in (-1, vocabulary.n_vocab):
            with pytest.raises(NativeError, match="no such token"):
                grammar.allows(token)
            with pytest.raises(NativeError, match="no such token"):
                grammar.accept(token)
            with pytest.raises(NativeError, match="no such token"):
                grammar.mask(np.array([token], dtype=np.int32))


@pytest.mark.parametrize(
    "wrong",
    [
        {"grammar": ""},
        {"grammar": "root ::= ("},
        {"grammar": 'root ::= root "a"'},
        {"grammar": 'root ::= "a"', "grammar_start": "trigger", "grammar_triggers": []},
        {"grammar": 'root ::= "a"', "generation_prompt": "b"},
        {},
    ],
)
def test_what_is_no_grammar_is_refused(vocabulary: Model, wrong: dict[str, object]) -> None:
    with pytest.raises(NativeError, match=r"The grammar cannot be used: .+"):
        Grammar(vocabulary, wrong)


def test_thoughts_about_a_call_are_free(vocabulary: Model) -> None:
    rendered = {
        "grammar": 'root ::= "<call>" [0-9]+',
        "grammar_start": "trigger",
        "grammar_triggers": [{"type": "word", "value": "<call>", "token": None}],
        "generation_prompt": "<think>",
        "thinking_start_tag": "<think>",
        "thinking_end_tags": ["</think>"],
    }
    thoughts = vocabulary.tokenize("I could say <call>x, or not.</think> So.", special=False)
    bad, good = (vocabulary.tokenize(f"<call>{digits}", special=False) for digits in ("x", "12"))
    with grammar_of(vocabulary, rendered) as grammar:
        assert accepted(grammar, thoughts) == len(thoughts)
        assert not grammar.is_active
        twin = grammar.clone()
        assert accepted(twin, good) == len(good)
        twin.close()
        assert accepted(grammar, bad) < len(bad)
