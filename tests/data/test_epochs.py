"""The order of an epoch: every example once, the same for the same seed and epoch, another in the next."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.epochs import epoch_batches


@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 2**31), st.integers(0, 50))
def test_every_example_once(n, size, seed, epoch):
    batches = epoch_batches(n, size=size, seed=seed, epoch=epoch)
    assert sorted(i for batch in batches for i in batch) == list(range(n))
    assert [len(batch) for batch in batches[:-1]] == [size] * (len(batches) - 1)
    assert 1 <= len(batches[-1]) <= size


@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 1000))
def test_a_function_of_seed_and_epoch(n, size, seed):
    one, other = (epoch_batches(n, size=size, seed=seed, epoch=3) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def pairs(batches):
    return {frozenset((int(a), int(b))) for batch in batches for a in batch for b in batch if a < b}


def test_who_meets_whom_is_left_to_chance():
    """Of 400 examples in batches of 16, two that met meet again with a probability of 15 in 399."""
    first = pairs(epoch_batches(400, size=16, seed=0, epoch=0))
    for seed, epoch in ((0, 1), (0, 2), (1, 0)):
        met = pairs(epoch_batches(400, size=16, seed=seed, epoch=epoch))
        assert 0.02 * len(first) < len(first & met) < 0.06 * len(first)
