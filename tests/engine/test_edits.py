"""What is reused after an edit, on real weights with recurrent state.

First visit: everything up to the deepest state above the change. Second visit at the latest: everything up to the last
canonical cut before the change, in the same process and in a new one, and the logits are those of a replay.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from skippy_chat.checkpoints.placement import GRID_TOKENS
from skippy_chat.engine.ids import CLOSE, OPEN
from tests.engine.engines import Bench, Result, make_engine, numbers, same_logits

pytestmark = [pytest.mark.native, pytest.mark.model]

TinyModel = Callable[[str], Path]
MODELS = ["falcon-h1-dense", "mamba-dense"]
CONTEXT = 4096
SYSTEM = 60


class Story:
    """One model, one store, and one process after another."""

    def __init__(self, model: Path, root: Path) -> None:
        self._model, self._root = model, root
        self.bench = self._open()

    def _open(self) -> Bench:
        return Bench(make_engine(self._model, self._root, n_ctx=CONTEXT))

    def restart(self) -> None:
        old = self.bench
        old.engine.close()
        self.bench = self._open()
        self.bench.messages, self.bench.answers = old.messages, old.answers

    def close(self) -> None:
        self.bench.engine.close()


@pytest.fixture
def story(request: pytest.FixtureRequest, tiny_model: TinyModel, tmp_path: Path) -> Any:
    story = Story(tiny_model(request.param), tmp_path)
    yield story
    story.close()


on_models = pytest.mark.parametrize("story", MODELS, indirect=True)


def talk(bench: Bench, turns: int = 3) -> None:
    bench.messages = [{"role": "system", "content": numbers(1, SYSTEM)}]
    for turn in range(turns):
        bench.say(numbers(10 + turn, 40))


def last_cut(bench: Bench, message: int, offset: int) -> int:
    """The last canonical cut at or before token ``offset`` of a message's content."""
    start = 0
    for index, each in enumerate(bench.messages[:message]):
        start += len(OPEN) + len(CLOSE)
        if index in bench.answers:
            start += len(bench.answers[index].ids)
        else:
            start += len(each["content"].split())
    return start + (len(OPEN) + offset) // GRID_TOKENS * GRID_TOKENS


def proven(bench: Bench, result: Result) -> Result:
    """Counts add up, and the logits are those of a replay."""
    prompt, cached, prefilled = result.counts
    assert cached + prefilled == prompt
    assert same_logits(result, bench.replay(result.reply))
    return result


@on_models
@pytest.mark.parametrize("tail", [1, 10, 100, 1000])
@pytest.mark.parametrize("shared", [0, 700])
def test_a_tail_that_changes_is_all_that_is_read(story: Story, shared: int, tail: int) -> None:
    """Diverging at the beginning of a message, and 700 tokens into it."""
    talk(story.bench, turns=1)
    head = numbers(50, shared)
    message = len(story.bench.messages)
    story.bench.messages.append({"role": "user", "content": ""})
    cached = []
    for visit in range(4):
        if visit == 3:
            story.restart()
        bench = story.bench
        # The first differing token must differ for certain.
        content = f"{head} {11 + visit} {numbers(60 + visit, tail - 1)}".strip()
        bench.messages[message] = {"role": "user", "content": content}
        cached.append(proven(bench, bench.step(max_tokens=2)).counts[1])
    wanted = last_cut(story.bench, message, shared)
    assert cached[0] <= cached[1] <= wanted
    assert cached[2:] == [wanted, wanted]
    if shared == 0:
        assert cached[1] == wanted


@on_models
def test_an_opening_that_changed_is_told_only_to_those_who_were_there(story: Story) -> None:
    bench = story.bench
    bench.messages = [{"role": "system", "content": numbers(1, SYSTEM)}]
    bench.say(numbers(10, 40))
    first = bench.messages[0]["content"]
    bench.messages[0] = {"role": "system", "content": f"{first[: len(first) // 2]} {numbers(2, SYSTEM)}"}
    told = bench.say(numbers(11, 40)).finished.cache.miss_reason
    assert told is not None
    assert (told.kind, told.message) == ("diverged", 0)
    assert told.position is not None
    assert 0 < told.position < SYSTEM

    bench.messages, bench.answers = [{"role": "system", "content": numbers(3, SYSTEM)}], {}
    other = bench.say(numbers(10, 40)).finished.cache.miss_reason
    assert other is not None
    assert other.kind == "nothing_stored"


@on_models
def test_a_message_in_the_middle_is_edited(story: Story) -> None:
    bench = story.bench
    talk(bench, turns=4)
    whole, answers = deepcopy(bench.messages), dict(bench.answers)
    edited = 3  # the second question
    for visit in range(2):
        bench.messages, bench.answers = (
            deepcopy(whole[:edited]),
            {k: v for k, v in answers.items() if k < edited},
        )
        bench.messages.append({"role": "user", "content": f"{12 + visit} {numbers(70 + visit, 30)}"})
        result = proven(bench, bench.step())
        assert result.counts[1] == last_cut(bench, edited, 0)


@on_models
def test_a_turn_in_the_middle_is_deleted(story: Story) -> None:
    bench = story.bench
    talk(bench, turns=4)
    question, answer = 3, 4
    # Its question begins with other tokens than the next one's, so the prompt leaves the tree just before it.
    bench.messages = [*bench.messages[:question], *bench.messages[answer + 1 :]]
    bench.answers = {
        k if k < question else k - 2: v for k, v in bench.answers.items() if k not in (question, answer)
    }
    bench.messages.append({"role": "user", "content": numbers(80, 10)})
    first = proven(bench, bench.step(max_tokens=2))
    assert first.counts[1] == last_cut(bench, question, 0)
    story.restart()
    again = proven(story.bench, story.bench.step(max_tokens=2))
    assert again.counts[1:] == (again.counts[0], 0)


@on_models
def test_a_tool_result_is_edited(story: Story) -> None:
    bench = story.bench
    talk(bench, turns=1)
    at = len(bench.messages)
    cached = []
    for visit in range(3):
        bench.messages = bench.messages[:at]
        bench.answers = {k: v for k, v in bench.answers.items() if k < at}
        result = f"{numbers(90, 600)} {13 + visit} {numbers(91 + visit, 50)}"
        bench.messages.append({"role": "tool", "content": result})
        step = proven(bench, bench.step(max_tokens=3))
        cached.append(step.counts[1])
        bench.keep(step.reply)
        proven(bench, bench.say(numbers(95, 20), max_tokens=2))
    start, change = last_cut(bench, at, 0), last_cut(bench, at, 600)
    assert cached[0] == start - 2  # the answer's end: its closing tokens had not been read yet
    # Where rows weigh more than a state, the last cut inside a message has one from the first reading on.
    assert cached[1] == (change if bench.engine.lane.has_attention else start)
    assert cached[2] == change


@on_models
def test_exact_replay_regenerate_and_back_to_a_branch(story: Story) -> None:
    """Every prompt token is cached, in the same process and in a new one."""
    talk(story.bench, turns=2)
    branch_a = [*story.bench.messages, {"role": "user", "content": numbers(100, 33)}]
    branch_b = [*story.bench.messages, {"role": "user", "content": numbers(101, 300)}]
    for messages in (branch_a, branch_b):
        story.bench.messages = messages
        first = story.bench.step()
        again = proven(story.bench, story.bench.step())
        assert again.counts[1:] == (again.counts[0], 0)
        assert same_logits(first, again)
    for _ in range(2):
        for messages in (branch_a, branch_b):
            story.bench.messages = messages
            back = story.bench.step()
            assert back.counts[1:] == (back.counts[0], 0)
        story.restart()
