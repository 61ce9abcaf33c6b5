"""Calls that go wrong first: a name with one slip in it, what the tool says of it, and the call as it should be."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from training.answers import load_answers
from training.conversation import UNLEARNT, Conversation
from training.mix import Mixer
from training.slips import slipped

PATH = "notes/old things/sea_story-2.txt"


@pytest.fixture(scope="module")
def mixer(tmp_path_factory: pytest.TempPathFactory) -> Mixer:
    return Mixer(tmp_path_factory.mktemp("rooms"), load_answers(), seed=3, size=16)


def test_a_slip_changes_a_name_a_little() -> None:
    seen = {slipped(PATH, Random(seed)) for seed in range(200)}
    assert PATH not in seen
    assert {"sea_story-2.txt", "notes/old things/Sea_story-2.txt", "notes/old things/sea_story-2.md"} <= seen
    assert "notes/old things/sea_stry-2.txt" in seen  # a letter left out
    assert "notes/old things/sea_sttory-2.txt" in seen  # one doubled
    assert "notes/old things/sea_sotry-2.txt" in seen  # two turned round
    assert "notes/old_things/sea_story-2.txt" in seen


@pytest.mark.parametrize("path", ["1", "7/8", "a", ""])
def test_a_name_without_a_place_for_a_slip_may_stay(path: str) -> None:
    assert all(isinstance(slipped(path, Random(seed)), str) for seed in range(20))


def test_a_call_that_goes_wrong_is_followed_by_the_right_one(mixer: Mixer) -> None:
    mended = [
        talk for number in range(4) for talk in mixer.batch(number, slips=1.0).conversations if slips_in(talk)
    ]
    assert len(mended) > 10
    for talk in mended:
        for at in slips_in(talk):
            wrong, told, right = talk.messages[at : at + 3]
            before, after = (each["tool_calls"][0]["function"] for each in (wrong, right))
            assert told["role"] == "tool"
            assert told["tool_call_id"] == wrong["tool_calls"][0]["id"] != right["tool_calls"][0]["id"]
            assert "There is no" in told["content"]
            assert before["name"] == after["name"]
            assert before["arguments"]["path"] != after["arguments"]["path"]
            assert UNLEARNT not in right


def test_what_a_tool_says_often_names_what_is_meant(mixer: Mixer) -> None:
    told = [
        (
            talk.messages[at + 1]["content"],
            talk.messages[at + 2]["tool_calls"][0]["function"]["arguments"]["path"],
        )
        for number in range(4)
        for talk in mixer.batch(number, slips=1.0).conversations
        for at in slips_in(talk)
    ]
    assert sum(f'"{path}"' in content for content, path in told) > len(told) / 2


def test_without_slips_nothing_goes_wrong(mixer: Mixer) -> None:
    assert not any(slips_in(talk) for number in range(4) for talk in mixer.batch(number).conversations)


def slips_in(talk: Conversation) -> list[int]:
    return [at for at, message in enumerate(talk.messages) if message.get(UNLEARNT)]


def test_a_batch_with_as_many_slips_is_the_same(tmp_path: Path) -> None:
    made = Mixer(tmp_path, load_answers(), seed=3, size=4)
    assert made.batch(5, slips=0.5) == made.batch(5, slips=0.5)
