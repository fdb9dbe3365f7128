"""Batches of like length that stay random: padding is waste, but who meets whom must differ from epoch to epoch."""

import numpy as np

_POOL = 50
"""So many batches' worth of examples, a quarter of the data at most and four batches at least, are drawn at random;
only within them like lengths are put together."""
_JITTER = 0.05
"""Lengths count as this much longer or shorter, so that small data, which is few pools, is not always cut alike."""

_NEVER = 1 << 60
"""Tokens that nobody pays for."""


def epoch_batches(lengths_N: np.ndarray, *, size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """The numbers of the examples of each batch: every example once, a function of (seed, epoch) alone.

    Args:
        lengths_N: tokens of each example.
        size: examples a batch; the last of an epoch may be smaller.
        seed: of the run.
        epoch: from 0.
    """
    random = np.random.default_rng((seed, epoch))
    order = random.permutation(len(lengths_N))
    noisy_N = lengths_N * random.uniform(1 - _JITTER, 1 + _JITTER, len(lengths_N))
    n_pool = size * min(_POOL, max(4, len(order) // size // 4))
    batches = []
    for first in range(0, len(order), n_pool):
        pool = order[first : first + n_pool]
        pool = pool[np.argsort(noisy_N[pool], kind="stable")]
        batches += [pool[start : start + size] for start in range(0, len(pool), size)]
    # The small batch that is left over must not always hold the longest texts.
    return [batches[i] for i in random.permutation(len(batches))]


def cut(lengths_N: np.ndarray, *, most_tokens: int, piece_costs: int) -> list[np.ndarray]:
    """A batch in pieces, the numbers of each one's examples: those pieces that are computed soonest.

    A piece costs its tokens, padding included, and a fixed price: long texts are parted from short ones if that saves
    more padding than one more piece costs.

    Args:
        lengths_N: tokens of each example.
        most_tokens: that a piece may have, unless it is a single example.
        piece_costs: the price of a piece, in tokens.
    """
    order = np.argsort(lengths_N, kind="stable")
    sorted_N = lengths_N[order]
    costs, begins = np.zeros(len(order) + 1), np.zeros(len(order) + 1, int)
    for end in range(1, len(order) + 1):  # the cheapest way to cut the `end` shortest: where does its last piece begin?
        tokens = np.arange(end, 0, -1) * sorted_N[end - 1]
        tokens[:-1] = np.where(tokens[:-1] > most_tokens, _NEVER, tokens[:-1])
        last = costs[:end] + tokens
        begins[end] = np.argmin(last)
        costs[end] = last[begins[end]] + piece_costs
    pieces, end = [], len(order)
    while end:
        pieces.append(order[begins[end] : end])
        end = begins[end]
    return pieces
