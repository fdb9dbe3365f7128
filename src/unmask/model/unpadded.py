"""Texts of different lengths in one batch, without computing their padding.

The tokens of all texts lie one after another in a single row; linear maps, LayerNorm and dropout know no texts and do
not notice. Attention does: it takes the texts of one length, or of nearly one, at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from keras import ops

from unmask.backend import Block, Tensor, leaves_padding_out, on_host, reshape
from unmask.lengths import cut

Attention = Callable[..., tuple[Tensor, Tensor | None]]
"""Of query_BLHK, key_BMHK, value_BMHK and a mask; gives the output_BLHK first."""

_BLOCK_COSTS = 600_000
"""One more block takes attention as long as so many tokens, divided by the square of their width, take the layer."""


@dataclass(frozen=True)
class Unpadded:
    """How the tokens of a batch lie in one row.

    It stands where a mask stands otherwise, since it says who may attend to whom.
    """

    blocks: list[Block]
    order_B: np.ndarray
    """The texts in the order in which they lie."""
    tokens_N: np.ndarray
    """Which token of the batch, counted with all padding, lies where."""
    places_BL: np.ndarray
    """Where a token of the batch lies; for padding that is left out, one place behind the last."""
    only_BP: np.ndarray | None
    """The positions that are wanted of each text, None: all."""

    def row_of(self, x_BL: Tensor) -> Tensor:
        """The numbers of all tokens, x_1N."""
        return ops.take(reshape(x_BL, (1, -1)), ops.convert_to_tensor(self.tokens_N), axis=1)

    def wanted(self) -> Tensor | None:
        """Where the tokens that are wanted lie, places_1N; None if all are."""
        if self.only_BP is None:
            return None
        places_BP = np.take_along_axis(self.places_BL, self.only_BP, axis=1)
        return ops.convert_to_tensor(places_BP[self.order_B].reshape(1, -1))

    def asked_by_wanted(self) -> "Unpadded":
        """The same for attention in which only the tokens that are wanted ask."""
        assert self.only_BP is not None
        n_queries = self.only_BP.shape[1]
        return replace(self, blocks=[replace(block, n_queries=n_queries) for block in self.blocks])

    def attend(self, attention: Attention, query_1NHK: Tensor, key_1NHK: Tensor, value_1NHK: Tensor) -> Tensor:
        """What attention gives for all queries, output_1NHK, one block after another."""
        n_queries, n_memory = [block.n_queries for block in self.blocks], [block.n_memory for block in self.blocks]
        inputs = (
            self._split(query_1NHK, n_queries),
            self._split(key_1NHK, n_memory),
            self._split(value_1NHK, n_memory),
        )
        outputs = [attention(*qkv, block.allowed)[0] for *qkv, block in zip(*inputs, self.blocks, strict=True)]
        return ops.concatenate([reshape(output, (1, -1, *query_1NHK.shape[2:])) for output in outputs], axis=1)

    def _split(self, x_1NHK: Tensor, lengths: list[int]) -> list[Tensor]:
        """The blocks by themselves, x_BLHK, of so many tokens a text."""
        n_texts = [block.n_texts for block in self.blocks]
        ends = np.cumsum([n * length for n, length in zip(n_texts, lengths, strict=True)])
        parts = ops.split(x_1NHK, ends[:-1].tolist(), axis=1) if len(ends) > 1 else [x_1NHK]
        return [reshape(part, (n, -1, *part.shape[2:])) for part, n in zip(parts, n_texts, strict=True)]

    def padded(self, x_1ND: Tensor) -> Tensor:
        """One text a row again, x_BLD, with zeros for padding; or what is wanted of it alone, x_BPD."""
        if self.only_BP is not None:
            rows_B = ops.convert_to_tensor(np.argsort(self.order_B))
            return ops.take(reshape(x_1ND, (*self.only_BP.shape, -1)), rows_B, axis=0)
        nothing_1D = ops.zeros_like(x_1ND[0, :1])
        return ops.take(ops.concatenate([x_1ND[0], nothing_1D]), ops.convert_to_tensor(self.places_BL), axis=0)


def unpadded(attend_BL: Tensor | None, only_BP: Tensor | None, *, width: int) -> Unpadded | None:
    """How to compute a batch without its padding; None where it has little, or where the backend would rather not.

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
    if only is not None and (only >= lengths_B[:, None]).any():
        return None  # somebody wants to see what padding becomes
    texts = _laid_out(cut(lengths_B, piece_costs=max(1, _BLOCK_COSTS // width**2)), attend, only)
    return texts if len(texts.tokens_N) < attend.size else None


def _laid_out(pieces: list[np.ndarray], attend_BL: np.ndarray, only_BP: np.ndarray | None) -> Unpadded:
    batch, length = attend_BL.shape
    blocks, tokens = [], []
    for rows in pieces:
        longest = max(1, int(attend_BL[rows].sum(axis=1).max()))
        attend = attend_BL[rows, :longest]
        allowed = None if attend.all() else ops.convert_to_tensor(attend[:, None, None, :])
        blocks.append(Block(len(rows), longest, longest, allowed))
        tokens.append((rows[:, None] * length + np.arange(longest)).reshape(-1))
    tokens_N = np.concatenate(tokens)
    places = np.full(batch * length, len(tokens_N))
    places[tokens_N] = np.arange(len(tokens_N))
    return Unpadded(blocks, np.concatenate(pieces), tokens_N, places.reshape(batch, length), only_BP)
