"""Batches of like length that stay random: padding is waste, but who meets whom must differ from epoch to epoch."""

import numpy as np

_POOL = 50
"""So many batches' worth of examples, a quarter of the data at most and four batches at least, are drawn at random;
only within them like lengths are put together."""
_JITTER = 0.05
"""Lengths count as this much longer or shorter, so that small data, which is few pools, is not always cut alike."""


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
