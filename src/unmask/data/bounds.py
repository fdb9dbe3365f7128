"""Where sentences and documents begin in a shard."""

from dataclasses import dataclass

import numpy as np

from unmask.data.shards import SENTENCE, OpenShard


@dataclass(frozen=True)
class Bounds:
    """Where sentences and documents of a shard begin; both end with the number of tokens."""

    sentences: np.ndarray
    documents: np.ndarray


def bounds_of(shard: OpenShard) -> Bounds:
    """The bounds of a shard; an empty document has none."""
    documents = np.unique(shard.documents)
    sentences = np.flatnonzero(shard.begins & SENTENCE)
    return Bounds(np.union1d(sentences, documents), documents)


def shortened(starts: np.ndarray, limit: int) -> np.ndarray:
    """Bounds with more of them, so that nothing between two is longer than `limit`.

    Example: [0, 3, 13] with a limit of 4 gives [0, 3, 7, 11, 13].
    """
    if len(starts) < 2:
        return starts
    counts = -(-np.diff(starts) // limit)
    nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.append(np.repeat(starts[:-1], counts) + nth * limit, starts[-1])
