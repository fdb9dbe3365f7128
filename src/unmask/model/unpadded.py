"""Texts of different lengths in one batch, without computing their padding.

The tokens of all texts lie one after another in a single row; linear maps, LayerNorm and dropout know no texts and do
not notice. Attention does: it takes texts of like length at a time, as rectangles, and padding is computed there alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from keras import ops

from unmask.backend import Block, Tensor, into_slots, leaves_padding_out, on_host, out_of_slots, reshape
from unmask.lengths import cut

Attention = Callable[..., tuple[Tensor, Tensor | None]]
"""Of query_BLHK, key_BMHK, value_BMHK and a mask; gives the output_BLHK first."""

_BLOCK_COSTS = 1_000_000
"""One more block takes attention as long as so many pairs of tokens, divided by their width."""


@dataclass(frozen=True)
class Unpadded:
    """How the tokens of a batch lie in one row, and in the blocks that attention takes.

    It stands where a mask stands otherwise, since it says who may attend to whom.
    """

    attend_BL: np.ndarray
    """True for tokens, False for padding."""
    blocks: list[Block]
    order_B: np.ndarray
    """The texts in the order in which they lie, in the row and in the blocks."""
    tokens_N: np.ndarray
    """Which token of the batch, counted with all padding, lies where in the row."""
    slot_of_N: np.ndarray
    """The slot that each token of the row has in the blocks; all other slots are padding."""
    only_BP: np.ndarray | None
    """The positions that are wanted of each text, None: all."""
    wanted_ask: bool = False
    """Whether the queries are the wanted tokens, which lie in blocks already."""

    def row_of(self, x_BL: Tensor) -> Tensor:
        """The numbers of all tokens, x_1N."""
        return out_of_slots(reshape(x_BL, (-1,)), ops.convert_to_tensor(self.tokens_N))[None]

    def wanted(self) -> Tensor | None:
        """Where the tokens that are wanted lie, places_1N; None if all are."""
        if self.only_BP is None:
            return None
        place_of = np.zeros(self.attend_BL.size, np.int64)
        place_of[self.tokens_N] = np.arange(len(self.tokens_N))
        places_BP = np.take_along_axis(place_of.reshape(self.attend_BL.shape), self.only_BP, axis=1)
        return ops.convert_to_tensor(places_BP[self.order_B].reshape(1, -1))

    def asked_by_wanted(self) -> "Unpadded":
        """The same for attention in which only the tokens that are wanted ask."""
        assert self.only_BP is not None
        n_queries = self.only_BP.shape[1]
        return replace(self, blocks=[replace(block, n_queries=n_queries) for block in self.blocks], wanted_ask=True)

    def in_blocks(self, x_1NX: Tensor) -> Tensor:
        """x_1MX, text by text in blocks, with zeros for padding."""
        n_slots = sum(block.n_texts * block.n_memory for block in self.blocks)
        if n_slots == len(self.slot_of_N):
            return x_1NX
        return into_slots(x_1NX[0], ops.convert_to_tensor(self.slot_of_N), n_slots)[None]

    def out_of_blocks(self, x_1MX: Tensor) -> Tensor:
        """x_1NX, without padding again."""
        if x_1MX.shape[1] == len(self.slot_of_N):
            return x_1MX
        return out_of_slots(x_1MX[0], ops.convert_to_tensor(self.slot_of_N))[None]

    def attend(self, attention: Attention, query_1MHK: Tensor, key_1MHK: Tensor, value_1MHK: Tensor) -> Tensor:
        """What attention gives for all queries, output_1MHK, one block after another."""
        n_queries, n_memory = [block.n_queries for block in self.blocks], [block.n_memory for block in self.blocks]
        inputs = (
            self._split(query_1MHK, n_queries),
            self._split(key_1MHK, n_memory),
            self._split(value_1MHK, n_memory),
        )
        outputs = [attention(*qkv, block.allowed)[0] for *qkv, block in zip(*inputs, self.blocks, strict=True)]
        return ops.concatenate([reshape(output, (1, -1, *query_1MHK.shape[2:])) for output in outputs], axis=1)

    def _split(self, x_1MHK: Tensor, lengths: list[int]) -> list[Tensor]:
        """The blocks by themselves, x_BLHK, of so many tokens a text."""
        parts, first = [], 0
        for block, length in zip(self.blocks, lengths, strict=True):
            last = first + block.n_texts * length
            parts.append(reshape(x_1MHK[:, first:last], (block.n_texts, length, *x_1MHK.shape[2:])))
            first = last
        return parts

    def padded(self, x_1ND: Tensor) -> Tensor:
        """One text a row again, x_BLD, with zeros for padding."""
        x_MD = into_slots(x_1ND[0], ops.convert_to_tensor(self.tokens_N), self.attend_BL.size)
        return reshape(x_MD, (*self.attend_BL.shape, x_1ND.shape[-1]))

    def in_order(self, x_1PD: Tensor) -> Tensor:
        """What was computed of the wanted tokens alone, one text a row, x_BPD."""
        assert self.only_BP is not None
        rows_B = ops.convert_to_tensor(np.argsort(self.order_B))
        return ops.take(reshape(x_1PD, (*self.only_BP.shape, x_1PD.shape[-1])), rows_B, axis=0)


def unpadded(attend_BL: Tensor | None, only_BP: Tensor | None, *, width: int) -> Unpadded | None:
    """How to compute a batch without its padding; None where it has none, or where the backend would rather not.

    Args:
        attend_BL: True for tokens, False for padding.
        only_BP: the positions that are wanted, if not all.
        width: of the hidden states.
    """
    attend, only = on_host(attend_BL), on_host(only_BP)
    if attend is None or not leaves_padding_out() or (only is None and only_BP is not None):
        return None
    attend = attend.astype(bool)
    lengths_B = attend.sum(axis=1)
    if not np.array_equal(attend, np.arange(attend.shape[1]) < lengths_B[:, None]):
        return None  # there is padding before or between tokens
    lengths_B = np.maximum(lengths_B, 1)  # of an empty text, one token is computed and attends to nothing
    if lengths_B.sum() == attend.size or (only is not None and (only >= lengths_B[:, None]).any()):
        return None  # there is no padding, or somebody wants to see what it becomes
    return _laid_out(attend, lengths_B, only, piece_costs=max(1, _BLOCK_COSTS // width))


def _laid_out(
    attend_BL: np.ndarray, lengths_B: np.ndarray, only_BP: np.ndarray | None, *, piece_costs: int
) -> Unpadded:
    pieces = cut(lengths_B, piece_costs=piece_costs, squared=True)
    length, blocks, tokens, slots = attend_BL.shape[1], [], [], []
    n_slots = 0
    for rows in pieces:
        longest = int(lengths_B[rows].max())
        allowed_BL = attend_BL[rows, :longest]
        allowed = None if allowed_BL.all() else ops.convert_to_tensor(allowed_BL[:, None, None, :])
        blocks.append(Block(len(rows), longest, longest, allowed))
        inside_BL = np.arange(longest) < lengths_B[rows][:, None]
        tokens.append((rows[:, None] * length + np.arange(longest))[inside_BL])
        slots.append(n_slots + np.flatnonzero(inside_BL))
        n_slots += inside_BL.size
    order_B, tokens_N, slot_of_N = map(np.concatenate, (pieces, tokens, slots))
    return Unpadded(attend_BL, blocks, order_B, tokens_N, slot_of_N, only_BP)
