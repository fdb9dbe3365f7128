"""Attention in the backend's own kernels; and, for PyTorch on a CPU, with dropout, some rows of the batch at a time.

PyTorch's fused kernel for CPUs knows no dropout, and computing step by step writes the weights of all texts and heads,
B·H·L·M numbers, to memory about ten times. Here the weights of one long text, or of some short ones, are made, used and
put away before the next ones': they stay in the processor's cache. If there are very many, they are forgotten and the
backward pass makes them again, as FlashAttention does (Dao et al. 2022).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unmask.backend.choice import current
from unmask.backend.operations import Tensor, kept, next_seed

_IN_CACHE = 1 << 20
"""Numbers, four megabytes, that stay in the processor's caches while all cores work on them."""
_REMEMBERED = 1 << 23
"""So many weights are remembered for the backward pass; of more, it makes them again."""


@dataclass(frozen=True)
class Block:
    """Texts of one length, whose attention is computed at once."""

    n_texts: int
    n_queries: int
    """Tokens of each text that ask."""
    n_memory: int
    """Tokens of each text that are asked."""
    allowed: Tensor | None
    """True = may be attended; broadcasts to BHLM. None: everything."""

    @cached_property
    def mask(self) -> "Mask | None":
        """The same as numbers."""
        return None if self.allowed is None else Mask(self.allowed, self.n_texts)


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
        if dropout is None:
            return _torch_attention(query, key, value, allowed)
        block = Block(len(query), query.shape[1], key.shape[1], allowed)
        return fused_attention_of_blocks(query, key, value, [block], dropout).view(query.shape)
    output_BLHK = ops.dot_product_attention(query_BLHK, key_BMHK, value_BMHK, mask=allowed)
    if allowed is None:
        return output_BLHK
    something_B1L1 = ops.any(allowed, axis=-1, keepdims=True)
    return ops.where(ops.transpose(something_B1L1, (0, 2, 1, 3)), output_BLHK, 0.0)


def fuses_dropout(x: Tensor) -> bool:
    """Whether `fused_attention` drops weights out too: on PyTorch, on a CPU, in single precision."""
    return current() == "torch" and x.device.type == "cpu" and str(x.dtype) == "torch.float32"


def fused_attention_of_blocks(
    query_1NHK: Tensor, key_1NHK: Tensor, value_1NHK: Tensor, blocks: Sequence[Block], dropout: Any
) -> Tensor:
    """The same for texts of several lengths that lie one after another, where `fuses_dropout`.

    Args:
        query_1NHK: the tokens that ask, block by block and in each block text by text.
        key_1NHK: the tokens that are asked, in the same order.
        value_1NHK: what is summed up.
        blocks: how many tokens belong together.
        dropout: a rate and a seed generator.
    """
    rate, generator = dropout
    flat = (x.flatten(0, 1) for x in (query_1NHK, key_1NHK, value_1NHK))
    return _with_dropout()(*flat, blocks, rate, *next_seed(generator))[None]


