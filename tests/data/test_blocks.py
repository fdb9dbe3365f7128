"""Blocks: every token exactly once an epoch, in every format; order, borders and special tokens."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.corpora import random_documents, write_corpus
from unmask import UserError
from unmask.data.blocks import FORMATS, PAIRS, Blocks, Layout, best_fit
from unmask.data.bounds import shortened
from unmask.data.shards import SENTENCE, TRAIN, WORD, Corpus, Document, manifest_of, write_shard
from unmask.files import write_json

ROBERTA = Layout((0,), (2, 2), (2,), 1)
BERT = Layout((101,), (102,), (102,), 0)


def blocks_of(corpus, form, *, length=32, layout=ROBERTA, seed=3):
    return Blocks(corpus.shards(TRAIN), layout, form=form, length=length, seed=seed)


def read(blocks, epoch):
    """The tokens of every block, special ones removed, as (shard, place) pairs."""
    table = blocks.table(epoch)
    return [
        (int(shard), place)
        for shard, start, stop in zip(table.shards, table.starts, table.stops, strict=True)
        for place in range(start, stop)
    ]


@pytest.mark.parametrize("form", FORMATS)
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), length=st.integers(12, 70), longest=st.sampled_from([2, 9, 60, 300]))
def test_no_token_is_lost_or_repeated(tmp_path_factory, form, seed, length, longest):
    corpus = write_corpus(tmp_path_factory.mktemp("corpus"), seed=seed, documents=12, longest=longest)
    blocks = blocks_of(corpus, form, length=length, seed=seed)
    everything = [(n, place) for n, shard in enumerate(corpus.shards(TRAIN)) for place in range(len(shard.ids))]
    for epoch in (0, 1, 5):
        assert sorted(read(blocks, epoch)) == everything
        assert len(blocks.table(epoch)) == blocks.n_blocks
        assert sorted(blocks.order(epoch)) == list(range(blocks.n_blocks))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("layout", [ROBERTA, BERT], ids=["roberta", "bert"])
def test_rows_hold_the_tokens_of_their_pieces(tmp_path, form, layout):
    corpus = write_corpus(tmp_path, documents=30)
    blocks = blocks_of(corpus, form, layout=layout)
    batch = blocks.batch(0, np.arange(blocks.n_blocks), blocks.length)
    special = {*layout.first, *layout.last, layout.pad_id}
    words = tokens = 0
    for row, ids in enumerate(batch.ids_BL):
        length = blocks.row_length(0, row)
        assert length <= blocks.length
        assert batch.attend_BL[row].sum() == length
        assert batch.attend_BL[row, :length].all()
        assert ids[0] == layout.first[0]
        assert ids[length - 1] == layout.last[0]
        assert (ids[length:] == layout.pad_id).all()
        words += batch.starts_BL[row].sum()
        tokens += sum(int(i) not in special for i in ids)
    assert words == sum(int((shard.begins & WORD).astype(bool).sum()) for shard in corpus.shards(TRAIN))
    # Ids of the random corpus may equal special ones of BERT's layout here, hence the bound.
    assert tokens >= 0.97 * corpus.tokens(TRAIN)


def test_full_sentences_cross_documents_with_a_separator(tmp_path):
    documents = [Document(np.arange(10, 14), begins(4)), Document(np.arange(20, 26), begins(6))]
    blocks = blocks_of(written(tmp_path, documents), "full-sentences", length=16)
    assert blocks.n_blocks == 1
    expected = [0, 10, 11, 12, 13, 2, 20, 21, 22, 23, 24, 25, 2, 1, 1, 1]
    assert blocks.batch(0, [0], 16).ids_BL[0].tolist() == expected


def test_doc_sentences_do_not(tmp_path):
    documents = [Document(np.arange(10, 14), begins(4)), Document(np.arange(20, 26), begins(6))]
    blocks = blocks_of(written(tmp_path, documents), "doc-sentences", length=16)
    assert [row[row > 2].tolist() for row in blocks.batch(0, [0, 1], 16).ids_BL] == [
        [10, 11, 12, 13],
        [20, 21, 22, 23, 24, 25],
    ]


def test_a_block_ends_with_a_sentence_where_it_can(tmp_path):
    document = Document(np.arange(10, 40), begins(30, sentences=(0, 6, 12, 18, 24)))
    blocks = blocks_of(written(tmp_path, [document]), "full-sentences", length=16)
    assert blocks.table(0).lengths.tolist() == [12, 12, 6]


def test_a_sentence_longer_than_a_block_goes_on_in_the_next(tmp_path):
    blocks = blocks_of(written(tmp_path, [Document(np.arange(10, 43), begins(33))]), "doc-sentences", length=16)
    assert blocks.table(0).lengths.tolist() == [14, 14, 5]


def test_packed_documents_are_numbered_and_wrapped(tmp_path):
    documents = [Document(np.arange(10, 10 + n), begins(n)) for n in (3, 7, 2)]
    blocks = blocks_of(written(tmp_path, documents), "packed-documents", length=20)
    batch = blocks.batch(0, [0], 20)
    assert blocks.n_blocks == 1
    assert batch.ids_BL[0].tolist() == [0, 10, 11, 12, 2, 0, 10, 11, 12, 13, 14, 15, 16, 2, 0, 10, 11, 2, 1, 1]
    assert batch.documents_BL[0].tolist() == [1] * 5 + [2] * 9 + [3] * 4 + [0] * 2


@pytest.mark.parametrize("form", PAIRS)
@pytest.mark.parametrize("layout", [ROBERTA, BERT], ids=["roberta", "bert"])
def test_pairs_look_as_the_tokenizer_makes_them(tmp_path, form, layout):
    blocks = blocks_of(write_corpus(tmp_path, documents=30), form, layout=layout)
    table, batch = blocks.table(0), blocks.batch(0, np.arange(blocks.n_blocks), blocks.length)
    shards = blocks.shards
    for row in range(blocks.n_blocks):
        pieces = [
            shards[table.shards[p]].ids[table.starts[p] : table.stops[p]].tolist()
            for p in range(table.begins[row], table.begins[row + 1])
        ]
        first, second = pieces if len(pieces) == 2 else (pieces[0], None)
        expected = [*layout.first, *first]
        segments = [0] * len(expected)
        if second is not None:
            expected += [*layout.between, *second]
            segments += [0] * len(layout.between) + [1] * len(second)
        expected += layout.last
        segments += [int(second is not None)] * len(layout.last)
        assert batch.ids_BL[row, : len(expected)].tolist() == expected
        assert batch.segments_BL[row, : len(expected)].tolist() == segments


@pytest.mark.parametrize("form", PAIRS)
def test_half_of_the_pairs_are_torn_and_labelled_truly(tmp_path, form):
    corpus = write_corpus(tmp_path, shards=1, documents=60, longest=200)
    blocks = blocks_of(corpus, form, length=48)
    documents = corpus.shards(TRAIN)[0].documents
    for epoch in range(3):
        table = blocks.table(epoch)
        asked = table.follows >= 0
        assert abs(table.follows[asked].mean() - 0.5) < 0.03
        for row in np.flatnonzero(asked):
            first, second = table.begins[row], table.begins[row] + 1
            assert (table.starts[second] == table.stops[first]) == table.follows[row]
            if not table.follows[row]:
                of = np.searchsorted(documents, [table.starts[first], table.starts[second]], side="right")
                assert of[0] != of[1]


@pytest.mark.parametrize("form", PAIRS)
def test_partners_change_with_the_epoch_and_only_with_it(tmp_path, form):
    corpus = write_corpus(tmp_path, documents=60)
    one, other = blocks_of(corpus, form), blocks_of(corpus, form)
    np.testing.assert_array_equal(one.table(1).starts, other.table(1).starts)
    assert (one.table(0).starts != one.table(1).starts).any()
    assert (one.order(0) != one.order(1)).any()


def test_texts_without_a_second_one_are_paired_or_halved(tmp_path):
    generator = np.random.default_rng(0)
    documents = [
        Document(d.ids, np.where(np.arange(len(d.ids)), WORD, SENTENCE | WORD))
        for d in random_documents(generator, 90, longest=12)
    ]
    blocks = blocks_of(written(tmp_path, documents), "sentence-pair", length=48)
    follows = blocks.table(0).follows
    assert abs(follows[follows >= 0].mean() - 0.5) < 0.05


@settings(deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=80))
def test_best_fit_overfills_no_bin_and_leaves_none_half_empty(sizes):
    sizes = np.asarray(sizes)
    rows = best_fit(sizes, 50)
    filled = np.bincount(rows, sizes)
    assert filled.max() <= 50
    assert (filled > 0).all()
    assert (filled <= 25).sum() <= 1  # two such bins would have been one


def test_shortened():
    assert shortened(np.asarray([0, 3, 13]), 4).tolist() == [0, 3, 7, 11, 13]


def test_refusals(tmp_path):
    corpus = write_corpus(tmp_path)
    with pytest.raises(UserError, match="There is no input format 'lines'; choose one of full-sentences"):
        blocks_of(corpus, "lines")
    with pytest.raises(UserError, match="Blocks of 6 tokens are too short"):
        blocks_of(corpus, "doc-sentences", length=6)
    with pytest.raises(UserError, match="empty"):
        Blocks([], ROBERTA, form="doc-sentences", length=32, seed=0)


def begins(length, sentences=(0,)):
    bits = np.full(length, WORD)
    bits[list(sentences)] |= SENTENCE
    return bits


def written(folder, documents):
    entry = write_shard(folder, TRAIN, "00000", documents, 200)
    write_json(folder / "manifest.json", manifest_of([entry], n_ids=200, tokenizer_hash="none"))
    return Corpus(folder)
