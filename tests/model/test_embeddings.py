"""Positions: the paper's formula, Marian's layout, RoBERTa's offset, packed documents."""

import math

import numpy as np
import pytest
from keras import ops
from transformers import MarianConfig
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

from unmask.model.embeddings import position_ids, sinusoidal_positions

pytestmark = pytest.mark.backend


def test_sinusoids_are_the_papers_element_by_element():
    table = sinusoidal_positions(50, 16, halves=False)
    for position, i in np.ndindex(50, 8):
        angle = position / 10000 ** (2 * i / 16)
        assert table[position, 2 * i] == pytest.approx(math.sin(angle), abs=1e-6)
        assert table[position, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-6)


def test_halves_are_marians():
    embedding = MarianSinusoidalPositionalEmbedding(50, MarianConfig(d_model=16).d_model)
    np.testing.assert_allclose(sinusoidal_positions(50, 16, halves=True), embedding.create_weight().numpy(), atol=1e-6)


def positions(ids, *, after_pad=None, documents=None):
    ids = ops.convert_to_tensor(np.array(ids, np.int32))
    documents = None if documents is None else ops.convert_to_tensor(np.array(documents, np.int32))
    return ops.convert_to_numpy(position_ids(ids, after_pad=after_pad, documents_BL=documents)).tolist()


def test_bert_counts_from_zero():
    assert positions([[7, 8, 9, 0]]) == [[0, 1, 2, 3]]


def test_roberta_starts_behind_the_padding_index_and_skips_padding():
    assert positions([[0, 7, 8, 2, 1, 1]], after_pad=1) == [[2, 3, 4, 5, 1, 1]]
    assert positions([[1, 1, 0, 7, 2]], after_pad=1) == [[1, 1, 2, 3, 4]]


def test_packed_documents_start_anew():
    documents = [[4, 4, 4, 9, 9, 0]]
    assert positions([[0, 7, 2, 0, 2, 1]], documents=documents) == [[0, 1, 2, 0, 1, 0]]
    assert positions([[0, 7, 2, 0, 2, 1]], after_pad=1, documents=documents) == [[2, 3, 4, 2, 3, 1]]
