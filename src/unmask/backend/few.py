"""Attention in which few tokens ask a long memory, on PyTorch in one function with a gradient of its own.

`model/attention.py few_ask` is the same step by step, and derives it. Its products are so small for short texts that
recording forty steps for the backward pass takes longer than all of them.
"""

import math
from functools import cache
from typing import Any

from unmask.backend.operations import Tensor, kept, next_seed

_HIDDEN = -1e30


def fused_few_ask(
    query_BLHK: Tensor,
    memory_BMD: Tensor,
    key_DHK: Tensor,
    value_DHK: Tensor,
    value_bias_HK: Tensor,
    allowed: Tensor | None,
    dropout: Any = None,
) -> Tensor:
    """output_BLHK, where `fuses_dropout`.

    Args:
        query_BLHK: what asks.
        memory_BMD: hidden states, whose keys and values are never computed.
        key_DHK: W_K.
        value_DHK: W_V.
        value_bias_HK: what is added to each value.
        allowed: True = may be attended; broadcasts to BHLM, the same for all heads.
        dropout: a rate and a seed generator.
    """
    batch, length, n_heads, _ = query_BLHK.shape
    keep_BLHM = None
    if dropout is not None:
        rate, generator = dropout
        shape_BHLM = (batch, n_heads, length, memory_BMD.shape[1])
        keep_BLHM = kept(shape_BHLM, rate, *next_seed(generator)).transpose(1, 2) * (1 / (1 - rate))
    allowed_BLHM = None if allowed is None else allowed.transpose(1, 2)
    return _few_ask()(query_BLHK, memory_BMD, key_DHK, value_DHK, value_bias_HK, allowed_BLHM, keep_BLHM)


@cache
def _few_ask() -> Any:
    """The function; made when it is first needed, since only then PyTorch is there."""
    import torch

    class FewAsk(torch.autograd.Function):
        """N counts the queries of all texts, R those of one text and all heads."""

        forward = staticmethod(_forward)
        backward = staticmethod(torch.autograd.function.once_differentiable(_backward))

    return FewAsk.apply


def _forward(
    ctx: Any,
    query_BLHK: Tensor,
    memory_BMD: Tensor,
    key_DHK: Tensor,
    value_DHK: Tensor,
    value_bias_HK: Tensor,
    allowed_BLHM: Tensor | None,
    keep_BLHM: Tensor | None,
) -> Tensor:
    import torch

    batch, length, _, width = query_BLHK.shape
    scaled_HNK = _by_heads(query_BLHK) * (1 / math.sqrt(width))
    asking_BRD = _by_texts(torch.bmm(scaled_HNK, key_DHK.permute(1, 2, 0)), batch)
    weights_BLHM = torch.bmm(asking_BRD, memory_BMD.transpose(1, 2)).view(batch, length, -1, memory_BMD.shape[1])
    if allowed_BLHM is not None:
        weights_BLHM.masked_fill_(~allowed_BLHM, _HIDDEN)
    torch.softmax(weights_BLHM, -1, out=weights_BLHM)
    if allowed_BLHM is not None:
        weights_BLHM.mul_(allowed_BLHM)  # who may attend to nothing gets zeros
    dropped_BLHM = weights_BLHM if keep_BLHM is None else weights_BLHM * keep_BLHM
    share_BLH1 = dropped_BLHM.sum(-1, keepdim=True)
    summed_BRD = torch.bmm(dropped_BLHM.flatten(1, 2), memory_BMD)
    summed_HND = _by_heads(summed_BRD.view(batch, length, -1, memory_BMD.shape[2]))
    output_HNK = torch.bmm(summed_HND, value_DHK.transpose(0, 1))
    ctx.save_for_backward(
        *(scaled_HNK, memory_BMD, key_DHK, value_DHK, value_bias_HK, keep_BLHM),
        *(asking_BRD, weights_BLHM, dropped_BLHM, share_BLH1, summed_HND),
    )
    return torch.addcmul(_by_texts(output_HNK, batch).view(query_BLHK.shape), share_BLH1, value_bias_HK)


def _backward(ctx: Any, gradient_BLHK: Tensor) -> tuple[Tensor | None, ...]:
    import torch

    scaled_HNK, memory_BMD, key_DHK, value_DHK, value_bias_HK, keep_BLHM, *made = ctx.saved_tensors
    asking_BRD, weights_BLHM, dropped_BLHM, share_BLH1, summed_HND = made
    batch, length = gradient_BLHK.shape[:2]
    gradient_HNK = _by_heads(gradient_BLHK)
    of_value_HDK = torch.bmm(summed_HND.transpose(1, 2), gradient_HNK)
    of_bias_HK = (gradient_BLHK * share_BLH1).sum((0, 1))
    of_share_BLH1 = (gradient_BLHK * value_bias_HK).sum(-1, keepdim=True)
    of_summed_BRD = _by_texts(torch.bmm(gradient_HNK, value_DHK.permute(1, 2, 0)), batch)
    of_weights_BLHM = torch.bmm(of_summed_BRD, memory_BMD.transpose(1, 2)).view(weights_BLHM.shape).add_(of_share_BLH1)
    if keep_BLHM is not None:
        of_weights_BLHM.mul_(keep_BLHM)
    of_scores_BLHM = torch._softmax_backward_data(of_weights_BLHM, weights_BLHM, -1, weights_BLHM.dtype)
    dropped_BRM, of_scores_BRM = dropped_BLHM.flatten(1, 2), of_scores_BLHM.flatten(1, 2)
    of_memory_BMD = torch.bmm(dropped_BRM.transpose(1, 2), of_summed_BRD)
    of_memory_BMD.baddbmm_(of_scores_BRM.transpose(1, 2), asking_BRD)
    of_asking_BRD = torch.bmm(of_scores_BRM, memory_BMD)
    of_asking_HND = _by_heads(of_asking_BRD.view(batch, length, -1, memory_BMD.shape[2]))
    of_key_HDK = torch.bmm(of_asking_HND.transpose(1, 2), scaled_HNK)
    of_query_HNK = torch.bmm(of_asking_HND, key_DHK.transpose(0, 1)) * (1 / math.sqrt(gradient_BLHK.shape[3]))
    of_query_BLHK = _by_texts(of_query_HNK, batch).view(gradient_BLHK.shape)
    of_key_DHK, of_value_DHK = of_key_HDK.transpose(0, 1), of_value_HDK.transpose(0, 1)
    return of_query_BLHK, of_memory_BMD, of_key_DHK, of_value_DHK, of_bias_HK, None, None


def _by_heads(x_BLHX: Tensor) -> Tensor:
    """x_HNX."""
    _, _, n_heads, width = x_BLHX.shape
    return x_BLHX.permute(2, 0, 1, 3).reshape(n_heads, -1, width)


def _by_texts(x_HNX: Tensor, batch: int) -> Tensor:
    """x_BRX."""
    n_heads, _, width = x_HNX.shape
    return x_HNX.view(n_heads, batch, -1, width).permute(1, 2, 0, 3).reshape(batch, -1, width)
