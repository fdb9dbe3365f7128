"""Batches of like length: every example once, the same for the same seed and epoch, others in the next."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.buckets import cut, epoch_batches

lengths = st.lists(st.integers(1, 500), min_size=1, max_size=300).map(np.asarray)


@given(lengths, st.integers(1, 40), st.integers(0, 2**31), st.integers(0, 50))
def test_every_example_once(lengths_N, size, seed, epoch):
    batches = epoch_batches(lengths_N, size=size, seed=seed, epoch=epoch)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths_N)))
    assert len(batches) == -(-len(lengths_N) // size)
    assert sum(len(batch) < size for batch in batches) <= 1
    assert all(1 <= len(batch) <= size for batch in batches)


@given(lengths, st.integers(1, 40), st.integers(0, 1000))
def test_a_function_of_seed_and_epoch(lengths_N, size, seed):
    one, other = (epoch_batches(lengths_N, size=size, seed=seed, epoch=3) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def pairs(batches):
    return {frozenset((int(a), int(b))) for batch in batches for a in batch for b in batch if a < b}


def test_who_meets_whom_differs_from_epoch_to_epoch():
    """Few examples are one pool, where only the noise on lengths parts them; of many, hardly two meet again."""
    for n, most in ((100, 0.75), (4000, 0.15)):
        lengths_N = np.random.default_rng(0).integers(5, 100, n)
        first = pairs(epoch_batches(lengths_N, size=16, seed=0, epoch=0))
        for seed, epoch in ((0, 1), (0, 2), (1, 0)):
            met = pairs(epoch_batches(lengths_N, size=16, seed=seed, epoch=epoch))
            assert len(first & met) < most * len(first)


def test_padding_is_saved():
    lengths_N = np.random.default_rng(0).integers(5, 100, 4000)
    batches = epoch_batches(lengths_N, size=32, seed=0, epoch=0)
    padded = sum(len(batch) * lengths_N[batch].max() for batch in batches)
    assert padded < 1.15 * lengths_N.sum()
    order = np.random.default_rng(0).permutation(4000)
    at_random = sum(32 * lengths_N[order[i : i + 32]].max() for i in range(0, 4000, 32))
    assert at_random > 1.6 * lengths_N.sum()


def test_the_small_batch_is_not_always_the_last_nor_of_the_longest():
    lengths_N = np.arange(1, 38)
    places, longest = set(), set()
    for epoch in range(40):
        batches = epoch_batches(lengths_N, size=8, seed=0, epoch=epoch)
        (small,) = (place for place, batch in enumerate(batches) if len(batch) == 5)
        places.add(small)
        longest.add(max(batches, key=lambda batch: lengths_N[batch].max()) is batches[0])
    assert len(places) > 2
    assert longest == {True, False}


def price(pieces, lengths_N, piece_costs):
    return sum(len(piece) * lengths_N[piece].max() + piece_costs for piece in pieces)


@given(lengths, st.integers(1, 5000), st.integers(0, 300))
def test_pieces_hold_every_example_once_and_not_too_many(lengths_N, most, costs):
    pieces = cut(lengths_N, most_tokens=most, piece_costs=costs)
    assert sorted(i for piece in pieces for i in piece) == list(range(len(lengths_N)))
    assert all(len(piece) == 1 or len(piece) * lengths_N[piece].max() <= most for piece in pieces)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8).map(np.asarray), st.integers(0, 100))
def test_no_other_pieces_of_sorted_texts_are_cheaper(lengths_N, costs):
    order = np.argsort(lengths_N)
    cheapest = min(
        price(np.split(order, places), lengths_N, costs)
        for n in range(len(order))
        for places in combinations(range(1, len(order)), n)
    )
    assert price(cut(lengths_N, most_tokens=10**6, piece_costs=costs), lengths_N, costs) == cheapest


def test_long_texts_are_parted_from_short_ones_if_it_pays():
    lengths_N = np.asarray([10, 100, 11, 12, 10])
    assert [sorted(piece.tolist()) for piece in cut(lengths_N, most_tokens=4096, piece_costs=128)] == [
        [1],
        [0, 2, 3, 4],
    ]
    assert len(cut(lengths_N, most_tokens=4096, piece_costs=1 << 30)) == 1
