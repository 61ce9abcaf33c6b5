"""Rendering: content never becomes a control token, boundaries are true prefixes, recorded ids are spliced in."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.checkpoints.placement import Cut
from skippy_chat.engine.planning import Prompt
from skippy_chat.engine.rendering import Answer, Renderer
from skippy_chat.errors import NativeError
from skippy_chat.native.model import TokenFlag
from skippy_chat.native.parsing import ParsedAnswer

START, END = 2_000_001, 2_000_002
SPECIAL = {"<|im_start|>": START, "<|im_end|>": END}


class Letters:
    """One token per character, the two ChatML marks as control tokens; longer tokens that only a model writes."""

    adds_bos = False
    bos = -1
    texts: ClassVar = {token: text for text, token in SPECIAL.items()}
    written: ClassVar = {7001: "the ", 7002: "ans", 7003: "wer", 7004: "\n "}

    def tokenize(self, text: str, *, special: bool) -> array[int]:
        pattern = "|".join(map(re.escape, SPECIAL)) if special else "(?!)"
        ids: list[int] = []
        position = 0
        for match in re.finditer(pattern, text):
            ids += [ord(letter) for letter in text[position : match.start()]]
            ids.append(SPECIAL[match.group()])
            position = match.end()
        return array("i", ids + [ord(letter) for letter in text[position:]])

    def detokenize(self, ids: Sequence[int]) -> str:
        return "".join(self.written.get(token) or chr(token) for token in ids if token not in self.texts)

    def spell(self, ids: Sequence[int]) -> str:
        return "".join(self.texts.get(token) or self.written.get(token) or chr(token) for token in ids)

    def flags(self, token: int) -> TokenFlag:
        return TokenFlag.CONTROL if token in self.texts else TokenFlag.NONE


class ChatMl:
    """The template most models have; ``trim`` and ``strip_thinking`` are habits of some."""

    def __init__(self, *, trim: bool = False, strip_thinking: bool = False, needs_user: bool = False) -> None:
        self.trim, self.strip_thinking, self.needs_user = trim, strip_thinking, needs_user
        self.calls = 0
        self.source = ""

    def render(self, request: dict[str, Any]) -> dict[str, Any]:
        self.calls += 1
        messages = request["messages"]
        if self.needs_user and all(message["role"] != "user" for message in messages):
            raise NativeError("no user message")
        text = ""
        for index, message in enumerate(messages):
            content = message["content"].strip() if self.trim else message["content"]
            if self.strip_thinking and message["role"] == "assistant" and index < len(messages) - 1:
                content = content.split("</think>")[-1]
            text += f"<|im_start|>{message['role']}\n{content}<|im_end|>\n"
        return {"prompt": text + ("<|im_start|>assistant\n" if request["add_generation_prompt"] else "")}

    def read(self, rendered: Mapping[str, Any], text: str) -> ParsedAnswer:
        return ParsedAnswer(text, complete=True)


def conversation(*contents: str) -> list[dict[str, Any]]:
    roles = ["system", *["user", "assistant"] * len(contents)]
    return [{"role": role, "content": content} for role, content in zip(roles, contents, strict=False)]


def render(
    messages: list[dict[str, Any]], answers: dict[int, Answer] | None = None, template: ChatMl | None = None
) -> Prompt:
    renderer = Renderer(Letters(), template or ChatMl())
    return renderer.render(messages, answers or {}, now=0, thinking=True)


def test_boundaries_stand_at_message_ends_and_generation_prompts() -> None:
    prompt = render(conversation("S", "u1", "a1", "u2"))
    kinds = [stretch.cut for stretch in prompt.stretches]
    assert kinds == [
        Cut.END_OF_SYSTEM,
        Cut.END_OF_MESSAGE,
        Cut.GENERATION_PROMPT,
        Cut.END_OF_MESSAGE,
        Cut.END_OF_PROMPT,
        Cut.GENERATION_PROMPT,
    ]
    ends = [list(prompt.ids[: stretch.stop])[-2:] for stretch in prompt.stretches]
    assert [end for end, kind in zip(ends, kinds, strict=True) if kind is not Cut.GENERATION_PROMPT] == [
        [END, ord("\n")]
    ] * 4


def test_cuts_of_a_prefix_do_not_depend_on_what_follows() -> None:
    short = render(conversation("S", "u1"))
    long = render(conversation("S", "u1", "a1", "u2", "a2", "u3"))
    assert [s.stop for s in long.stretches][: len(short.stretches)] == [s.stop for s in short.stretches]
    assert long.ids[: len(short.ids)] == short.ids


@pytest.mark.parametrize("trim", [False, True])
@given(text=st.text(max_size=30).map(lambda text: f"{text}<|im_end|>{text}<|im_start|>"))
def test_content_never_becomes_a_control_token(trim: bool, text: str) -> None:
    prompt = render(conversation("S", text), template=ChatMl(trim=trim))
    assert list(prompt.ids).count(END) == 2
    assert list(prompt.ids).count(START) == 3


def test_a_recorded_answer_is_spliced_in_as_fed() -> None:
    recorded = Answer(array("i", [7001, 7002, 7003]), 2)
    prompt = render(conversation("S", "u1", "the answer", "u2"), {2: recorded})
    at = list(prompt.ids).index(7001)
    assert list(prompt.ids[at : at + 4]) == [7001, 7002, 7003, END]
    (stretch,) = [stretch for stretch in prompt.stretches if stretch.sampled_until is not None]
    assert (stretch.start, stretch.sampled_until) == (at, at + 2)
    assert prompt.rewritten == ()


def test_an_answer_stored_up_to_a_stop_keeps_the_ids_behind_it() -> None:
    recorded = Answer(array("i", [7001, 7002, 7003]), 3)
    prompt = render(conversation("S", "u1", "the ans", "u2"), {2: recorded})
    at = list(prompt.ids).index(7001)
    assert list(prompt.ids[at : at + 4]) == [7001, 7002, 7003, END]
    assert prompt.rewritten == ()


def test_white_space_that_was_left_out_of_what_was_stored_keeps_its_ids() -> None:
    recorded = Answer(array("i", [7004, 7001, 7002, 7003, 7004]), 5)
    prompt = render(conversation("S", "u1", "the answer", "u2"), {2: recorded})
    at = list(prompt.ids).index(7004)
    assert list(prompt.ids[at : at + 6]) == [7004, 7001, 7002, 7003, 7004, END]
    assert prompt.rewritten == ()


def test_ids_that_spell_something_else_are_not_spliced() -> None:
    prompt = render(conversation("S", "u1", "another answer", "u2"), {2: Answer(array("i", [7001, 7002]), 2)})
    assert 7001 not in prompt.ids
    assert prompt.rewritten == (2,)


def test_an_answer_that_the_template_rewrites_is_told_and_not_spliced() -> None:
    recorded = Answer(array("i", [7001, 7002]), 2)
    messages = conversation("S", "u1", "<think>x</think>yes", "u2")
    prompt = render(messages, {2: recorded}, ChatMl(strip_thinking=True))
    assert 7001 not in prompt.ids
    assert prompt.rewritten == (2,)


def test_a_template_that_refuses_a_lone_system_message_still_gives_the_other_boundaries() -> None:
    prompt = render(conversation("S", "u1", "a1", "u2"), template=ChatMl(needs_user=True))
    assert Cut.END_OF_SYSTEM not in {stretch.cut for stretch in prompt.stretches}
    assert prompt.stretches[-1].stop == len(prompt.ids)


def test_prefixes_are_rendered_once() -> None:
    template = ChatMl()
    renderer = Renderer(Letters(), template)
    contents = ["S"] + [f"m{index}" for index in range(40)]
    renderer.render(conversation(*contents), {}, now=0, thinking=True)
    before = template.calls
    renderer.render(conversation(*contents, "a", "u"), {}, now=0, thinking=True)
    assert template.calls - before <= 7
