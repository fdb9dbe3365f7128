"""Texts of different lengths in one batch, without computing their padding.

The tokens of all texts lie one after another in a single row; linear maps, LayerNorm and dropout know no texts and do
not notice. Attention does: it takes texts of like length at a time, as rectangles, and padding is computed there, and
a little of it in the row (see `_rounded_up`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from keras import ops

from unmask.backend import Block, Tensor, adopt, into_slots, leaves_padding_out, on_host, out_of_slots, reshape, split
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
    """Which token of the batch, counted with all padding, lies where in the row; see `_rounded_up`."""
    slot_of_N: np.ndarray
    """The slot that each token of the row has in the blocks; all other slots are padding."""
    wanted: "Wanted | None"
    """The tokens whose hidden states are wanted, None: all."""
    asking_slot_of_N: np.ndarray
    """The slot that each token that asks has in the blocks of queries."""

    def row_of(self, x_BL: Tensor) -> Tensor:
        """The numbers of all tokens, x_1N; they are looked at as the mask was, see `unpadded`."""
        seen = on_host(x_BL)
        assert seen is not None
        return adopt(seen.ravel()[self.tokens_N][None])

    def asked_by_wanted(self) -> "Unpadded":
        """The same for attention in which only the tokens that are wanted ask."""
        assert self.wanted is not None
        sizes = zip(self.blocks, self.wanted.n_queries, strict=True)
        blocks = [replace(block, n_queries=n_queries) for block, n_queries in sizes]
        return replace(self, blocks=blocks, asking_slot_of_N=self.wanted.slot_of_N)

    def asking(self, x_1NX: Tensor) -> Tensor:
        """The tokens that ask, text by text in blocks, with zeros for padding."""
        n_slots = sum(block.n_texts * block.n_queries for block in self.blocks)
        return _into(x_1NX, self.asking_slot_of_N, n_slots)

    def asked(self, x_1NX: Tensor) -> Tensor:
        """All tokens, text by text in blocks, with zeros for padding."""
        return _into(x_1NX, self.slot_of_N, sum(block.n_texts * block.n_memory for block in self.blocks))

    def answered(self, x_1MX: Tensor) -> Tensor:
        """The tokens that asked, without padding again."""
        if x_1MX.shape[1] == len(self.asking_slot_of_N):
            return x_1MX
        return out_of_slots(_without_first_axis(x_1MX), adopt(self.asking_slot_of_N))[None]

    def attend(self, attention: Attention, query_1MHK: Tensor, key_1MHK: Tensor, value_1MHK: Tensor) -> Tensor:
        """What attention gives for all queries, output_1MHK, one block after another."""
        n_queries, n_memory = [block.n_queries for block in self.blocks], [block.n_memory for block in self.blocks]
        inputs = (
            self._split(query_1MHK, n_queries),
            self._split(key_1MHK, n_memory),
            self._split(value_1MHK, n_memory),
        )
        outputs = [attention(*qkv, block.allowed)[0] for *qkv, block in zip(*inputs, self.blocks, strict=True)]
        rows = [reshape(output, (1, -1, *query_1MHK.shape[2:])) for output in outputs]
        return rows[0] if len(rows) == 1 else ops.concatenate(rows, axis=1)

    def _split(self, x_1MHK: Tensor, lengths: list[int]) -> list[Tensor]:
        """The blocks by themselves, x_BLHK, of so many tokens a text."""
        sizes = zip(self.blocks, lengths, strict=True)
        shapes = [(block.n_texts, length, *x_1MHK.shape[2:]) for block, length in sizes]
        parts = split(x_1MHK, [n_texts * length for n_texts, length, *_ in shapes], axis=1)
        return [reshape(part, shape) for part, shape in zip(parts, shapes, strict=True)]

    def padded(self, x_1ND: Tensor) -> Tensor:
        """One text a row again, x_BLD, with zeros where nothing was computed."""
        return self._spread(x_1ND, self.tokens_N)

    def wanted_again(self, x_1PD: Tensor) -> Tensor:
        """What was computed of the wanted tokens alone, x_BPD at given positions or x_BLD with zeros at others."""
        assert self.wanted is not None
        if self.wanted.n_positions is None:
            return self._spread(x_1PD, self.tokens_N[self.wanted.places_N])
        rows_B = adopt(np.argsort(self.order_B))
        return ops.take(reshape(x_1PD, (-1, self.wanted.n_positions, x_1PD.shape[-1])), rows_B, axis=0)

    def _spread(self, x_1ND: Tensor, tokens_N: np.ndarray) -> Tensor:
        x_MD = into_slots(_without_first_axis(x_1ND), adopt(tokens_N), self.attend_BL.size)
        return reshape(x_MD, (*self.attend_BL.shape, x_1ND.shape[-1]))


@dataclass(frozen=True)
class Wanted:
    """Tokens of a row whose hidden states are wanted, while those of the others are only asked."""

    places_N: np.ndarray
    """Where they lie in the row."""
    n_queries: list[int]
    """Of each text, block by block."""
    slot_of_N: np.ndarray
    """The slot of each in blocks of so many queries."""
    n_positions: int | None
    """As many of each text, at given positions; None: some of them, wherever they are."""


def _into(x_1NX: Tensor, slot_of_N: np.ndarray, n_slots: int) -> Tensor:
    if n_slots == len(slot_of_N):
        return x_1NX
    return into_slots(_without_first_axis(x_1NX), adopt(slot_of_N), n_slots)[None]


def _without_first_axis(x_1NX: Tensor) -> Tensor:
    """x_NX; the gradient of `x_1NX[0]` would be copied among zeros."""
    return reshape(x_1NX, x_1NX.shape[1:])


def unpadded(
    attend_BL: Tensor | None, only_BP: Tensor | None = None, wanted_BL: Tensor | None = None, *, width: int
) -> Unpadded | None:
    """How to compute a batch without its padding; None where it has none, or where the backend would rather not.

    Args:
        attend_BL: True for tokens, False for padding.
        only_BP: the positions that are wanted, if not all.
        wanted_BL: True for tokens that are wanted, if not all.
        width: of the hidden states.
    """
    attend, only, wanted = map(on_host, (attend_BL, only_BP, wanted_BL))
    if attend is None or not leaves_padding_out() or (only is None and only_BP is not None):
        return None
    attend = attend.astype(bool)
    lengths_B = attend.sum(axis=1)
    if not np.array_equal(attend, np.arange(attend.shape[1]) < lengths_B[:, None]):
        return None  # there is padding before or between tokens
    lengths_B = np.maximum(lengths_B, 1)  # of an empty text, one token is computed and attends to nothing
    if lengths_B.sum() == attend.size or (only is not None and (only >= lengths_B[:, None]).any()):
        return None  # there is no padding, or somebody wants to see what it becomes
    row = _laid_out(attend, lengths_B, piece_costs=max(1, _BLOCK_COSTS // width))
    if only is not None:
        return replace(row, wanted=_at_positions(row, only))
    return row if wanted is None else replace(row, wanted=_where(row, wanted.astype(bool)))


def _laid_out(attend_BL: np.ndarray, lengths_B: np.ndarray, *, piece_costs: int) -> Unpadded:
    pieces = cut(lengths_B, piece_costs=piece_costs, squared=True)
    blocks, tokens, are_tokens = [], [], []
    for rows, length in zip(pieces, _block_lengths(pieces, lengths_B, attend_BL.shape[1]), strict=True):
        allowed_BL = attend_BL[rows, :length]
        allowed = None if allowed_BL.all() else adopt(allowed_BL[:, None, None, :])
        blocks.append(Block(len(rows), length, length, allowed))
        tokens.append((rows[:, None] * attend_BL.shape[1] + np.arange(length)).ravel())
        are_tokens.append((np.arange(length) < lengths_B[rows][:, None]).ravel())
    order_B, tokens_M, is_token_M = map(np.concatenate, (pieces, tokens, are_tokens))
    slot_of_N = np.flatnonzero(_rounded_up(is_token_M))
    return Unpadded(attend_BL, blocks, order_B, tokens_M[slot_of_N], slot_of_N, None, slot_of_N)


def _block_lengths(pieces: list[np.ndarray], lengths_B: np.ndarray, width: int) -> list[int]:
    """Of each piece's block: one of few, and together they have slots for all that `_rounded_up` takes."""
    sizes = [len(rows) for rows in pieces]
    lengths = [min(width, _one_of_few(int(lengths_B[rows].max()))) for rows in pieces]
    n_slots = min(len(lengths_B) * width, _one_of_few(int(lengths_B.sum())))
    while np.dot(sizes, lengths) < n_slots:
        shortest = int(np.argmin(lengths))
        lengths[shortest] = min(width, _one_of_few(lengths[shortest] + 1))
    return lengths


