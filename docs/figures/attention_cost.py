"""Measures what one layer of attention costs as texts grow: RoBERTa-base's shape, one text, forward, on the CPU.

    OMP_NUM_THREADS=1 KERAS_BACKEND=torch python docs/figures/attention_cost.py [--lengths 512 1024 2048 4096]

Prints a row for each length: milliseconds of the processor with the backend's fused kernel and with all weights kept,
those of the layer's feed-forward network beside it, and the megabytes that the weights take.
"""

import argparse
import itertools
import time
from collections.abc import Callable

import numpy as np

import unmask
from unmask.model import Bert  # noqa: F401  (chooses the backend before Keras is imported)

from keras import ops  # isort: skip

from unmask.model.attention import MultiHeadAttention
from unmask.model.layers import FeedForward


def milliseconds(compute: Callable[[], object], repeats: int = 5) -> float:
    """The quickest of some calls; the first is not counted."""
    times = []
    for _ in range(repeats + 1):
        begun = time.process_time()
        np.asarray(ops.convert_to_numpy(compute()))
        times.append(1000 * (time.process_time() - begun))
    return min(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[128, 512, 1024, 2048, 4096])
    said = parser.parse_args()
    config = unmask.preset("roberta", "base")
    attention = MultiHeadAttention(config, itertools.count(), name="attention")
    feed_forward = FeedForward(config, itertools.count())
    attention.build()
    feed_forward.build()
    print(f"{'tokens':>7} {'fused ms':>9} {'weights kept ms':>16} {'feed-forward ms':>16} {'weights MB':>11}")
    for length in said.lengths:
        x = np.random.default_rng(0).standard_normal((1, length, config.d_model)).astype("float32")
        x_BLD = ops.convert_to_tensor(x)
        fused = milliseconds(lambda x_BLD=x_BLD: attention(x_BLD)[0])
        kept = milliseconds(lambda x_BLD=x_BLD: attention(x_BLD, with_weights=True)[0])
        fed = milliseconds(lambda x_BLD=x_BLD: feed_forward(x_BLD))
        megabytes = config.n_heads * length**2 * 4 / 1e6
        print(f"{length:>7} {fused:>9.0f} {kept:>16.0f} {fed:>16.0f} {megabytes:>11.0f}", flush=True)


if __name__ == "__main__":
    main()
