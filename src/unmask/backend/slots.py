"""Tokens into the slots of a rectangle, and back: each has a slot of its own, and the other slots are padding."""

from functools import cache
from typing import Any

import numpy as np

from unmask.backend.choice import current
from unmask.backend.operations import Tensor


def into_slots(x_NX: Tensor, slot_of_N: Tensor, n_slots: int) -> Tensor:
    """x_MX: each token in its slot, zeros in the slots of padding.

    Args:
        x_NX: the tokens, whatever belongs to each.
        slot_of_N: the slot of each token, no two the same.
        n_slots: M.
    """
    from keras import ops

    if current() == "torch":
        return _torch_functions()[0](x_NX, slot_of_N, n_slots)
    nothing_MX = ops.zeros((n_slots, *x_NX.shape[1:]), x_NX.dtype)
    return ops.scatter_update(nothing_MX, ops.expand_dims(slot_of_N, -1), x_NX)


def out_of_slots(x_MX: Tensor, slot_of_N: Tensor) -> Tensor:
    """x_NX: the tokens, without padding."""
    from keras import ops

    return _torch_functions()[1](x_MX, slot_of_N) if current() == "torch" else ops.take(x_MX, slot_of_N, axis=0)


@cache
def _torch_functions() -> tuple[Any, Any]:
    """Each is the other's gradient; PyTorch's own gradient adds row by row, as if tokens could share a slot."""
    import torch

    def put(x_NX: Tensor, slot_of_N: Tensor, n_slots: int) -> Tensor:
        """Each slot takes its token, which is three times as fast as each token going to its slot."""
        if x_NX.device.type != "cpu":
            return x_NX.new_zeros(n_slots, *x_NX.shape[1:]).index_copy_(0, slot_of_N, x_NX)
        token_of_M = np.full(n_slots, -1)
        token_of_M[slot_of_N.numpy()] = np.arange(len(x_NX))
        padding = np.flatnonzero(token_of_M < 0)
        x_MX = x_NX.index_select(0, torch.from_numpy(np.maximum(token_of_M, 0)))
        return x_MX.index_fill_(0, torch.from_numpy(padding), 0)

    class IntoSlots(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x_NX: Tensor, slot_of_N: Tensor, n_slots: int) -> Tensor:
            ctx.save_for_backward(slot_of_N)
            return put(x_NX, slot_of_N, n_slots)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, gradient_MX: Tensor) -> tuple[Tensor, None, None]:
            return gradient_MX.index_select(0, ctx.saved_tensors[0]), None, None

    class OutOfSlots(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x_MX: Tensor, slot_of_N: Tensor) -> Tensor:
            ctx.save_for_backward(slot_of_N)
            ctx.n_slots = len(x_MX)
            return x_MX.index_select(0, slot_of_N)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, gradient_NX: Tensor) -> tuple[Tensor, None]:
            return put(gradient_NX, ctx.saved_tensors[0], ctx.n_slots), None

    return IntoSlots.apply, OutOfSlots.apply
