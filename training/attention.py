"""Attention of many rows to one shared prefix and to themselves, without a copy of the prefix for each row.

The plain kernel wants keys and values once per row, and on these processors takes longer than all matrix products of
the layers together. Here the rows' queries meet the prefix in one large product. Invariant: the same softmax over
prefix and own tokens together as if they stood in one sequence.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class _Shared(torch.autograd.Function):  # type: ignore[misc]
    """See ``attend_shared``; scores and softmax are in float32, the other products in the inputs' precision."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, prefix_k: Tensor, prefix_v: Tensor) -> Tensor:
        batch, _, count, width = q.shape
        groups = k.shape[1]
        scale = width**-0.5
        grouped = q.unflatten(1, (groups, -1))  # (batch, groups, heads of a group, tokens, width)
        flat = grouped.permute(1, 0, 2, 3, 4).reshape(groups, -1, width)
        far = torch.bmm(flat.float() * scale, prefix_k[0].float().transpose(1, 2))
        own = grouped.reshape(batch * groups, -1, width)
        near = torch.bmm(own.float() * scale, k.flatten(0, 1).float().transpose(1, 2))
        ahead = torch.ones(count, count, dtype=torch.bool).triu(1)
        near = near.unflatten(1, (-1, count)).masked_fill_(ahead, float("-inf")).flatten(1, 2)
        near = near.unflatten(0, (batch, groups)).transpose(0, 1).reshape(groups, -1, count)
        top = torch.maximum(far.amax(-1), near.amax(-1))[..., None]
        far, near = far.sub_(top).exp_(), near.sub_(top).exp_()
        part = 1 / (far.sum(-1, keepdim=True) + near.sum(-1, keepdim=True))
        # The weights are left as they are, and what comes of them is scaled: the large matrix is gone over once less.
        far, near = far.to(q.dtype), near.to(q.dtype)
        out = torch.bmm(far, prefix_v[0]) + _by_row(near, batch, groups, v)
        out = (out * part).to(q.dtype)
        ctx.save_for_backward(q, k, v, prefix_k, prefix_v, far, near, part, out)
        return _ungrouped(out, batch, count)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        q, k, v, prefix_k, prefix_v, far, near, part, out = ctx.saved_tensors
        batch, _, count, width = q.shape
        groups = k.shape[1]
        scale = width**-0.5
        flat = q.unflatten(1, (groups, -1)).permute(1, 0, 2, 3, 4).reshape(groups, -1, width)
        pull = grad.unflatten(1, (groups, -1)).permute(1, 0, 2, 3, 4).reshape(groups, -1, width)
        share = ((pull.float() * out.float()).sum(-1, keepdim=True) * part).to(q.dtype)
        pull = (pull * part).to(q.dtype)
        far_pull = torch.bmm(pull, prefix_v[0].transpose(1, 2)).sub_(share).mul_(far)
        near_pull = _by_row(pull, batch, groups, v.transpose(2, 3)).sub_(share).mul_(near)
        q_grad = (torch.bmm(far_pull, prefix_k[0]) + _by_row(near_pull, batch, groups, k)) * scale
        k_grad = _to_row(near_pull, batch, flat) * scale
        v_grad = _to_row(near, batch, pull)
        prefix_k_grad = prefix_v_grad = None
        if ctx.needs_input_grad[3]:
            prefix_k_grad = (torch.bmm(far_pull.transpose(1, 2), flat) * scale)[None]
        if ctx.needs_input_grad[4]:
            prefix_v_grad = torch.bmm(far.transpose(1, 2), pull)[None]
        return _ungrouped(q_grad, batch, count), k_grad, v_grad, prefix_k_grad, prefix_v_grad


def attend_shared(q: Tensor, k: Tensor, v: Tensor, prefix_k: Tensor, prefix_v: Tensor) -> Tensor:
    """Return what rows see of a prefix and, causally, of themselves: (batch, heads, tokens, width).

    ``k`` and ``v`` (batch, groups, tokens, width), ``prefix_k`` and ``prefix_v`` (1, groups, prefix, width).
    """
    out: Tensor = _Shared.apply(q, k, v, prefix_k, prefix_v)
    return out


def _by_row(weights: Tensor, batch: int, groups: int, values: Tensor) -> Tensor:
    """Multiply each row's weights (groups, batch x heads x tokens, n) with its own values (batch, groups, n, m)."""
    rows = weights.unflatten(1, (batch, -1)).transpose(0, 1).flatten(0, 1)
    return torch.bmm(rows, values.flatten(0, 1)).unflatten(0, (batch, groups)).transpose(0, 1).flatten(1, 2)


def _to_row(weights: Tensor, batch: int, values: Tensor) -> Tensor:
    """Multiply transposed weights with values, row by row: (batch, groups, n, m)."""
    rows = weights.unflatten(1, (batch, -1)).transpose(0, 1)
    others = values.unflatten(1, (batch, -1)).transpose(0, 1)
    return torch.matmul(rows.transpose(2, 3), others)


def _ungrouped(flat: Tensor, batch: int, count: int) -> Tensor:
    groups, _, width = flat.shape
    return flat.reshape(groups, batch, -1, count, width).transpose(0, 1).reshape(batch, -1, count, width)
