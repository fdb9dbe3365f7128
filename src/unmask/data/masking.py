"""Masking: BERT (Devlin et al. 2018), section 3.1; static and dynamic: RoBERTa (Liu et al. 2019), section 4.1.

Whole words: BERT's later release. Spans: SpanBERT (Joshi et al. 2020), section 3.1. A mask is a pure function of the
seed, the epoch and the block's index: the same for any number of workers, any batch, any backend, and after a resume.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from unmask.errors import UserError

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_CHOICE, _KIND, _REPLACEMENT, _SPAN = range(4)  # what a random number is for


@dataclass(frozen=True, kw_only=True)
class Masking:
    """Which tokens are hidden, and how."""

    mask_id: int
    vocab_size: int
    special_ids: tuple[int, ...]
    """Never chosen, and never drawn as a replacement; padding is among them."""
    share: float
    """The share of a block's tokens to predict; the papers have 0.15."""
    masked: float = 0.8
    """Of these, the share that becomes the mask …"""
    random: float = 0.1
    """… and the share that becomes a random token; the rest stays as it is."""
    unit: Literal["token", "word", "span"] = "token"
    n_masks: int | None = None
    """Static masking: the number of different masks, taken in turn (BERT has 10); None is dynamic, never twice."""
    span_stop: float = 0.2
    """A span ends after each of its words with this probability: geometric lengths, 3.8 words on average …"""
    span_limit: int = 10
    """… and after so many tokens at the latest."""

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise UserError(f"The share of masked tokens is {self.share}; it must lie between 0 and 1.")
        if self.masked < 0 or self.random < 0 or self.masked + self.random > 1 + 1e-9:
            raise UserError(
                f"{self.masked} masked and {self.random} random tokens are no shares; they must not exceed 1 together."
            )
        if self.unit not in ("token", "word", "span"):
            raise UserError(f"There is no masking of {self.unit!r}; choose token, word or span.")
        if self.n_masks is not None and self.n_masks < 1:
            raise UserError(f"Static masking needs 1 mask or more, not {self.n_masks}.")

    @cached_property
    def maskable_V(self) -> np.ndarray:
        """For each token of the vocabulary, whether it may be chosen and drawn."""
        maskable_V = np.ones(self.vocab_size, bool)
        maskable_V[list(self.special_ids)] = False
        return maskable_V

    @cached_property
    def replacements(self) -> np.ndarray:
        """The tokens that may be drawn."""
        return np.flatnonzero(self.maskable_V)


@dataclass(frozen=True)
class MaskedBlocks:
    """Blocks with some tokens hidden, and what is to be predicted."""

    ids_BL: np.ndarray
    predict_BP: np.ndarray
    """Positions of the hidden tokens, in order; 0 where a row has fewer than others."""
    targets_BP: np.ndarray
    """What stood there."""
    counts_BP: np.ndarray
    """True where a prediction counts."""


def mask_blocks(
    ids_BL: np.ndarray,
    indices_B: np.ndarray,
    masking: Masking,
    *,
    seed: int,
    epoch: int,
    starts_BL: np.ndarray | None = None,
) -> MaskedBlocks:
    """Hides tokens of each block.

    Args:
        ids_BL: the blocks.
        indices_B: the number of each block in the corpus, which with seed and epoch decides its mask.
        masking: how.
        seed: of the whole run.
        epoch: from 0.
        starts_BL: True where a word begins; needed for masking of words, and spans then end with a word.
    """
    turn = epoch if masking.n_masks is None else epoch % masking.n_masks
    keys_B = block_keys(seed, turn, indices_B)
    maskable_BL = masking.maskable_V.take(ids_BL)
    maskable_B = np.count_nonzero(maskable_BL, axis=1)
    budget_B = np.floor(masking.share * maskable_B + 0.5).astype(np.int64)
    budget_B = np.minimum(np.maximum(budget_B, 1), maskable_B)
    if masking.unit == "token":
        chosen_BL = _chosen_tokens(keys_B, maskable_BL, budget_B)
    else:
        if starts_BL is None and masking.unit == "word":
            raise UserError("Masking of whole words needs to know where words begin; this corpus does not tell.")
        starts_BL = np.ones_like(maskable_BL) if starts_BL is None else starts_BL
        if masking.unit == "span":
            starts_BL = _span_starts(keys_B, starts_BL, masking)
        chosen_BL = _chosen_units(keys_B, maskable_BL, starts_BL, budget_B)
    return _hidden(ids_BL, chosen_BL, keys_B, masking)


