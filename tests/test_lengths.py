"""Pieces of like length: every text once, none too large, none dearer than it must be."""

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unmask.lengths import cut, fill

lengths = st.lists(st.integers(1, 500), min_size=1, max_size=300).map(np.asarray)


def price(pieces, lengths_N, piece_costs, *, rounded=False, squared=False):
    sizes = [1 << (len(piece) - 1).bit_length() if rounded else len(piece) for piece in pieces]
    longest = [lengths_N[piece].max() ** (2 if squared else 1) for piece in pieces]
    return sum(size * length + piece_costs for size, length in zip(sizes, longest, strict=True))


@given(lengths, st.integers(1, 5000), st.integers(0, 300), st.booleans())
def test_pieces_hold_every_text_once_and_not_too_many(lengths_N, most, costs, rounded):
    pieces = cut(lengths_N, most_tokens=most, piece_costs=costs, rounded=rounded)
    assert sorted(i for piece in pieces for i in piece) == list(range(len(lengths_N)))
    assert all(len(piece) == 1 or len(piece) * lengths_N[piece].max() <= most for piece in pieces)


few_lengths = st.lists(st.integers(1, 60), min_size=1, max_size=8).map(np.asarray)


@given(few_lengths, st.integers(0, 400), st.booleans(), st.booleans())
def test_no_other_pieces_of_sorted_texts_are_cheaper(lengths_N, costs, rounded, squared):
    order = np.argsort(lengths_N)
    cheapest = min(
        price(np.split(order, places), lengths_N, costs, rounded=rounded, squared=squared)
        for n in range(len(order))
        for places in combinations(range(1, len(order)), n)
    )
    found = cut(lengths_N, piece_costs=costs, rounded=rounded, squared=squared)
    assert price(found, lengths_N, costs, rounded=rounded, squared=squared) == cheapest


def test_long_texts_are_parted_from_short_ones_if_it_pays():
    lengths_N = np.asarray([10, 100, 11, 12, 10])
    assert [sorted(piece.tolist()) for piece in cut(lengths_N, most_tokens=4096, piece_costs=128)] == [
        [1],
        [0, 2, 3, 4],
    ]
    assert len(cut(lengths_N, most_tokens=4096, piece_costs=1 << 30)) == 1


@given(lengths, st.integers(1, 5000))
def test_filled_pieces_hold_every_text_once_are_full_and_not_too_full(lengths_N, most):
    pieces = fill(lengths_N, most_tokens=most)
    assert np.array_equal(np.sort(np.concatenate(pieces)), np.arange(len(lengths_N)))
    assert all(len(piece) == 1 or lengths_N[piece].sum() <= most for piece in pieces)
    for one, following in pairwise(pieces):
        assert lengths_N[one].sum() + lengths_N[following[0]] > most
        assert lengths_N[one].max() <= lengths_N[following].min()
