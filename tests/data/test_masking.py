"""Masking's laws: counts, shares, specials, whole words, and dependence on (seed, epoch, block index) alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask import UserError
from unmask.data.masking import Masking, mask_blocks

VOCAB, MASK, SPECIALS = 200, 4, (0, 1, 2, 3, 4)
UNITS = ["token", "word", "span"]


def masking(**changes):
    return Masking(**{"mask_id": MASK, "vocab_size": VOCAB, "special_ids": SPECIALS, "share": 0.15, **changes})


def blocks(batch=8, length=64, seed=0):
    """Blocks with <s> in front, </s> somewhere, padding behind; and where words begin."""
    generator = np.random.default_rng(seed)
    ids = generator.integers(5, VOCAB, (batch, length)).astype(np.int32)
    ids[:, 0] = 0
    ids[np.arange(batch), generator.integers(5, length - 5, batch)] = 2
    ids[np.arange(length)[None, :] >= generator.integers(length - 4, length + 1, batch)[:, None]] = 1
    return ids, generator.random((batch, length)) < 0.6


def apply(ids, starts, how, *, seed=1, epoch=0, indices=None):
    indices = np.arange(len(ids)) if indices is None else indices
    return mask_blocks(ids, indices, how, seed=seed, epoch=epoch, starts_BL=starts)


def chosen(result, length):
    found = np.zeros((len(result.ids_BL), length), bool)
    rows, nth = np.nonzero(result.counts_BP)
    found[rows, result.predict_BP[rows, nth]] = True
    return found


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.integers(0, 50), st.sampled_from(UNITS), st.floats(0.02, 0.6))
def test_what_is_predicted_is_what_stood_there(seed, epoch, unit, share):
    ids, starts = blocks(seed=seed % 1000)
    result = apply(ids, starts, masking(unit=unit, share=share), seed=seed, epoch=epoch)
    where = chosen(result, ids.shape[1])
    rows, nth = np.nonzero(result.counts_BP)
    np.testing.assert_array_equal(result.targets_BP[rows, nth], ids[rows, result.predict_BP[rows, nth]])
    np.testing.assert_array_equal(result.ids_BL[~where], ids[~where])
    assert not np.isin(ids[where], SPECIALS).any()  # specials are never chosen
    assert not np.isin(result.ids_BL[where], [i for i in SPECIALS if i != MASK]).any()  # nor drawn
    maskable = (~np.isin(ids, SPECIALS)).sum(1)
    budget = np.maximum(np.floor(share * maskable + 0.5), 1)
    if unit == "token":
        np.testing.assert_array_equal(where.sum(1), budget)
    else:
        assert (where.sum(1) <= budget).all()


def test_eighty_ten_ten():
    ids, starts = blocks(batch=4000, length=128)
    result = apply(ids, starts, masking())
    where = chosen(result, 128)
    after, before = result.ids_BL[where], ids[where]
    assert (after == MASK).mean() == pytest.approx(0.8, abs=0.02)
    assert (after == before).mean() == pytest.approx(0.1, abs=0.02)
    drawn = after[(after != MASK) & (after != before)]
    counts = np.bincount(drawn, minlength=VOCAB)[5:]
    assert counts.min() > 0
    assert counts.std() < 3 * np.sqrt(counts.mean())  # every token is drawn about as often as another


def test_every_position_is_chosen_equally_often():
    ids = np.full((3000, 20), 7, np.int32)
    where = chosen(apply(ids, None, masking(share=0.3)), 20)
    assert np.abs(where.mean(0) - 0.3).max() < 0.04
    together = (where[:, :-1] & where[:, 1:]).mean()
    assert together == pytest.approx(0.3 * 5 / 19, abs=0.02)  # neighbours independent, but for the fixed count


@pytest.mark.parametrize("unit", UNITS)
def test_a_mask_depends_on_seed_epoch_and_index_alone(unit):
    ids, starts = blocks(batch=12)
    how = masking(unit=unit)
    together = apply(ids, starts, how, epoch=3)
    order = np.random.default_rng(0).permutation(12)
    shuffled = apply(ids[order], starts[order], how, epoch=3, indices=order)
    np.testing.assert_array_equal(shuffled.ids_BL, together.ids_BL[order])
    for row in range(12):  # one by one, as many workers would
        alone = apply(ids[row : row + 1], starts[row : row + 1], how, epoch=3, indices=np.array([row]))
        np.testing.assert_array_equal(alone.ids_BL[0], together.ids_BL[row])
    for other in ({"seed": 2}, {"epoch": 4}, {"indices": np.arange(12) + 1}):
        changed = apply(ids, starts, how, **{"epoch": 3, **other})
        assert not np.array_equal(changed.ids_BL, together.ids_BL)


def test_static_is_dynamic_with_the_epoch_modulo_n():
    ids, starts = blocks()
    static, dynamic = masking(n_masks=10), masking()
    for epoch in (0, 7, 10, 23, 40):
        np.testing.assert_array_equal(
            apply(ids, starts, static, epoch=epoch).ids_BL, apply(ids, starts, dynamic, epoch=epoch % 10).ids_BL
        )
    seen = [apply(ids, starts, static, epoch=epoch).ids_BL.tobytes() for epoch in range(40)]
    assert len(set(seen)) == 10  # each of ten masks four times in forty epochs
    assert len({apply(ids, starts, dynamic, epoch=epoch).ids_BL.tobytes() for epoch in range(40)}) == 40


def test_words_are_whole():
    ids, starts = blocks(batch=200)
    where = chosen(apply(ids, starts, masking(unit="word")), ids.shape[1])
    maskable = ~np.isin(ids, SPECIALS)
    inside = maskable[:, 1:] & maskable[:, :-1] & ~starts[:, 1:]  # a token that goes on with the word before it
    assert (where[:, 1:] == where[:, :-1])[inside].all()
    budget = np.floor(0.15 * maskable.sum(1) + 0.5)
    assert (budget - where.sum(1)).mean() < 0.1  # short words fill what long ones leave


def test_words_are_taken_in_random_order_if_they_fit():
    """Against the rule told one word at a time, as BERT's release does it."""
    from unmask.data.masking import _fitting

    generator = np.random.default_rng(3)
    rows = np.sort(generator.integers(0, 5, 200))
    sizes, budget = generator.integers(1, 9, 200), generator.integers(0, 40, 5)
    expected, left = [], budget.copy()
    for size, row in zip(sizes, rows, strict=True):
        expected.append(size <= left[row])
        left[row] -= size if expected[-1] else 0
    np.testing.assert_array_equal(_fitting(sizes, rows, budget), expected)


