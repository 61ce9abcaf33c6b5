"""What a batch costs, and its gradient: rows a few at a time behind a prefix that is read once.

Invariant: the gradient is that of all rows together, whatever the number of rows at a time; with ``through_prefix`` it
also reaches the branches through what they made of the system prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor
from torch.nn import functional

from training.encode import Encoded, Row
from training.hybrid import Hybrid, LayerPast
from training.mixer import Memory

AT_ONCE = 4  # rows; they are sorted by length first, so that little is padded


@dataclass(frozen=True, slots=True)
class Cost:
    """Means over a batch: ``words`` of what is learnt by the letter, ``base`` of the distance from the base."""

    words: float
    base: float
    tokens: int
    counted: int


def learn(model: Hybrid, batch: Encoded, *, through_prefix: bool) -> Cost:
    """Add the batch's gradient to the model's, and return its cost."""
    with torch.set_grad_enabled(through_prefix):
        _, past = model(torch.tensor([batch.prefix]))
    leaves = [_leaf(layer, wanted=through_prefix) for layer in past]
    plain = _plain_past(model, batch)
    total = sum(sum(row.weights) for row in batch.rows) or 1.0
    words = base = 0.0
    for rows in _portions(batch.rows):
        hidden, ids, weights, keeps = _read(model, rows, leaves)
        picked = weights > 0
        logits = model.logits(hidden[picked])
        kept = keeps[:, None].expand_as(picked)[picked]
        costs = functional.cross_entropy(logits, ids[picked], reduction="none")
        share = weights[picked] / total
        if kept.any():
            with torch.no_grad():
                teacher = model.logits(_read(model, rows, plain, branch=False)[0][picked][kept])
            costs = costs.clone()
            costs[kept] = _distance(logits[kept], teacher)
        shares = costs * share
        shares.sum().backward()
        words += float(shares.detach()[~kept].sum())
        base += float(shares.detach()[kept].sum())
    if through_prefix:
        _back_through(past, leaves)
    counted = sum(sum(weight > 0 for weight in row.weights) for row in batch.rows)
    return Cost(words, base, len(batch.prefix) + sum(len(row.ids) for row in batch.rows), counted)


@dataclass(frozen=True, slots=True)
class Measured:
    """Sums over a batch: ``nats`` of the ``tokens`` that count, and of the ``calls`` in it how many are ``right``.

    A call is right when every token of it is the likeliest: greedily the model would write it to the letter.
    """

    nats: float = 0.0
    tokens: int = 0
    calls: int = 0
    right: int = 0

    def __add__(self, other: Measured) -> Measured:
        return Measured(
            self.nats + other.nats,
            self.tokens + other.tokens,
            self.calls + other.calls,
            self.right + other.right,
        )


@torch.no_grad()  # type: ignore[untyped-decorator]
def measure(model: Hybrid, batch: Encoded, opening: Sequence[int] = ()) -> Measured:
    """Return what a batch costs, and how many of the answers that begin with ``opening`` are right to the letter."""
    _, past = model(torch.tensor([batch.prefix]))
    total = Measured()
    for rows in _portions(batch.rows):
        hidden, ids, weights, _ = _read(model, rows, past)
        picked = weights > 0
        logits = model.logits(hidden[picked])
        nats = float(functional.cross_entropy(logits, ids[picked], reduction="sum"))
        hit = torch.zeros_like(picked)
        hit[picked] = logits.argmax(-1) == ids[picked]
        calls = [
            bool(hit[row, start:end].all())
            for row in range(len(rows))
            for start, end in _answers(picked[row].tolist())
            if tuple(ids[row, start : start + len(opening)].tolist()) == tuple(opening)
        ]
        total += Measured(nats, int(picked.sum()), len(calls), sum(calls))
    return total


def _answers(counts: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Return where runs of counted tokens begin and end."""
    for counted, run in groupby(range(len(counts)), key=counts.__getitem__):
        if counted:
            places = list(run)
            yield places[0], places[-1] + 1


def _portions(rows: Sequence[Row]) -> Iterator[list[Row]]:
    ordered = sorted(rows, key=lambda row: len(row.ids))
    for start in range(0, len(ordered), AT_ONCE):
        yield ordered[start : start + AT_ONCE]


def _read(
    model: Hybrid, rows: Sequence[Row], past: list[LayerPast], *, branch: bool = True
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Read rows; returns hidden states, and what each is to predict, with what weight, and whether the base is kept."""
    length = max(len(row.ids) for row in rows)
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    weights = torch.zeros(len(rows), length)
    for index, row in enumerate(rows):
        ids[index, : len(row.ids)] = torch.tensor(row.ids)
        weights[index, : len(row.ids)] = torch.tensor(row.weights)
    hidden, _ = model(ids[:, :-1], past, branch=branch)
    return hidden, ids[:, 1:], weights[:, 1:], torch.tensor([row.keeps_base for row in rows])


def _distance(logits: Tensor, teacher: Tensor) -> Tensor:
    """Return the divergence of each row of logits from the teacher's."""
    target = functional.log_softmax(teacher, dim=-1)
    return functional.kl_div(
        functional.log_softmax(logits, dim=-1), target, reduction="none", log_target=True
    ).sum(-1)


def _plain_past(model: Hybrid, batch: Encoded) -> list[LayerPast]:
    if not any(row.keeps_base for row in batch.rows):
        return []
    with torch.no_grad():
        past: list[LayerPast] = model(torch.tensor([batch.plain_prefix]), branch=False)[1]
    return past


def _leaf(layer: LayerPast, *, wanted: bool) -> LayerPast:
    def cut(tensor: Tensor) -> Tensor:
        return tensor.detach().requires_grad_(wanted)

    memory = layer.memory
    assert memory is not None
    return LayerPast(cut(layer.keys), cut(layer.values), Memory(cut(memory.inputs), cut(memory.state)))


def _tensors(layer: LayerPast) -> list[Tensor]:
    memory = layer.memory
    assert memory is not None
    return [layer.keys, layer.values, memory.inputs, memory.state]


def _back_through(past: list[LayerPast], leaves: list[LayerPast]) -> None:
    """Carry the gradient that reached the prefix's memory on, through its reading."""
    ends: list[Tensor] = []
    pulls: list[Tensor] = []
    for layer, leaf in zip(past, leaves, strict=True):
        for end, cut in zip(_tensors(layer), _tensors(leaf), strict=True):
            if end.requires_grad and cut.grad is not None:
                ends.append(end)
                pulls.append(cut.grad)
    if ends:
        torch.autograd.backward(ends, pulls)