def block_keys(seed: int, turn: int, indices_B: np.ndarray) -> np.ndarray:
    """One 64-bit key for each block, from which all its random numbers follow."""
    start = mixed(np.asarray([seed], np.uint64) * _GOLDEN + np.uint64(turn))
    return mixed(start + np.asarray(indices_B).astype(np.uint64) * _GOLDEN)


def mixed(x: np.ndarray) -> np.ndarray:
    """SplitMix64's finalizer (Steele et al. 2014): each bit of the input changes each bit of the output."""
    x = x ^ (x >> np.uint64(30))
    x *= np.uint64(0xBF58476D1CE4E5B9)  # in place from here on: new memory takes as long as the sums
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def _bits(keys: np.ndarray, positions: np.ndarray, purpose: int) -> np.ndarray:
    """64 random bits for each key and position, by broadcasting."""
    return mixed(keys + (positions.astype(np.uint64) * np.uint64(4) + np.uint64(purpose + 1)) * _GOLDEN)


def _uniform(bits: np.ndarray) -> np.ndarray:
    return (bits >> np.uint64(11)) * 2.0**-53


def _chosen_tokens(keys_B: np.ndarray, maskable_BL: np.ndarray, budget_B: np.ndarray) -> np.ndarray:
    """The tokens with the smallest random numbers, exactly as many as the budget says."""
    scores_BL = _bits(keys_B[:, None], np.arange(maskable_BL.shape[1]), _CHOICE)
    scores_BL[~maskable_BL] = np.iinfo(np.uint64).max
    nth_B = np.maximum(budget_B - 1, 0)
    sorted_BL = np.partition(scores_BL, np.unique(nth_B), axis=1) if scores_BL.size else scores_BL
    last_B = np.take_along_axis(sorted_BL, nth_B[:, None], axis=1)
    chosen_BL = scores_BL <= last_B
    chosen_BL &= maskable_BL
    return chosen_BL


def _span_starts(keys_B: np.ndarray, starts_BL: np.ndarray, masking: Masking) -> np.ndarray:
    """Cuts each block into spans of whole words, of geometric length and at most `span_limit` tokens."""
    length = starts_BL.shape[1]
    positions_L = np.arange(length)
    cuts_BL = _uniform(_bits(keys_B[:, None], positions_L, _SPAN)) < masking.span_stop
    cuts_BL = (cuts_BL & starts_BL) | (positions_L == 0)
    begun_BL = np.maximum.accumulate(np.where(cuts_BL, positions_L, 0), axis=1)
    return cuts_BL | ((positions_L - begun_BL) % masking.span_limit == 0)


