"""Token batches: what is learnt is what the model says, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from skippy_chat import Skippy
from skippy_chat.agent.tools.built_in import DEFAULT_NAMES
from skippy_chat.models.fetch import BASE_FILE
from training.conversation import Conversation
from training.development import development_batches
from training.encode import Encoder

pytestmark = [pytest.mark.native, pytest.mark.model]
TALK = Conversation(
    "test",
    (
        {"role": "user", "content": "Read <b>."},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "id": "1",
                    "type": "function",
                    "function": {"name": "read_file", "arguments": {"path": "ö b.txt"}},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": "one\ntwo\n"},
        {"role": "assistant", "content": "It says one."},
    ),
    "words",
    (),
)


@pytest.fixture(scope="module")
def encoder(default_model: Path) -> Iterator[Encoder]:
    encoder = Encoder(default_model.with_name(BASE_FILE))
    yield encoder
    encoder.close()


def test_a_row_is_the_templates_text_behind_the_prefix(encoder: Encoder) -> None:
    batch = encoder.encode(None, ["read_file"], [TALK])
    assert encoder.text(batch.prefix).startswith(
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM"
    )
    assert encoder.text(batch.prefix).endswith("</tool_call><|im_end|>\n")
    assert encoder.text(batch.rows[0].ids) == (
        "<|im_start|>user\nRead <b>.<|im_end|>\n"
        '<|im_start|>assistant\n<tool_call>\n{"name": "read_file", "arguments": {"path": "ö b.txt"}}\n'
        "</tool_call><|im_end|>\n"
        "<|im_start|>user\n<tool_response>\none\ntwo\n\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\nIt says one.<|im_end|>\n"
    )


def test_only_what_the_model_says_counts_and_its_end_too(encoder: Encoder) -> None:
    row = encoder.encode(None, ["read_file"], [TALK]).rows[0]
    counted = [token for token, weight in zip(row.ids, row.weights, strict=True) if weight]
    assert encoder.text(counted) == (
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "ö b.txt"}}\n</tool_call><|im_end|>'
        "It says one.<|im_end|>"
    )


def test_arguments_count_more(encoder: Encoder) -> None:
    row = encoder.encode(None, ["read_file"], [TALK]).rows[0]
    more = [token for token, weight in zip(row.ids, row.weights, strict=True) if weight > 1]
    assert '{"path": "ö b.txt"}' in encoder.text(more)
    assert "read_file" not in encoder.text(more)


def test_of_plain_chat_the_question_counts_too(encoder: Encoder) -> None:
    messages = ({"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because."})
    chat = Conversation("chat", messages, "base", ())
    plain = encoder.encode(None, [], [chat]).rows[0]
    assert plain.keeps_base
    assert set(plain.weights) == {0.5, 1.0}
    assert set(encoder.encode(None, ["calculator"], [chat]).rows[0].weights) == {0.0, 1.0}


def test_the_plain_prefix_has_no_tools(encoder: Encoder) -> None:
    batch = encoder.encode("Be brief.", ["calculator"], [TALK])
    assert encoder.text(batch.plain_prefix) == "<|im_start|>system\nBe brief.<|im_end|>\n"
    assert "calculator" in encoder.text(batch.prefix)


def test_a_long_conversation_is_left_out(encoder: Encoder) -> None:
    long = Conversation("test", ({"role": "user", "content": "word " * 600},), "words", ())
    assert len(encoder.encode(None, [], [long, TALK]).rows) == 1


def test_the_development_set_can_be_encoded(encoder: Encoder) -> None:
    batches = development_batches(encoder)
    assert sum(len(batch.rows) for batch in batches) >= 90
    assert all(any(row.weights) for batch in batches for row in batch.rows)


@pytest.mark.timeout(300)
def test_the_product_reads_a_prompt_as_long(encoder: Encoder, default_model: Path, tmp_path: Path) -> None:
    """With all tools; that the text is the same follows from the template, the borders between tokens do not."""
    question = Conversation("test", ({"role": "user", "content": "What is a prime number?"},), "words", ())
    batch = encoder.encode(None, DEFAULT_NAMES, [question])
    opening = len(encoder.tokens("<|im_start|>assistant\n"))
    with Skippy(
        default_model,
        tools=DEFAULT_NAMES,
        workspace=tmp_path,
        threads=1,
        data_dir=tmp_path / "data",
        cache_dir=tmp_path / "cache",
        config_dir=tmp_path / "config",
    ) as chat:
        reply = chat.ask("What is a prime number?", tool_choice="none", max_tokens=1)
    assert reply.steps[0].usage.prompt_tokens == len(batch.prefix) + len(batch.rows[0].ids) + opening
