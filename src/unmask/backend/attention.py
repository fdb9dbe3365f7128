"""Attention in the backend's own kernels; and, for PyTorch on a CPU, with dropout, some rows of the batch at a time.

PyTorch's fused kernel for CPUs knows no dropout, and computing step by step writes the weights of all texts and heads,
B·H·L·M numbers, to memory about ten times. Here the weights of one long text, or of some short ones, are made, used and
forgotten before the next ones': they stay in the processor's cache. The backward pass makes them again, as
FlashAttention does (Dao et al. 2022).
"""

import math
from collections.abc import Iterator
from typing import Any

from unmask.backend.choice import current
from unmask.backend.operations import Tensor, kept

_IN_CACHE = 1 << 17
"""Numbers, half a megabyte, that stay in a core's cache while they are worked on."""


def fused_attention(
    query_BLHK: Tensor, key_BMHK: Tensor, value_BMHK: Tensor, allowed: Tensor | None, dropout: Any = None
) -> Tensor:
    """softmax(QKᵀ / √d_k) V; a row that may attend to nothing gives zeros.

    Args:
        query_BLHK: what asks.
        key_BMHK: what it is compared with.
        value_BMHK: what is summed up.
        allowed: True = may be attended; broadcasts to BHLM.
        dropout: a rate and a seed generator, where `fuses_dropout` says that the backend can do it.
    """
    from keras import ops

    if current() == "torch":
        query, key, value = map(ops.convert_to_tensor, (query_BLHK, key_BMHK, value_BMHK))
        return _torch_attention(query, key, value, allowed, dropout)
    output_BLHK = ops.dot_product_attention(query_BLHK, key_BMHK, value_BMHK, mask=allowed)
    if allowed is None:
        return output_BLHK
    something_B1L1 = ops.any(allowed, axis=-1, keepdims=True)
    return ops.where(ops.transpose(something_B1L1, (0, 2, 1, 3)), output_BLHK, 0.0)


def fuses_dropout(x: Tensor) -> bool:
    """Whether `fused_attention` drops weights out too: on PyTorch, on a CPU, in single precision."""
    return current() == "torch" and x.device.type == "cpu" and str(x.dtype) == "torch.float32"


def _torch_attention(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None, dropout: Any) -> Tensor:
    import torch

    if dropout is not None:
        rate, generator = dropout
        return _with_dropout()(query, key, value, allowed, rate, *generator.next().tolist())
    # Given a boolean mask, PyTorch's kernels give zeros by themselves; through Keras it would become numbers first.
    heads_first = (x.transpose(1, 2) for x in (query, key, value))
    return torch.nn.functional.scaled_dot_product_attention(*heads_first, attn_mask=allowed).transpose(1, 2)


_made: list[Any] = []


def _with_dropout() -> Any:
    """The differentiable function; made when it is first needed, since only then PyTorch is there."""
    if not _made:
        _made.append(_make().apply)
    return _made[0]


def _make() -> Any:
    import torch

    class PartByPart(torch.autograd.Function):
        """Attention with dropout; some rows of the batch at a time."""

        @staticmethod
        def forward(ctx: Any, query, key, value, allowed, rate, seed, counter):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN205
            batch, length, heads, _ = query.shape
            shape_HLM = (heads, length, key.shape[1])
            keeps = kept((batch, *shape_HLM), rate, seed, counter)
            mask = None if allowed is None else Mask(allowed, batch)
            output = torch.empty_like(query, memory_format=torch.contiguous_format)
            for part in _parts(batch, math.prod(shape_HLM)):
                weights = _weights(query, key, mask, part)
                weights.mul_(keeps[part])
                output[part].copy_((weights @ value[part].transpose(1, 2)).transpose(1, 2))
            output.mul_(1 / (1 - rate))
            ctx.save_for_backward(query, key, value, output, keeps)
            ctx.mask, ctx.rate = mask, rate
            return output

        @staticmethod
        def backward(ctx: Any, gradient):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN205
            query, key, value, output, keeps = ctx.saved_tensors
            of_query, of_key, of_value = (torch.empty_like(x) for x in (query, key, value))
            scale, up = 1 / math.sqrt(query.shape[-1]), 1 / (1 - ctx.rate)
            inner = (gradient * output).sum(-1).transpose(1, 2).unsqueeze(-1)  # BHL1: Σ_m α dα
            for part in _parts(len(query), math.prod(keeps.shape[1:])):
                weights = _weights(query, key, ctx.mask, part)
                gradient_HLK = (gradient[part] * up).transpose(1, 2)
                of_weights = gradient_HLK @ value[part].permute(0, 2, 3, 1)
                of_weights.mul_(keeps[part]).sub_(inner[part]).mul_(weights)
                of_query[part].copy_((of_weights @ key[part].transpose(1, 2)).transpose(1, 2))
                of_key[part].copy_((of_weights.transpose(2, 3) @ query[part].transpose(1, 2)).transpose(1, 2))
                dropped = weights.mul_(keeps[part]).transpose(2, 3)
                of_value[part].copy_((dropped @ gradient_HLK).transpose(1, 2))
            return of_query.mul_(scale), of_key.mul_(scale), of_value, None, None, None, None

    return PartByPart


def _parts(batch: int, weights_of_a_row: int) -> Iterator[slice]:
    """As many rows of a batch at a time as have their weights in the cache; one at least."""
    rows = max(1, _IN_CACHE // weights_of_a_row)
    return (slice(start, min(start + rows, batch)) for start in range(0, batch, rows))


class Mask:
    """A mask as numbers: PyTorch adds those several times as fast as it fills by booleans."""

    def __init__(self, allowed: Tensor, batch: int) -> None:
        import torch

        allowed = allowed.expand(batch, *allowed.shape[1:])
        self.added = torch.zeros(allowed.shape).masked_fill_(~allowed, -1e30)
        something = allowed.any(-1, keepdim=True)
        self.alive = None if bool(something.all()) else something.to(torch.uint8)
        """0 for rows that may attend to nothing."""


def _weights(query: Tensor, key: Tensor, mask: Mask | None, part: slice) -> Tensor:
    """α_BHLM of some rows of the batch, before dropout."""
    import torch

    scores = (query[part].transpose(1, 2) @ key[part].permute(0, 2, 3, 1)).mul_(1 / math.sqrt(query.shape[-1]))
    if mask is not None:
        scores.add_(mask.added[part])
    weights = torch.softmax(scores, -1, out=scores)
    return weights if mask is None or mask.alive is None else weights.mul_(mask.alive[part])
