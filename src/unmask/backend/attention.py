"""Attention in the backend's own kernels; and, for PyTorch on a CPU, with dropout, some rows of the batch at a time.

PyTorch's fused kernel for CPUs knows no dropout, and computing step by step writes the weights of all texts and heads,
B·H·L·M numbers, to memory about ten times. Here the weights of one long text, or of some short ones, are made, used and
put away before the next ones': they stay in the processor's cache. If there are very many, they are forgotten and the
backward pass makes them again, as FlashAttention does (Dao et al. 2022).
"""

import math
from collections.abc import Iterator
from typing import Any

from unmask.backend.choice import current
from unmask.backend.operations import Tensor, kept

_IN_CACHE = 1 << 20
"""Numbers, four megabytes, that stay in the processor's caches while all cores work on them."""
_REMEMBERED = 1 << 23
"""So many weights are remembered for the backward pass; of more, it makes them again."""


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
            batch, length, n_heads, width = query.shape
            keeps = kept((batch, n_heads, length, key.shape[1]), rate, seed, counter)
            mask = None if allowed is None else Mask(allowed, batch)
            scaled = query * (1 / math.sqrt(width))
            weights = torch.empty(keeps.shape) if keeps.numel() <= _REMEMBERED else None
            output = torch.empty_like(query, memory_format=torch.contiguous_format)
            for part in _parts(keeps.shape):
                weights_BHLM = _weights(scaled, key, mask, part, weights)
                dropped_BHLM = _times(weights_BHLM, keeps[part], in_place=weights is None)
                _put(output, part, dropped_BHLM @ _heads_first(value, part))
            output.mul_(1 / (1 - rate))
            ctx.save_for_backward(scaled, key, value, output, keeps, weights)
            ctx.mask, ctx.rate, ctx.scale = mask, rate, 1 / math.sqrt(width)
            return output

        @staticmethod
        def backward(ctx: Any, gradient):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN205
            scaled, key, value, output, keeps, weights = ctx.saved_tensors
            of_query, of_key, of_value = (torch.empty_like(x) for x in (scaled, key, value))
            inner = (gradient * output).sum(-1).transpose(1, 2).unsqueeze(-1)  # BHL1: Σ_m α dα
            gradient = gradient * (1 / (1 - ctx.rate))
            for part in _parts(keeps.shape):
                queries, keys, values, gradients = (_heads_first(x, part) for x in (scaled, key, value, gradient))
                weights_BHLM = _weights(scaled, key, ctx.mask, part) if weights is None else weights[part]
                # As numbers, since they are needed twice and PyTorch would make numbers of bytes each time.
                keeps_BHLM = keeps[part].to(weights_BHLM.dtype)
                of_scores = (gradients @ values.transpose(2, 3)).mul_(keeps_BHLM).sub_(inner[part]).mul_(weights_BHLM)
                _put(of_query, part, of_scores @ keys)
                _put(of_key, part, of_scores.transpose(2, 3) @ queries)
                _put(of_value, part, keeps_BHLM.mul_(weights_BHLM).transpose(2, 3) @ gradients)
            return of_query.mul_(ctx.scale), of_key, of_value, None, None, None, None

    return PartByPart


def _times(weights: Tensor, keeps: Tensor, *, in_place: bool) -> Tensor:
    """Weights after dropout; in the memory of those before, if nobody remembers them."""
    return weights.mul_(keeps) if in_place else weights * keeps


Part = tuple[slice, slice]
"""Rows of the batch, and heads."""


def _parts(shape_BHLM: tuple[int, ...]) -> Iterator[Part]:
    """Rows and heads whose weights are in the cache together: some rows, or of one long row some heads."""
    batch, n_heads, length, memory = shape_BHLM
    heads = min(n_heads, max(1, _IN_CACHE // (length * memory)))
    rows = max(1, _IN_CACHE // (heads * length * memory)) if heads == n_heads else 1
    for row in range(0, batch, rows):
        for head in range(0, n_heads, heads):
            yield slice(row, min(row + rows, batch)), slice(head, min(head + heads, n_heads))


def _rows(x_BLHK: Tensor, part: Part) -> Tensor:
    return x_BLHK[part[0], :, part[1]]


def _heads_first(x_BLHK: Tensor, part: Part) -> Tensor:
    return _rows(x_BLHK, part).transpose(1, 2)


def _put(into_BLHK: Tensor, part: Part, x_BHLK: Tensor) -> None:
    _rows(into_BLHK, part).copy_(x_BHLK.transpose(1, 2))


class Mask:
    """A mask as numbers: PyTorch adds those several times as fast as it fills by booleans."""

    def __init__(self, allowed: Tensor, batch: int) -> None:
        import torch

        allowed = allowed.expand(batch, *allowed.shape[1:])
        self.added = torch.zeros(allowed.shape).masked_fill_(~allowed, -1e30)
        something = allowed.any(-1, keepdim=True)
        self.alive = None if bool(something.all()) else something.to(torch.uint8)
        """0 for rows that may attend to nothing."""


def _weights(scaled: Tensor, key: Tensor, mask: Mask | None, part: Part, into: Tensor | None = None) -> Tensor:
    """α_BHLM of some rows and heads, before dropout; `into` remembers it."""
    import torch

    scores = _heads_first(scaled, part) @ _heads_first(key, part).transpose(2, 3)
    if mask is not None:
        scores.add_(mask.added[part[0]])
    weights = torch.softmax(scores, -1, out=scores if into is None else into[part])
    return weights if mask is None or mask.alive is None else weights.mul_(mask.alive[part[0]])
