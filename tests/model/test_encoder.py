"""The encoder's laws: padding changes nothing, packed documents stay apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from unmask import preset
from unmask.model import Bert

pytestmark = pytest.mark.backend
VOCAB = 40


def model(family, norm="post"):
    shape = {"vocab_size": VOCAB, "max_positions": 16, "d_model": 16, "d_ff": 24, "norm": norm}
    return Bert(preset(family, "tiny", **shape), "mlm", seed=1)


@pytest.fixture(scope="module", params=["bert", "roberta", "roberta-pre"])
def encoder(request):
    family, _, norm = request.param.partition("-")
    return model(family, norm or "post")


def logits(encoder, ids, **kwargs):
    return ops.convert_to_numpy(encoder(np.array(ids, np.int32), **kwargs))


LENGTH = 16  # one shape for every example, so that each backend compiles once


@settings(deadline=None, max_examples=15)
@given(st.lists(st.integers(5, VOCAB - 1), min_size=1, max_size=9), st.integers(1, 7), st.integers(5, VOCAB - 1))
def test_padding_changes_nothing(ids, more, junk):
    for family in ("bert", "roberta"):
        encoder = _cached(family)
        pad = encoder.config.pad_id
        row = [*ids, *[pad] * (LENGTH - len(ids))]
        np.testing.assert_allclose(
            logits(encoder, [row, row])[0, : len(ids)], logits(encoder, [row])[0, : len(ids)], atol=1e-5
        )
        # What stands behind the mask is not seen, whatever it is (for RoBERTa positions it must be padding).
        if family == "bert":
            hidden = [*ids, *[junk] * more, *[pad] * (LENGTH - len(ids) - more)]
            attend = np.arange(LENGTH)[None, :] < len(ids)
            np.testing.assert_allclose(
                logits(encoder, [hidden], attend_BL=attend)[0, : len(ids)],
                logits(encoder, [row])[0, : len(ids)],
                atol=1e-5,
            )


_models = {}


def _cached(family):
    if family not in _models:
        _models[family] = model(family)
    return _models[family]


def test_a_padded_row_equals_the_row_alone(encoder):
    pad = encoder.config.pad_id
    alone = logits(encoder, [[5, 6, 7, 8]])
    padded = logits(encoder, [[5, 6, 7, 8, pad, pad], [9, 10, 11, 12, 13, 14]])
    np.testing.assert_allclose(padded[0, :4], alone[0], atol=1e-5)


def test_packed_documents_equal_documents_apart(encoder):
    texts = [[5, 6, 7], [8, 9, 10, 11, 12], [13, 14]]
    pad = encoder.config.pad_id
    packed = [[*sum(texts, []), pad, pad]]
    documents = [[1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 0, 0]]
    together = logits(encoder, packed, documents_BL=np.array(documents, np.int32))[0]
    start = 0
    for text in texts:
        np.testing.assert_allclose(together[start : start + len(text)], logits(encoder, [text])[0], atol=1e-5)
        start += len(text)
    assert np.isfinite(together).all()


def test_a_packed_row_may_be_longer_than_the_positions(encoder):
    documents = np.repeat(np.arange(3), 10)[None].astype(np.int32)
    ids = np.tile(np.arange(5, 15), 3)[None].astype(np.int32)
    together = logits(encoder, ids, documents_BL=documents)[0]
    np.testing.assert_allclose(together[20:], logits(encoder, ids[:, :10])[0], atol=1e-5)


def test_both_directions_are_read(encoder):
    """Changing the last token changes the first one's hidden state, and the other way round."""
    before, after = logits(encoder, [[5, 6, 7, 8]]), logits(encoder, [[5, 6, 7, 9]])
    assert np.abs(before[0, 0] - after[0, 0]).max() > 1e-6
    assert np.abs(before[0, 3] - logits(encoder, [[6, 6, 7, 8]])[0, 3]).max() > 1e-6


def test_an_empty_row_gives_finite_numbers(encoder):
    pad = encoder.config.pad_id
    assert np.isfinite(logits(encoder, [[pad] * 4, [5, 6, 7, 8]])).all()
