"""A turn without the cache in a session that has one: what it fed was never recorded, and so it is said."""

from __future__ import annotations

import pytest

from tests.end_to_end.conftest import Program

pytestmark = [pytest.mark.native, pytest.mark.model, pytest.mark.timeout(180)]


def test_what_was_never_recorded_is_not_called_evicted(program: Program) -> None:
    program.run("--session", "S", "Tell me about the sea.")
    off = program.run("--session", "S", "--no-cache", "And the shore?")["steps"][0]["cache"]
    assert off["miss_reason"]["kind"] == "off"
    step = program.run("--session", "S", "And the sky?")["steps"][0]
    assert 0 < step["cached_tokens"] < step["prompt_tokens"]
    assert step["cache"]["miss_reason"]["kind"] == "not_stored"
    assert step["cache"]["miss_reason"]["position"] == step["cached_tokens"]
    again = program.run("--session", "S", "Go on.")["steps"][0]
    assert again["cache"]["miss_reason"] is None
