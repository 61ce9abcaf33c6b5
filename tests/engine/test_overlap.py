"""Two requests at once on one real worker: neither hurts the other, and coming back costs a restore only."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from skippy_chat.engine.client import EngineClient
from skippy_chat.engine.protocol import LoadRequest, RecordedAnswer, StepReply, StepRequest
from skippy_chat.engine.watch import Limits
from skippy_chat.errors import CheckpointError, EngineDied, SkippyError
from skippy_chat.events import Event, PrefillStarted, StepFinished, TextDelta
from skippy_chat.sampling import Sampling
from tests.engine.engines import numbers

pytestmark = [pytest.mark.native, pytest.mark.model]

TinyModel = Callable[[str], Path]
Item = Event | StepReply

WAIT = 200.0
HEAD = [
    {"role": "system", "content": "You are a friendly assistant who answers at length. " * 25},
    {"role": "user", "content": "Hello, who are you?"},
]
LONG = {"role": "user", "content": "Tell me a long story of the sea."}
TITLE = {"role": "user", "content": "Give this conversation a title of a few words."}


@dataclass
class Read:
    """What a request gave, read on a thread of its own."""

    items: Iterable[Item]
    got: list[Item] = field(default_factory=list)
    error: SkippyError | None = None
    spoke: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> Read:
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def _run(self) -> None:
        try:
            for item in self.items:
                self.got.append(item)
                if isinstance(item, TextDelta):
                    self.spoke.set()
        except SkippyError as error:
            self.error = error
        finally:
            self.spoke.set()

    def end(self) -> Read:
        assert self._thread is not None
        self._thread.join(WAIT)
        assert not self._thread.is_alive()
        return self

    @property
    def reply(self) -> StepReply:
        assert self.error is None, self.error
        assert isinstance(self.got[-1], StepReply)
        return self.got[-1]

    @property
    def finished(self) -> StepFinished:
        (finished,) = [each for each in self.got if isinstance(each, StepFinished)]
        return finished

    @property
    def counts(self) -> tuple[int, int, int]:
        """Prompt, cached and prefilled tokens."""
        usage = self.finished.usage
        return usage.prompt_tokens, usage.cached_tokens, usage.prefilled_tokens

    def at(self, kind: type[Event]) -> int:
        """When the first event of a kind was told, in milliseconds."""
        return next(each.at_ms for each in self.got if isinstance(each, kind))

    @property
    def turns(self) -> set[str]:
        return {each.turn for each in self.got if isinstance(each, Event)}


def read(items: Iterable[Item]) -> Read:
    return Read(items).start().end()


def ask(turn: str, *messages: dict[str, str], **more: object) -> StepRequest:
    asked = StepRequest(
        "s", turn, list(messages), Sampling(temperature=0.0), max_tokens=8, digest_logits=True
    )
    return replace(asked, **more)  # type: ignore[arg-type]


def load(client: EngineClient, model: Path, folder: Path, **more: object) -> None:
    request = LoadRequest(
        model=str(model),
        checkpoints=str(folder / "tree"),
        digests=str(folder / "digests.json"),
        proofs=str(folder / "proofs"),
        context=2048,
        threads=1,
        flash_attention="auto",
        disk_budget=1 << 30,
    )
    client.load(replace(request, **more), lambda what, done, total: None)  # type: ignore[arg-type]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[EngineClient]:
    started = EngineClient(tmp_path / "worker.log")
    yield started
    started.close()


@pytest.fixture
def loaded(client: EngineClient, default_model: Path, tmp_path: Path) -> EngineClient:
    load(client, default_model, tmp_path)
    return client


def test_released_at_the_same_moment_the_conversation_goes_first(loaded: EngineClient) -> None:
    barrier = threading.Barrier(2)

    def released(request: StepRequest, *, aside: bool) -> Iterator[Item]:
        barrier.wait(WAIT)
        yield from loaded.run(request, aside=aside)

    side = Read(released(ask("title", *HEAD, TITLE), aside=True)).start()
    main = Read(released(ask("answer", *HEAD), aside=False)).start().end()
    side.end()
    assert (main.turns, side.turns - {"answer"}) == ({"answer"}, {"title"})
    assert main.reply.finish_reason != "cancelled"
    if side.reply.gave_way:
        side = read(loaded.run(ask("title", *HEAD, TITLE), aside=True))
    assert side.at(PrefillStarted) >= main.at(StepFinished)
    for each in (main, side):
        prompt, cached, prefilled = each.counts
        assert cached + prefilled == prompt
    # All that both have in common was read once.
    assert side.counts[2] < 60
    probe = read(loaded.run(ask("probe", *HEAD)))
    assert probe.counts == (main.counts[0], main.counts[0], 0)
    assert probe.reply.logits_digest == main.reply.logits_digest


def test_a_side_request_that_runs_gives_way(loaded: EngineClient) -> None:
    read(loaded.run(ask("first", *HEAD)))
    story = ask("story", *HEAD, LONG, max_tokens=1500)
    side = Read(loaded.run(story, aside=True)).start()
    assert side.spoke.wait(WAIT)
    main = read(loaded.run(ask("first", *HEAD)))
    side.end()
    assert (side.reply.finish_reason, side.reply.gave_way) == ("cancelled", True)
    assert main.counts[2] == 0
    assert main.at(PrefillStarted) >= side.at(StepFinished)
    again = read(loaded.run(replace(story, max_tokens=4), aside=True))
    assert (again.reply.finish_reason, again.reply.gave_way) == ("length", False)
    assert again.counts[2] == 0  # what it had read the first time was kept


@pytest.mark.parametrize("name", ["falcon-h1-dense", "llama-dense", "mamba-dense", "lfm2-dense"])
def test_coming_back_costs_no_prefill_and_moves_no_bit(
    name: str, client: EngineClient, tiny_model: TinyModel, tmp_path: Path
) -> None:
    """A conversation with a side request between its turns, and the same one without: equal in every count and bit."""
    load(client, tiny_model(name), tmp_path)
    turns = []
    for tree, disturbed in (("calm", False), ("disturbed", True)):
        first = [{"role": "system", "content": f"{numbers(1, 60)} {11 if disturbed else 12}"}]
        first.append({"role": "user", "content": numbers(2, 20)})
        one = read(client.run(ask(tree, *first, by_ids=True)))
        if disturbed:
            aside = [*first, {"role": "assistant", "content": one.reply.text}]
            aside.append({"role": "user", "content": numbers(3, 30)})
            request = ask("aside", *aside, by_ids=True, answers={2: one.reply.recorded()}, record=False)
            side = read(client.run(request, aside=True))
            assert side.counts[1] == one.finished.usage.context_tokens
            other = ask("other", {"role": "user", "content": numbers(9, 50)}, by_ids=True, record=False)
            assert read(client.run(other, aside=True)).counts[1] == 0
        second = [*first, {"role": "assistant", "content": one.reply.text}]
        second.append({"role": "user", "content": numbers(4, 25)})
        answers: dict[int, RecordedAnswer] = {2: one.reply.recorded()}
        two = read(client.run(ask(tree, *second, by_ids=True, answers=answers)))
        assert two.counts[1] == one.finished.usage.context_tokens
        turns.append(two)
    calm, disturbed_turn = turns
    assert disturbed_turn.finished.cache.source == "disk"
    assert calm.finished.cache.source == "live"
    assert calm.counts == disturbed_turn.counts


def test_the_turn_after_a_side_request_is_the_one_without_it(
    loaded: EngineClient, default_model: Path, tmp_path: Path
) -> None:
    def converse(client: EngineClient, *, disturbed: bool) -> Read:
        one = read(client.run(ask("one", *HEAD)))
        known = [*HEAD, {"role": "assistant", "content": one.reply.text}]
        answers = {2: one.reply.recorded()}
        if disturbed:
            title = ask("title", *known, TITLE, answers=answers, record=False)
            side = read(client.run(title, aside=True))
            assert side.counts[1] >= one.counts[0]
        return read(client.run(ask("two", *known, LONG, answers=answers)))

    disturbed = converse(loaded, disturbed=True)
    other = EngineClient(tmp_path / "other.log")
    try:
        load(other, default_model, tmp_path, checkpoints=str(tmp_path / "other-tree"))
        calm = converse(other, disturbed=False)
    finally:
        other.close()
    assert disturbed.counts == calm.counts
    assert disturbed.reply.ids == calm.reply.ids
    assert disturbed.reply.logits_digest == calm.reply.logits_digest


def test_two_of_the_conversation_are_answered_in_the_order_they_came(loaded: EngineClient) -> None:
    one = Read(loaded.run(ask("one", *HEAD, LONG, max_tokens=1500))).start()
    assert one.spoke.wait(WAIT)
    two = Read(loaded.run(ask("two", *HEAD))).start()
    while not loaded._exchange.numbers("two"):
        assert two._thread is not None
        two._thread.join(0.01)
    loaded.cancel("one")
    one.end()
    two.end()
    assert one.reply.finish_reason == "cancelled"
    assert not one.reply.gave_way
    assert two.reply.finish_reason != "cancelled"
    assert two.at(PrefillStarted) >= one.at(StepFinished)
    assert two.turns - {"one"} == {"two"}


def test_one_that_is_given_up_disturbs_no_other(loaded: EngineClient) -> None:
    left = loaded.run(ask("left", *HEAD, LONG, max_tokens=1500))
    assert any(isinstance(item, TextDelta) for item in left)
    other = Read(loaded.run(ask("other", *HEAD))).start()
    left.close()
    other.end()
    assert other.reply.finish_reason != "cancelled"
    assert {each.turn for each in other.got if isinstance(each, (TextDelta, StepFinished))} == {"other"}


def test_a_side_request_is_refused_where_nothing_is_stored(
    client: EngineClient, default_model: Path, tmp_path: Path
) -> None:
    load(client, default_model, tmp_path, cache=False)
    one = read(client.run(ask("one", *HEAD)))
    side = read(client.run(ask("title", *HEAD, TITLE), aside=True))
    assert isinstance(side.error, CheckpointError)
    assert side.got == []
    known = [*HEAD, {"role": "assistant", "content": one.reply.text}, LONG]
    two = read(client.run(ask("two", *known, answers={2: one.reply.recorded()})))
    assert two.finished.cache.source == "live"
    assert two.counts[1] == one.finished.usage.context_tokens


def test_both_hear_of_a_death_once(loaded: EngineClient) -> None:
    main = Read(loaded.run(ask("story", *HEAD, LONG, max_tokens=1500))).start()
    assert main.spoke.wait(WAIT)
    side = Read(loaded.run(ask("title", *HEAD, TITLE), aside=True)).start()
    os.kill(loaded.pid, signal.SIGKILL)
    for each in (main.end(), side.end()):
        assert isinstance(each.error, EngineDied)
        assert "signal 9" in each.error.message
    later = read(loaded.run(ask("later", *HEAD)))
    assert isinstance(later.error, EngineDied)


def test_one_that_waits_behind_a_slow_one_is_not_taken_for_hung(default_model: Path, tmp_path: Path) -> None:
    """The slow one computes for twelve seconds in one batch; neither's patience is longer than ten without a sign."""
    command = (sys.executable, "-m", "tests.engine.faulty_worker", "spin", "4", str(tmp_path / "mark"))
    client = EngineClient(tmp_path / "worker.log", command=command)
    try:
        load(client, default_model, tmp_path)
        # Not from the start: starting and loading take as long as they take.
        client._limits = Limits(silence=60.0, idle=10.0)
        main = Read(client.run(ask("slow", *HEAD))).start()
        side = Read(client.run(ask("title", *HEAD, TITLE), aside=True)).start()
        main.end()
        side.end()
        if side.reply.gave_way:
            side = read(client.run(ask("title", *HEAD, TITLE), aside=True))
        assert (tmp_path / "mark").exists()
        assert main.reply.finish_reason != "cancelled"
        assert side.reply.finish_reason != "cancelled"
    finally:
        client.close()