def _chosen_units(
    keys_B: np.ndarray, maskable_BL: np.ndarray, starts_BL: np.ndarray, budget_B: np.ndarray
) -> np.ndarray:
    """Units in random order, each taken if it still fits into the budget of its block."""
    batch, length = maskable_BL.shape
    begins_BL = maskable_BL & starts_BL
    begins_BL[:, 1:] |= maskable_BL[:, 1:] & ~maskable_BL[:, :-1]
    begins_BL[:, 0] = maskable_BL[:, 0]
    begins = np.flatnonzero(begins_BL)
    unit_BL = np.cumsum(begins_BL.ravel()).reshape(batch, length) - 1  # the number of each token's unit
    sizes = np.bincount(unit_BL[maskable_BL], minlength=begins.size)
    rows = np.repeat(np.arange(batch), np.count_nonzero(begins_BL, axis=1))
    scores = _bits(keys_B[rows], begins - rows * length, _CHOICE)
    taken, left_B = np.zeros(begins.size, bool), budget_B.copy()
    # The units with the smallest numbers come first and nearly always use up the budget: the rest is rarely sorted.
    early = _uniform(scores) < 1.25 * budget_B.sum() / max(1, maskable_BL.sum()) + 0.05
    for stage in (early, ~early):
        waiting = np.flatnonzero(stage & (left_B > 0)[rows])
        if waiting.size:
            waiting = waiting[np.argsort(scores[waiting])]
            waiting = waiting[np.argsort(rows[waiting].astype(_row_type(batch)), kind="stable")]
            taken[waiting] = fits = _fitting(sizes[waiting], rows[waiting], left_B)
            left_B -= np.bincount(rows[waiting[fits]], sizes[waiting[fits]], minlength=batch).astype(np.int64)
    return taken[unit_BL] & maskable_BL if begins.size else np.zeros_like(maskable_BL)


def _row_type(batch: int) -> type[np.unsignedinteger]:
    """NumPy sorts sixteen bits by their digits, in a fraction of the time."""
    return np.uint16 if batch <= 1 << 16 else np.uint64


def _fitting(sizes: np.ndarray, rows: np.ndarray, budget_B: np.ndarray) -> np.ndarray:
    """Takes units in their order as long as the budget of their row allows, passing over those that are too large.

    A unit that is too large now stays so, since a budget only shrinks. Hence each round drops what no longer fits
    and takes all that fit one after another; a few rounds come to the end.
    """
    taken, left_B = np.zeros(sizes.size, bool), budget_B.copy()
    waiting = np.arange(sizes.size)
    while True:
        waiting = waiting[sizes[waiting] <= left_B[rows[waiting]]]
        if waiting.size == 0:
            return taken
        size, row = sizes[waiting], rows[waiting]
        total = np.cumsum(size)
        first = np.flatnonzero(np.diff(row, prepend=-1))
        before = np.repeat(total[first] - size[first], np.diff(np.append(first, row.size)))
        fits = total - before <= left_B[row]
        taken[waiting[fits]] = True
        left_B -= np.bincount(row[fits], size[fits], minlength=left_B.size).astype(np.int64)
        waiting = waiting[~fits]


def _hidden(ids_BL: np.ndarray, chosen_BL: np.ndarray, keys_B: np.ndarray, masking: Masking) -> MaskedBlocks:
    """Replaces the chosen tokens: most by the mask, some by a random token, some by themselves."""
    chosen, counts_B = np.flatnonzero(chosen_BL), np.count_nonzero(chosen_BL, axis=1)
    rows = np.repeat(np.arange(len(ids_BL)), counts_B)
    positions, keys = chosen - rows * ids_BL.shape[1], keys_B[rows]
    kind = _uniform(_bits(keys, positions, _KIND))
    which = _uniform(_bits(keys, positions, _REPLACEMENT)) * masking.replacements.size
    drawn = masking.replacements[which.astype(np.int64)]
    hidden_BL = np.ascontiguousarray(ids_BL).copy()
    flat = hidden_BL.reshape(-1)
    stood = flat[chosen]
    flat[chosen] = np.where(
        kind < masking.masked, masking.mask_id, np.where(kind < masking.masked + masking.random, drawn, stood)
    )
    counts_BP = np.arange(counts_B.max(initial=0)) < counts_B[:, None]
    predict_BP, targets_BP = np.zeros(counts_BP.shape, np.int32), np.zeros(counts_BP.shape, np.int32)
    predict_BP[counts_BP], targets_BP[counts_BP] = positions, stood
    return MaskedBlocks(hidden_BL, predict_BP, targets_BP, counts_BP)