def test_spans_are_longer_than_words():
    ids = np.full((400, 200), 7, np.int32)
    where = chosen(apply(ids, None, masking(unit="span")), 200)
    edges = np.diff(where.astype(int), axis=1, prepend=0, append=0)
    lengths = np.flatnonzero((edges == -1).ravel()) - np.flatnonzero((edges == 1).ravel())
    assert lengths.mean() > 3
    assert where.mean() == pytest.approx(0.15, abs=0.005)


def test_a_block_of_specials_or_of_nothing():
    for unit in UNITS:
        ids = np.array([[0, 2, 1, 1], [0, 7, 2, 1]], np.int32)
        result = apply(ids, np.ones_like(ids, bool), masking(unit=unit))
        assert result.counts_BP.sum(1).tolist() == [0, 1]
        empty = apply(ids[:0], np.ones((0, 4), bool), masking(unit=unit))
        assert empty.ids_BL.shape == (0, 4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"share": 0.0}, "share of masked tokens is 0.0"),
        ({"share": 1.5}, "share of masked tokens is 1.5"),
        ({"masked": 0.9, "random": 0.2}, "must not exceed 1 together"),
        ({"unit": "sentence"}, "no masking of 'sentence'"),
        ({"n_masks": 0}, "needs 1 mask or more"),
    ],
)
def test_impossible_settings(changes, message):
    with pytest.raises(UserError, match=message):
        masking(**changes)


def test_words_need_to_be_known():
    ids, _ = blocks()
    with pytest.raises(UserError, match="needs to know where words begin"):
        apply(ids, None, masking(unit="word"))