def _torch_attention(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None) -> Tensor:
    import torch

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
    ctx: Any, query: Tensor, key: Tensor, value: Tensor, blocks: Sequence[Block], rate: float, seed: int, counter: int
) -> Tensor:
    import torch

    shapes = Shapes(blocks, *query.shape[1:])
    scaled = _heads_first(query, shapes.asking, 1 / math.sqrt(query.shape[-1]))
    key, value = _heads_first(key, shapes.asked), _heads_first(value, shapes.asked)
    keeps = Pile(shapes.weights, kept((shapes.n_weights,), rate, seed, counter))
    remembers = shapes.n_weights <= _REMEMBERED
    weights = Pile(shapes.weights) if remembers else Room(shapes)
    dropped = Pile(shapes.weights) if remembers else weights
    result = Pile(shapes.asking)
    for b, part in shapes.parts():
        weights_BHLM = _weights(scaled.of(b, part), key.of(b, part), blocks[b].mask, part, weights.of(b, part))
        dropped_BHLM = torch.mul(weights_BHLM, keeps.of(b, part), out=dropped.of(b, part))
        _product(dropped_BHLM, value.of(b, part), result.of(b, part))
    output = _heads_last(result, 1 / (1 - rate))
    again = (weights, dropped) if remembers else (keeps,)
    ctx.save_for_backward(output, *(pile.memory for pile in (scaled, key, value, *again)))
    ctx.blocks, ctx.rate = blocks, rate
    return output


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    output, *memories = ctx.saved_tensors
    shapes = Shapes(ctx.blocks, *output.shape[1:])
    kinds = (shapes.asking, shapes.asked, shapes.asked, shapes.weights, shapes.weights)
    scaled, key, value, *again = (Pile(kind, memory) for kind, memory in zip(kinds, memories, strict=False))
    of_query, of_key, of_value = (Pile(kind) for kind in kinds[:3])
    inner = _heads_first((gradient * output).sum(-1, keepdim=True), [(*shape[:3], 1) for shape in shapes.asking])
    gradients = _heads_first(gradient, shapes.asking, 1 / (1 - ctx.rate))
    room, remade = Room(shapes), Room(shapes)
    for b, part in shapes.parts():
        if len(again) == 2:
            weights_BHLM, dropped_BHLM = (pile.of(b, part) for pile in again)
        else:
            mask, into = ctx.blocks[b].mask, remade.of(b, part)
            weights_BHLM = _weights(scaled.of(b, part), key.of(b, part), mask, part, into)
            dropped_BHLM = weights_BHLM * again[0].of(b, part)
        asked_BHLK = gradients.of(b, part)
        of_scores = _product(asked_BHLK, value.of(b, part).transpose(2, 3), room.of(b, part))
        of_scores.mul_(dropped_BHLM).addcmul_(weights_BHLM, inner.of(b, part), value=-1)
        _product(of_scores, key.of(b, part), of_query.of(b, part))
        _product(of_scores.transpose(2, 3), scaled.of(b, part), of_key.of(b, part))
        _product(dropped_BHLM.transpose(2, 3), asked_BHLK, of_value.of(b, part))
    scale = 1 / math.sqrt(output.shape[-1])
    return _heads_last(of_query, scale), _heads_last(of_key), _heads_last(of_value), None, None, None, None


Shape = tuple[int, int, int, int]
Part = tuple[slice, slice]
"""Texts of a block, and heads."""


class Shapes:
    """Of what belongs to each block."""

    def __init__(self, blocks: Sequence[Block], n_heads: int, width: int) -> None:
        self.asking: list[Shape] = [(block.n_texts, n_heads, block.n_queries, width) for block in blocks]
        self.asked: list[Shape] = [(block.n_texts, n_heads, block.n_memory, width) for block in blocks]
        self.weights: list[Shape] = [(block.n_texts, n_heads, block.n_queries, block.n_memory) for block in blocks]
        self.n_weights = sum(map(math.prod, self.weights))

    def parts(self) -> Iterator[tuple[int, Part]]:
        """The number of a block, and texts and heads of it whose weights are in the cache together."""
        for b, shape in enumerate(self.weights):
            yield from ((b, part) for part in _parts(shape))