def _at_positions(row: Unpadded, only_BP: np.ndarray) -> Wanted:
    place_of = np.zeros(row.attend_BL.size, np.int64)
    place_of[row.tokens_N] = np.arange(len(row.tokens_N))
    n_texts, n_positions = only_BP.shape
    places_BP = place_of.reshape(row.attend_BL.shape)[np.arange(n_texts)[:, None], only_BP][row.order_B]
    return Wanted(places_BP.ravel(), [n_positions] * len(row.blocks), np.arange(places_BP.size), n_positions)


def _where(row: Unpadded, wanted_BL: np.ndarray) -> Wanted:
    is_wanted_N = _rounded_up((wanted_BL & row.attend_BL).ravel()[row.tokens_N])
    asks_M = np.zeros(sum(block.n_texts * block.n_memory for block in row.blocks), bool)
    asks_M[row.slot_of_N] = is_wanted_N
    n_queries, slots, first, n_slots = [], [], 0, 0
    for block in row.blocks:
        last = first + block.n_texts * block.n_memory
        asks_BL = asks_M[first:last].reshape(block.n_texts, block.n_memory)
        n_queries.append(max(1, int(asks_BL.sum(axis=1).max())))
        text_N, nth_N = np.nonzero(asks_BL)[0], (np.cumsum(asks_BL, axis=1) - 1)[asks_BL]
        slots.append(n_slots + text_N * n_queries[-1] + nth_N)
        first, n_slots = last, n_slots + block.n_texts * n_queries[-1]
    return Wanted(np.flatnonzero(is_wanted_N), n_queries, np.concatenate(slots), None)


def _rounded_up(chosen_N: np.ndarray) -> np.ndarray:
    """The same with some more, here and there, so that their number is one of few.

    oneDNN writes a program for every shape that it has not seen, which takes longer than 3 % more rows, or fewer.
    """
    n_chosen, others = int(chosen_N.sum()), np.flatnonzero(~chosen_N)
    n_more = _one_of_few(n_chosen) - n_chosen
    if 0 < n_more <= len(others):
        chosen_N[others[np.arange(n_more) * len(others) // n_more]] = True
    return chosen_N


def _one_of_few(number: int) -> int:
    """The number, or the next one that ends in zeros after its first six bits."""
    return number + -number % (1 << max(0, number.bit_length() - 6))
