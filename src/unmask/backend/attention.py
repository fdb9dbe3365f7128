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

        forward = staticmethod(_forward)
        backward = staticmethod(_backward)

    return PartByPart


def _forward(
    ctx: Any, query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None, rate: float, seed: int, counter: int
) -> Tensor:
    import torch

    scale = 1 / math.sqrt(query.shape[-1])
    scaled, key, value = _heads_first(query, scale), _heads_first(key), _heads_first(value)
    keeps = kept((*scaled.shape[:3], key.shape[2]), rate, seed, counter)
    mask = None if allowed is None else Mask(allowed, len(query))
    remembers = keeps.numel() <= _REMEMBERED
    weights = Room(keeps.shape, for_all=remembers)
    dropped = Room(keeps.shape, for_all=True) if remembers else weights
    output = torch.empty_like(scaled)
    for part in _parts(keeps.shape):
        weights_BHLM = _weights(scaled, key, mask, part, weights.of(part))
        dropped_BHLM = torch.mul(weights_BHLM, keeps[part], out=dropped.of(part))
        _product(dropped_BHLM, value[part], output[part])
    output.mul_(1 / (1 - rate))
    again = (weights.memory, dropped.memory) if remembers else (keeps,)
    ctx.save_for_backward(scaled, key, value, output, *again)
    ctx.mask, ctx.rate, ctx.scale = mask, rate, scale
    return output.transpose(1, 2)


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    import torch

    scaled, key, value, output, *again = ctx.saved_tensors
    of_query, of_key, of_value = (torch.empty_like(x) for x in (scaled, key, value))
    inner = (gradient.transpose(1, 2) * output).sum(-1, keepdim=True)  # BHL1: Σ_m α dα
    gradient = _heads_first(gradient, 1 / (1 - ctx.rate))
    room, remade = (Room(again[0].shape, for_all=False) for _ in range(2))
    for part in _parts(again[0].shape):
        if len(again) == 2:
            weights_BHLM, dropped_BHLM = again[0][part], again[1][part]
        else:
            weights_BHLM = _weights(scaled, key, ctx.mask, part, remade.of(part))
            dropped_BHLM = weights_BHLM * again[0][part]
        of_scores = _product(gradient[part], value[part].transpose(2, 3), room.of(part))
        of_scores.mul_(dropped_BHLM).addcmul_(weights_BHLM, inner[part], value=-1)
        _product(of_scores, key[part], of_query[part])
        _product(of_scores.transpose(2, 3), scaled[part], of_key[part])
        _product(dropped_BHLM.transpose(2, 3), gradient[part], of_value[part])
    gradients = (x.transpose(1, 2) for x in (of_query.mul_(ctx.scale), of_key, of_value))
    return *gradients, None, None, None, None


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


class Room:
    """Memory for weights: for those of all parts, or for one part's after another, which so stays in the cache."""

    def __init__(self, shape_BHLM: tuple[int, ...], *, for_all: bool) -> None:
        import torch

        rows, heads = next(_parts(shape_BHLM))
        self.for_all = for_all
        self.memory = torch.empty(shape_BHLM if for_all else (rows.stop, heads.stop, *shape_BHLM[2:]))

    def of(self, part: Part) -> Tensor:
        """Where the weights of these rows and heads lie."""
        rows, heads = part
        return self.memory[part] if self.for_all else self.memory[: rows.stop - rows.start, : heads.stop - heads.start]


def _heads_first(x_BLHK: Tensor, factor: float | None = None) -> Tensor:
    """BHLK, the numbers of each head side by side: matrices that lie so are multiplied faster."""
    import torch

    x_BHLK = x_BLHK.transpose(1, 2)
    return x_BHLK.contiguous() if factor is None else torch.mul(x_BHLK, factor, out=torch.empty(x_BHLK.shape))


def _product(a_BHLM: Tensor, b_BHMK: Tensor, into_BHLK: Tensor) -> Tensor:
    import torch

    a, b, into = (x.flatten(0, 1) for x in (a_BHLM, b_BHMK, into_BHLK))
    torch.bmm(a, b, out=into)
    return into_BHLK


class Mask:
    """A mask as numbers: PyTorch adds those several times as fast as it fills by booleans."""

    def __init__(self, allowed: Tensor, batch: int) -> None:
        import torch

        allowed = allowed.expand(batch, *allowed.shape[1:])
        self.added = torch.zeros(allowed.shape).masked_fill_(~allowed, -1e30)
        something = allowed.any(-1, keepdim=True)
        self.alive = None if bool(something.all()) else something.to(torch.uint8)
        """0 for rows that may attend to nothing."""


def _weights(scaled: Tensor, key: Tensor, mask: Mask | None, part: Part, into_BHLM: Tensor) -> Tensor:
    """α_BHLM of some rows and heads, before dropout."""
    import torch

    scores = _product(scaled[part], key[part].transpose(2, 3), into_BHLM)
    if mask is not None:
        scores.add_(mask.added[part[0]])
    weights = torch.softmax(scores, -1, out=scores)
    return weights if mask is None or mask.alive is None else weights.mul_(mask.alive[part[0]])
