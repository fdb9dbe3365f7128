"""In which order examples are seen."""

import numpy as np


def epoch_batches(n_examples: int, *, size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """The numbers of the examples of each batch: every example once, at random, a function of (seed, epoch) alone.

    Lengths play no part in it: who meets whom is left to chance, and padding is saved inside a batch.

    Args:
        n_examples: that there are.
        size: examples a batch; the last of an epoch may be smaller.
        seed: of the run.
        epoch: from 0.
    """
    order = np.random.default_rng((seed, epoch)).permutation(n_examples)
    return [order[first : first + size] for first in range(0, n_examples, size)]
