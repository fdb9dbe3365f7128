"""Batches: a function of the step's number alone; nothing lost, whatever the pieces and the workers."""

from dataclasses import replace

import numpy as np
import pytest

from data.corpora import write_corpus
from unmask.data.batches import Batches, ahead
from unmask.data.blocks import FORMATS, Blocks, Layout
from unmask.data.masking import Masking
from unmask.data.shards import TRAIN

MASKING = Masking(mask_id=4, vocab_size=200, special_ids=(0, 1, 2, 3, 4), share=0.15)
LAYOUT = Layout((0,), (2, 2), (2,), 1)


def batches(corpus, form="full-sentences", **changes):
    settings = {"masking": MASKING, "size": 10, "piece_tokens": 200, "seed": 5, "fixed_shapes": False}
    turns = changes.get("masking", MASKING).n_masks
    blocks = Blocks(corpus.shards(TRAIN), LAYOUT, form=form, length=48, seed=2, turns=turns)
    return Batches(blocks=blocks, **{**settings, **changes})


def rows(batch):
    """Every row of a batch without its padding, as a set of texts that can be compared."""
    found = []
    for piece in batch.pieces:
        for row in range(len(piece["ids_BL"])):
            kept, counted = piece["attend_BL"][row], piece["counts_BP"][row] > 0
            if kept.any():
                predicted = zip(piece["predict_BP"][row][counted], piece["targets_BP"][row][counted], strict=True)
                found.append(
                    (tuple(piece["ids_BL"][row][kept].tolist()), tuple((int(a), int(b)) for a, b in predicted))
                )
    return sorted(found)


@pytest.mark.parametrize("form", FORMATS)
def test_pieces_and_fixed_shapes_change_nothing(tmp_path, form):
    corpus = write_corpus(tmp_path)
    small, large = batches(corpus, form), batches(corpus, form, piece_tokens=10**6)
    fixed = batches(corpus, form, fixed_shapes=True)
    for step in range(6):
        one, other, third = small.step(step), large.step(step), fixed.step(step)
        assert rows(one) == rows(other) == rows(third)
        assert (one.n_tokens, one.n_predicted, one.n_pairs) == (other.n_tokens, other.n_predicted, other.n_pairs)
        assert all(piece["ids_BL"].size <= 200 or len(piece["ids_BL"]) == 1 for piece in one.pieces)


def test_pieces_have_equally_many_rows(tmp_path):
    made = batches(write_corpus(tmp_path), size=17, piece_tokens=8 * 48)
    assert [len(piece["ids_BL"]) for piece in made.of(np.zeros(17, int), np.arange(17)).pieces] == [6, 6, 5]


def test_fixed_shapes_are_few(tmp_path):
    corpus = write_corpus(tmp_path)
    shapes = {
        tuple(piece[name].shape for name in sorted(piece))
        for step in range(20)
        for piece in batches(corpus, "doc-sentences", fixed_shapes=True).step(step).pieces
    }
    assert len(shapes) <= 8  # rows of 32 and of 48 tokens, four numbers of them


def test_an_epoch_takes_every_block_once_and_the_next_one_masks_it_anew(tmp_path):
    made = batches(write_corpus(tmp_path), size=7)
    n_blocks = made.blocks.n_blocks
    steps = -(-2 * n_blocks // 7)
    targets = {}
    taken = 0
    for step in range(steps):
        samples = np.arange(step * 7, step * 7 + 7)
        taken += len(rows(made.step(step)))
        for sample in samples[samples < 2 * n_blocks]:
            epoch, nth = divmod(int(sample), n_blocks)
            targets.setdefault(int(made.blocks.order(epoch)[nth]), []).append(epoch)
    assert taken == steps * 7
    assert all(sorted(epochs) == [0, 1] for epochs in targets.values())
    assert len(targets) == n_blocks
    first = made.of(np.zeros(5, int), np.arange(5))
    second = made.of(np.ones(5, int), np.arange(5))
    assert rows(first) != rows(second)


@pytest.mark.parametrize("form", FORMATS)
def test_static_masks_are_dynamic_ones_of_epoch_modulo_n(tmp_path, form):
    corpus = write_corpus(tmp_path)
    static = batches(corpus, form, masking=replace(MASKING, n_masks=3))
    dynamic, indices = batches(corpus, form), np.arange(9)
    for epoch in range(7):
        expected = dynamic.of(np.full(9, epoch % 3), indices)
        assert rows(static.of(np.full(9, epoch), indices)) == rows(expected)


@pytest.mark.parametrize("workers", [1, 4])
def test_workers_change_nothing(tmp_path, workers):
    made = batches(write_corpus(tmp_path))
    alone = list(ahead(made, range(3, 15), workers=0))
    shared = list(ahead(made, range(3, 15), workers=workers))
    for one, other in zip(alone, shared, strict=True):
        for a, b in zip(one.pieces, other.pieces, strict=True):
            assert all((a[name] == b[name]).all() for name in a)


def test_a_batch_depends_on_no_earlier_one(tmp_path):
    corpus = write_corpus(tmp_path)
    fresh = batches(corpus).step(11)
    used = batches(corpus)
    for step in range(11):
        used.step(step)
    assert rows(fresh) == rows(used.step(11))


def test_evaluation_takes_blocks_from_everywhere(tmp_path):
    made = batches(write_corpus(tmp_path))
    assert sum(len(rows(batch)) for batch in made.in_order(10**6)) == made.blocks.n_blocks
    some = list(made.in_order(15))
    assert sum(len(rows(batch)) for batch in some) == 15
    assert [rows(batch) for batch in some] == [rows(batch) for batch in made.in_order(15)]