def _parts(shape_BHLM: Shape) -> Iterator[Part]:
    """Some texts, or of one long text some heads."""
    batch, n_heads, length, memory = shape_BHLM
    heads = min(n_heads, max(1, _IN_CACHE // (length * memory)))
    rows = max(1, _IN_CACHE // (heads * length * memory)) if heads == n_heads else 1
    for row in range(0, batch, rows):
        for head in range(0, n_heads, heads):
            yield slice(row, min(row + rows, batch)), slice(head, min(head + heads, n_heads))


class Pile:
    """Arrays of several shapes, one for each block, in one piece of memory."""

    def __init__(self, shapes: list[Shape], memory: Tensor | None = None) -> None:
        import torch

        sizes = [math.prod(shape) for shape in shapes]
        self.memory = torch.empty(sum(sizes)) if memory is None else memory
        self.arrays = [part.view(shape) for part, shape in zip(self.memory.split(sizes), shapes, strict=True)]

    def of(self, b: int, part: Part) -> Tensor:
        """What belongs to these texts and heads of a block."""
        return self.arrays[b][part]


class Room:
    """Memory for the weights of one part after another, which so stays in the cache."""

    def __init__(self, shapes: Shapes) -> None:
        import torch

        self.shapes = shapes.weights
        firsts = [(next(_parts(shape)), shape) for shape in self.shapes]  # the others are no larger
        self.memory = torch.empty(max(rows.stop * heads.stop * shape[2] * shape[3] for (rows, heads), shape in firsts))

    def of(self, b: int, part: Part) -> Tensor:
        """Where the weights of these texts and heads of a block lie."""
        (rows, heads), (_, _, length, memory) = part, self.shapes[b]
        shape = (rows.stop - rows.start, heads.stop - heads.start, length, memory)
        return self.memory[: math.prod(shape)].view(shape)


def _heads_first(x_NHK: Tensor, shapes: list[Shape], factor: float = 1.0) -> Pile:
    """BHLK of each block, the numbers of each head side by side: matrices that lie so are multiplied faster."""
    import torch

    pile, first = Pile(shapes), 0
    for array_BHLK in pile.arrays:
        n_texts, n_heads, length, width = array_BHLK.shape
        last = first + n_texts * length
        x_BLHK = x_NHK[first:last].view(n_texts, length, n_heads, width)
        torch.mul(x_BLHK.transpose(1, 2), factor, out=array_BHLK)
        first = last
    return pile


def _heads_last(pile: Pile, factor: float = 1.0) -> Tensor:
    """NHK: the tokens of all blocks in a row."""
    import torch

    _, n_heads, _, width = pile.arrays[0].shape
    x_NHK = torch.empty(pile.memory.numel() // (n_heads * width), n_heads, width)
    first = 0
    for array_BHLK in pile.arrays:
        n_texts, _, length, _ = array_BHLK.shape
        last = first + n_texts * length
        x_BLHK = x_NHK[first:last].view(n_texts, length, n_heads, width)
        torch.mul(array_BHLK, factor, out=x_BLHK.transpose(1, 2))
        first = last
    return x_NHK


def _product(a_BHLM: Tensor, b_BHMK: Tensor, into_BHLK: Tensor) -> Tensor:
    import torch

    a, b, into = (x.flatten(0, 1) for x in (a_BHLM, b_BHMK, into_BHLK))
    torch.bmm(a, b, out=into)
    return into_BHLK


_HIDDEN = -1e30


class Mask:
    """A mask as numbers: PyTorch adds those several times as fast as it fills by booleans."""

    def __init__(self, allowed: Tensor, batch: int) -> None:
        import torch

        self.allowed = allowed.expand(batch, *allowed.shape[1:])
        something = self.allowed.any(-1, keepdim=True)
        self.alive = None if bool(something.all()) else something.to(torch.uint8)
        """0 for rows that may attend to nothing."""

    @cached_property
    def added(self) -> Tensor:
        """What is added to the scores."""
        import torch

        return torch.zeros(self.allowed.shape).masked_fill_(~self.allowed, _HIDDEN)

    @cached_property
    def lengths(self) -> list[int] | None:
        """How many tokens of each text may be attended, if those are the first ones, whoever asks."""
        import torch

        if math.prod(self.allowed.shape[1:3]) > 1:
            return None
        allowed_BM = self.allowed[:, 0, 0]
        lengths_B1 = allowed_BM.sum(1, keepdim=True)
        are_first = torch.equal(allowed_BM, torch.arange(allowed_BM.shape[1]) < lengths_B1)
        return lengths_B1[:, 0].tolist() if are_first else None

    def hide(self, scores_BHLM: Tensor, texts: slice) -> None:
        """Makes the scores of what must not be attended very small: of one text a few columns, else by adding."""
        if texts.stop - texts.start == 1 and self.lengths is not None:
            scores_BHLM[..., self.lengths[texts.start] :].fill_(_HIDDEN)
        else:
            scores_BHLM.add_(self.added[texts])


def _weights(scaled: Tensor, key: Tensor, mask: Mask | None, part: Part, into_BHLM: Tensor) -> Tensor:
    """α_BHLM of some texts and heads, before dropout."""
    import torch

    scores = _product(scaled, key.transpose(2, 3), into_BHLM)
    if mask is not None:
        mask.hide(scores, part[0])
    weights = torch.softmax(scores, -1, out=scores)
    return weights if mask is None or mask.alive is None else weights.mul_(mask.alive[part[0]])
