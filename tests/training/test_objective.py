"""Learning: gradients do not depend on how rows are taken, checkpoints go on exactly, and the loss goes down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skippy_chat.models.branch import BranchShape
from tests.models.small import VOCABULARY, small_llama

torch = pytest.importorskip("torch", reason="torch is not installed here; see training/README.md")

from training import objective  # noqa: E402 - after the skip
from training.base import BaseWeights  # noqa: E402
from training.encode import Encoded, Row  # noqa: E402
from training.hybrid import Hybrid  # noqa: E402
from training.objective import learn, measure  # noqa: E402
from training.saving import Progress, load, save  # noqa: E402

SHAPE = BranchShape(inner=32, state=16, heads=2, gated_norm=True)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def model(tmp_path: Path) -> Any:
    base = tmp_path / "base.gguf"
    small_llama(base)
    return Hybrid(BaseWeights(base), SHAPE, precision=torch.float32, seed=4)


def batch(*, keeps_base: bool = False) -> Encoded:
    random = np.random.default_rng(9)

    def ids(count: int) -> tuple[int, ...]:
        return tuple(int(each) for each in random.integers(0, VOCABULARY, count))

    rows = tuple(
        Row(
            ids(count), tuple(float(index > count // 2) for index in range(count)), keeps_base and count == 17
        )
        for count in (9, 30, 17, 21, 12, 26)
    )
    return Encoded(ids(40), ids(6), rows)


def awake(model: Any) -> Any:
    generator = torch.Generator().manual_seed(2)
    for mixer in model.mixers:
        mixer.project_out.data += torch.randn(mixer.project_out.shape, generator=generator) * 0.1
    return model


def gradient(model: Any, *, through_prefix: bool, keeps_base: bool = False) -> list[Any]:
    model.zero_grad(set_to_none=True)
    learn(model, batch(keeps_base=keeps_base), through_prefix=through_prefix)
    return [weight.grad.clone() for weight in model.mixers.parameters() if weight.grad is not None]


@pytest.mark.parametrize("through_prefix", [False, True])
def test_rows_may_be_taken_in_any_portions(
    model: Any, monkeypatch: pytest.MonkeyPatch, *, through_prefix: bool
) -> None:
    awake(model)
    found = []
    for at_once in (1, 6):
        monkeypatch.setattr(objective, "AT_ONCE", at_once)
        found.append(gradient(model, through_prefix=through_prefix, keeps_base=True))
    for one, two in zip(*found, strict=True):
        assert (one - two).abs().max() <= 2e-4 * one.abs().max() + 1e-9


def test_the_prefix_has_a_share_in_the_gradient(model: Any) -> None:
    awake(model)
    near, far = (gradient(model, through_prefix=each) for each in (False, True))
    assert any((one - two).abs().max() > 1e-3 * one.abs().max() for one, two in zip(near, far, strict=True))


def test_a_sleeping_branch_is_at_no_distance_from_the_base(model: Any) -> None:
    """Only if the prefix is the same with and without tools, as here."""
    made = batch(keeps_base=True)
    same = Encoded(made.prefix, made.prefix, made.rows)
    assert learn(model, same, through_prefix=False).base == pytest.approx(0, abs=1e-6)
    assert learn(awake(model), same, through_prefix=False).base > 1e-3


def test_what_is_trained_for_is_learnt_and_a_checkpoint_goes_on_exactly(model: Any, tmp_path: Path) -> None:
    def optimizer() -> Any:
        return torch.optim.AdamW([each for each in model.mixers.parameters() if each.requires_grad], lr=1e-2)

    def step(learner: Any) -> float:
        learner.zero_grad(set_to_none=True)
        cost = learn(model, batch(), through_prefix=True)
        learner.step()
        return cost.words

    learner = optimizer()
    costs = [step(learner) for _ in range(12)]
    assert costs[-1] < 0.6 * costs[0]
    save(tmp_path / "last.pt", model, learner, Progress(12, 3.5, 0.7, 10))
    went_on = [step(learner) for _ in range(3)]
    again = optimizer()
    assert load(tmp_path / "last.pt", model, again) == Progress(12, 3.5, 0.7, 10)
    assert [step(again) for _ in range(3)] == went_on
    assert not list(tmp_path.glob(".*.part"))


def test_measuring_is_the_same_cost(model: Any) -> None:
    made = batch()
    found = measure(model, made)
    cost = found.nats / found.tokens
    assert cost == pytest.approx(learn(model, made, through_prefix=False).words, rel=1e-5)


def test_a_call_is_right_when_each_of_its_tokens_is_the_likeliest(model: Any) -> None:
    prefix, prompt = (3, 5, 8), (1, 4, 9)

    def likeliest(*ids: int) -> int:
        with torch.no_grad():
            return int(model.logits(model(torch.tensor([[*prefix, *ids]]))[0][0, -1]).argmax())

    first = likeliest(*prompt)
    second = likeliest(*prompt, first)
    other = (second + 1) % VOCABULARY

    def right(last: int, *opening: int) -> tuple[int, int]:
        row = Row((*prompt, first, last), (0.0, 0.0, 0.0, 1.0, 2.0), False)
        found = measure(model, Encoded(prefix, prefix, (row,)), opening)
        return found.right, found.calls

    assert right(second) == (1, 1)
    assert right(other) == (0, 1)
    assert right(second, first) == (1, 1)
    assert right(second, first + 1) == (0, 0)
