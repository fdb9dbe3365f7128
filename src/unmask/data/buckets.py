"""Batches of like length that stay random: padding is waste, but who meets whom must differ from epoch to epoch."""

import numpy as np

_POOL = 16
"""So many batches' worth of examples are drawn at random, and only within them like lengths are put together."""
_JITTER = 0.1
"""Lengths count as this much longer or shorter, so that small data, which is one pool, is not always cut alike."""


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
    batches = []
    for first in range(0, len(order), size * _POOL):
        pool = order[first : first + size * _POOL]
        pool = pool[np.argsort(noisy_N[pool], kind="stable")]
        batches += [pool[start : start + size] for start in range(0, len(pool), size)]
    # The small batch that is left over must not always hold the longest texts.
    return [batches[i] for i in random.permutation(len(batches))]
