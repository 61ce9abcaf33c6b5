"""What is told of a prompt is what its step then does, on real weights of every kind."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from skippy_chat.checkpoints.types import Kind
from skippy_chat.engine.engine import Engine
from skippy_chat.engine.outlook import Outlook
from skippy_chat.engine.protocol import RecordedAnswer, StepRequest
from skippy_chat.engine.questions import (
    CheckpointTree,
    Foreseen,
    ForeseeQuestion,
    MeasureQuestion,
    TreeQuestion,
)
from skippy_chat.events import PrefillStarted
from tests.engine.engines import GREEDY, Bench, Result, make_engine, numbers

pytestmark = [pytest.mark.native, pytest.mark.model]

TinyModel = Callable[[str], Path]
MODELS = ["llama-dense", "gemma3-dense", "falcon-h1-dense", "mamba-dense"]
Branch = tuple[list[dict[str, Any]], dict[int, RecordedAnswer]]


class Talk:
    """A conversation that is looked at before each step."""

    def __init__(self, model: Path, root: Path | None, **more: Any) -> None:
        self._open: Callable[[], Engine] = lambda: make_engine(model, root, n_ctx=4096, **more)
        self.bench = Bench(self._open())
        self.bench.messages = [{"role": "system", "content": numbers(1, 60)}]

    @property
    def outlook(self) -> Outlook:
        return Outlook(self.bench.engine)

    @property
    def branch(self) -> Branch:
        return deepcopy(self.bench.messages), dict(self.bench.answers)

    def take(self, branch: Branch, length: int) -> None:
        """Go on from the first messages of a branch."""
        messages, answers = branch
        self.bench.messages = deepcopy(messages[:length])
        self.bench.answers = {index: answer for index, answer in answers.items() if index < length}

    def request(self, **more: Any) -> StepRequest:
        return StepRequest(
            "s",
            "t",
            list(self.bench.messages),
            GREEDY,
            dict(self.bench.answers),
            4,
            **{"by_ids": True, **more},
        )

    def foresee(self, **more: Any) -> Foreseen:
        return self.outlook.foresee(ForeseeQuestion(self.request(**more)))

    def tree(self, *others: StepRequest) -> CheckpointTree:
        return self.outlook.tree(TreeQuestion([self.request(), *others]))

    def ask(self, content: str, **more: Any) -> tuple[Foreseen, Result]:
        """Add a message, look ahead, and have it answered."""
        self.bench.messages.append({"role": "user", "content": content})
        told = self.foresee(**more)
        result = self.bench.step(max_tokens=4, by_ids=more.pop("by_ids", True), **more)
        self.bench.keep(result.reply)
        return told, result

    def restart(self) -> None:
        self.bench.engine.close()
        self.bench.engine = self._open()

    def close(self) -> None:
        self.bench.engine.close()


@pytest.fixture
def talk(request: pytest.FixtureRequest, tiny_model: TinyModel, tmp_path: Path) -> Iterator[Talk]:
    talk = Talk(tiny_model(request.param), tmp_path)
    yield talk
    talk.close()


on_every_kind = pytest.mark.parametrize("talk", MODELS, indirect=True)
on_a_hybrid = pytest.mark.parametrize("talk", ["falcon-h1-dense"], indirect=True)


def fulfilled(told: Foreseen, result: Result) -> Foreseen:
    """What was told came true: tokens, source and reason."""
    prompt, cached, read = result.counts
    started = next(each for each in result.events if isinstance(each, PrefillStarted))
    assert (told.prompt_tokens, told.cached_tokens, told.to_read) == (prompt, cached, read)
    assert (told.source, told.miss_reason) == (started.source, started.miss_reason)
    return told


@on_every_kind
@pytest.mark.parametrize("seed", range(3))
def test_what_is_foretold_comes_true(talk: Talk, seed: int) -> None:
    """After questions, edits, answers anew, other branches, restarts, and states that were dropped."""
    draw = random.Random(seed)
    branches: list[Branch] = []
    for turn in range(14):
        act = draw.choice(["say", "say", "edit", "branch", "again", "restart", "forget"])
        if act == "restart":
            talk.restart()
        elif act == "forget":
            drop_states(talk.bench.engine, draw)
        elif act == "branch" and branches:
            branch = draw.choice(branches)
            talk.take(branch, len(branch[0]))
        elif act in ("edit", "again") and len(talk.bench.messages) > 1:
            asked = draw.randrange(1, len(talk.bench.messages), 2)
            old = talk.bench.messages[asked]["content"]
            talk.take(talk.branch, asked)
            if act == "again":
                fulfilled(*talk.ask(old))
                branches.append(talk.branch)
                continue
        fulfilled(*talk.ask(numbers(1000 * seed + turn, draw.choice([3, 40, 300]))))
        branches.append(talk.branch)


@pytest.mark.parametrize("name", ["llama-dense", "falcon-h1-dense"])
def test_it_comes_true_where_the_budget_makes_room_all_the_time(
    name: str, tiny_model: TinyModel, tmp_path: Path
) -> None:
    talk = Talk(tiny_model(name), tmp_path, budget=2 << 20)
    evicted = 0
    try:
        for turn in range(12):
            fulfilled(*talk.ask(numbers(turn, 120)))
            store = talk.bench.engine.store
            assert store is not None
            evicted += store.stats().last_eviction is not None
            if turn % 3 == 2:
                talk.take(talk.branch, len(talk.bench.messages) - 4)
                talk.restart()
    finally:
        talk.close()
    assert evicted


def drop_states(engine: Engine, draw: random.Random) -> None:
    """Drop some states of the store, as eviction does."""
    assert engine.store is not None
    committer = engine.store._committer
    assert committer is not None
    level = [node for node, _ in engine.store.children(None)]
    while level:
        for node in level:
            if node.has_state and draw.random() < 0.5:
                with committer.index.transaction():
                    committer.index.drop_blob(node.id, Kind.STATE)
        level = [below for node in level for below, _ in engine.store.children(node)]


@on_every_kind
@pytest.mark.parametrize("dropped", [False, True])
def test_the_cost_of_an_edit_is_what_the_edit_costs(talk: Talk, dropped: bool) -> None:
    for turn in range(4):
        talk.ask(numbers(10 + turn, 90))
    if dropped:
        drop_states(talk.bench.engine, random.Random(3))
    talk.restart()
    branch = talk.branch
    edits = {each.message: each for each in talk.tree().edits}
    assert sorted(edits) == list(range(len(branch[0])))
    for asked in range(1, len(branch[0]), 2):
        talk.take(branch, asked)
        told, _ = talk.ask(f"{20 + asked} {numbers(50 + asked, 89)}")
        assert (told.cached_tokens, told.to_read) == (edits[asked].resumes, edits[asked].reads)
        assert told.cached_tokens > 0 or dropped


@on_every_kind
def test_a_tree_is_told_once_for_all_its_branches(talk: Talk) -> None:
    talk.ask(numbers(10, 300))
    first = talk.request()
    middle = len(talk.bench.messages)
    talk.ask(numbers(11, 30))
    other = talk.request()
    talk.take(talk.branch, middle)
    talk.ask(numbers(12, 30))
    tree = talk.tree(other, first)
    ends: dict[int | None, int] = {None: 0}
    for index, node in enumerate(tree.nodes):
        assert node.position - node.tokens == ends[node.parent]
        ends[index] = node.position
    assert {node.branch for node in tree.nodes} == {0, 1}  # the third is part of both
    alone = talk.tree()
    assert alone.nodes == tuple(node for node in tree.nodes if node.branch == 0)
    assert tree.bytes > alone.bytes > 0
    assert (
        tree.live_tokens == talk.bench.engine.lane.position == max(n.position for n in tree.nodes if n.live)
    )
    assert all(node.stored for node in tree.nodes)
    partial = talk.bench.engine.lane.has_partial_state
    assert any(node.has_state for node in tree.nodes) == partial
    assert {node.generated for node in tree.nodes} == {False, True}
    assert 0 < tree.store_bytes <= tree.budget_bytes == 1 << 30
    store = talk.bench.engine.store
    assert store is not None
    assert tree.store_bytes >= store.stats().allocated_bytes


@on_a_hybrid
def test_looking_touches_nothing(talk: Talk) -> None:
    talk.ask(numbers(10, 300))
    engine = talk.bench.engine
    assert engine.store is not None
    before = engine.store._backlog.pending, engine.lane.position, list(engine.lane.edges)
    talk.bench.messages.append({"role": "user", "content": "11 12"})
    talk.foresee()
    talk.tree()
    assert (engine.store._backlog.pending, engine.lane.position, engine.lane.edges) == before


@on_a_hybrid
@pytest.mark.parametrize("for_room", [True, False])
def test_what_is_gone_after_a_look_is_the_reason_then(talk: Talk, *, for_room: bool) -> None:
    talk.ask(numbers(10, 300))
    talk.restart()
    talk.bench.messages.append({"role": "user", "content": numbers(11, 20)})
    told = talk.foresee()
    assert told.cached_tokens > 0
    drop_states(talk.bench.engine, random.Random(1))
    drop_states(talk.bench.engine, random.Random(2))
    store = talk.bench.engine.store
    assert store is not None
    assert store._committer is not None
    assert not store.has_evicted()
    if for_room:
        with store._committer.index.transaction():
            store._committer.index.write_note("last_eviction", "2026-11-30: 2 states")
    assert store.has_evicted() == for_room
    again = fulfilled(talk.foresee(), talk.bench.step(max_tokens=4, by_ids=True))
    assert again.cached_tokens < told.cached_tokens
    assert again.miss_reason is not None
    assert again.miss_reason.kind == ("evicted" if for_room else "not_stored")


@pytest.mark.parametrize("name", MODELS)
def test_without_a_store_the_lane_alone_is_told(name: str, tiny_model: TinyModel) -> None:
    talk = Talk(tiny_model(name), None)
    try:
        for turn in range(3):
            fulfilled(*talk.ask(numbers(10 + turn, 40)))
        tree = talk.tree()
        assert tree.off is not None
        assert (tree.bytes, tree.store_bytes, tree.budget_bytes) == (0, 0, 0)
        assert tree.nodes
        assert all(node.live and not node.stored for node in tree.nodes)
        fulfilled(*talk.ask(numbers(20, 40), cache=False))
    finally:
        talk.close()


@on_a_hybrid
def test_seconds_are_told_once_enough_was_read(talk: Talk) -> None:
    talk.bench.messages = []
    talk.bench.messages.append({"role": "user", "content": "11 12"})
    assert talk.foresee().seconds is None
    talk.bench.step(max_tokens=2, by_ids=True)
    assert talk.foresee().seconds is None  # a few tokens say nothing
    talk.bench.messages.append({"role": "user", "content": numbers(5, 200)})
    talk.bench.step(max_tokens=2, by_ids=True)
    assert talk.foresee().seconds == 0.0  # all of it is there
    talk.bench.messages.append({"role": "user", "content": numbers(6, 400)})
    told = talk.foresee().seconds
    assert told is not None
    assert told > 0


@on_a_hybrid
def test_a_prompt_that_does_not_fit_is_told(talk: Talk) -> None:
    assert talk.foresee().fits
    talk.bench.messages.append({"role": "user", "content": numbers(5, 5000)})
    told = talk.foresee()
    assert not told.fits
    assert told.prompt_tokens > told.context_size == 4096


@on_every_kind
def test_looking_from_another_thread_changes_no_answer(talk: Talk) -> None:
    """Real questions, as fast as they are answered, beside real steps; then the same answers without."""
    done, told, failed = threading.Event(), [], []

    def look(request: StepRequest) -> None:
        try:
            while not done.is_set():
                told.append(talk.outlook.foresee(ForeseeQuestion(request)))
                talk.outlook.tree(TreeQuestion([request]))
        except Exception as error:  # noqa: BLE001 - told to the test
            failed.append(error)

    looker = threading.Thread(target=look, args=(talk.request(),))
    looker.start()
    answers = [talk.ask(numbers(10 + turn, 300))[1].reply.ids for turn in range(4)]
    done.set()
    looker.join(30)
    assert not failed
    assert told
    talk.bench.engine.store.clear()  # type: ignore[union-attr]
    talk.bench.engine.lane.clear()
    talk.bench.messages, talk.bench.answers = talk.bench.messages[:1], {}
    assert [talk.ask(numbers(10 + turn, 300))[1].reply.ids for turn in range(4)] == answers


@on_every_kind
def test_what_is_measured_is_what_is_read(talk: Talk) -> None:
    """Message by message, with the recorded answers' own ids; and nothing is touched by it."""
    for number in (30, 300):
        talk.bench.messages.append({"role": "user", "content": numbers(number, 40)})
        before = talk.bench.engine.lane.position
        measured = talk.outlook.measure(MeasureQuestion(talk.request()))
        assert talk.bench.engine.lane.position == before
        result = talk.bench.step(max_tokens=4, by_ids=True)
        assert measured.prompt_tokens == result.counts[0]
        assert 0 < measured.prompt_tokens - sum(measured.messages) < 10  # the beginning of the answer
        assert len(measured.messages) == len(talk.bench.messages)
        assert 60 <= measured.messages[0] < 70  # with what stands around a message
        assert 40 <= measured.messages[-1] < 50
        talk.bench.keep(result.reply)
