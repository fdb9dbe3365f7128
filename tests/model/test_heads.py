"""Heads: the masked language model at given positions only, and tied weights."""

import numpy as np
import pytest
from keras import ops

from unmask import backend, preset
from unmask.model import Bert

pytestmark = pytest.mark.backend


@pytest.fixture(scope="module", params=["mlm", "mlm+nsp"])
def model(request):
    return Bert(preset("bert", "tiny", vocab_size=30, d_model=16, d_ff=24, max_positions=12), request.param, seed=0)


def masked_lm(result):
    return ops.convert_to_numpy(result[0] if isinstance(result, tuple) else result)


def test_at_positions_equals_everywhere(model):
    ids = np.random.default_rng(0).integers(5, 30, (3, 8)).astype(np.int32)
    predict = np.array([[0, 3], [7, 7], [2, 5]], np.int32)
    everywhere, somewhere = masked_lm(model(ids)), masked_lm(model(ids, predict_BP=predict))
    assert somewhere.shape == (3, 2, 30)
    np.testing.assert_allclose(somewhere, np.take_along_axis(everywhere, predict[..., None], axis=1), atol=1e-6)


def test_gradients_at_positions_equal_those_everywhere(model):
    ids = np.random.default_rng(0).integers(5, 30, (2, 8)).astype(np.int32)
    predict = np.array([[1, 6], [4, 4]], np.int32)

    def first(result):
        return result[0] if isinstance(result, tuple) else result

    def at(logits_BLV):
        return ops.take_along_axis(logits_BLV, ops.convert_to_tensor(predict[..., None]), axis=1)

    somewhere = backend.loss_and_gradients(model, lambda: ops.sum(first(model(ids, predict_BP=predict)) ** 2))[1]
    everywhere = backend.loss_and_gradients(model, lambda: ops.sum(at(first(model(ids))) ** 2))[1]
    for path, gradient in everywhere.items():
        np.testing.assert_allclose(somewhere[path], gradient, atol=1e-4, err_msg=path)


def test_dropout_of_heads_is_that_of_transformers():
    """Read off its code: which head takes `classifier_dropout` and which the encoder's own."""
    config = preset("bert", "tiny", vocab_size=30, classifier_dropout=0.4)
    for family, own, plain in (
        ("bert", ["classify", "tag", "choose"], []),
        ("roberta", ["classify", "tag"], ["choose"]),
        ("distilbert", ["classify", "choose"], ["tag", "read"]),
    ):
        rates = {head: Bert(config.replace(family=family), head, seed=0).head.dropout.rate for head in own + plain}
        assert rates == dict.fromkeys(own, 0.4) | dict.fromkeys(plain, 0.1)


def test_output_weights_are_the_token_embeddings(model):
    ids = np.array([[5, 6, 7]], np.int32)
    before = masked_lm(model(ids))
    tokens = model.encoder.embeddings.tokens.embeddings
    kept = ops.convert_to_numpy(tokens.value).copy()
    changed = kept.copy()
    changed[20] += 1.0  # a token that the text does not have
    tokens.assign(changed)
    after = masked_lm(model(ids))
    tokens.assign(kept)
    assert np.abs(after - before)[..., 20].min() > 0
    np.testing.assert_allclose(np.delete(after, 20, -1), np.delete(before, 20, -1), atol=1e-6)
