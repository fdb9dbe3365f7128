"""Initial weights: the same on every backend, drawn as the papers say."""

import zlib

import numpy as np
import pytest
from keras import ops

from unmask import preset
from unmask.model import Bert, Transformer
from unmask.model.initialize import truncated_normal

pytestmark = pytest.mark.backend


def values(model):
    return {v.path: ops.convert_to_numpy(v.value) for v in model.trainable_variables}


def test_bert_draws_a_truncated_normal_and_sets_the_rest():
    weights = values(Bert(preset("bert", "tiny", vocab_size=3000), "mlm", seed=0))
    for path, value in weights.items():
        if path.endswith(("kernel", "embeddings")):
            assert np.abs(value).max() <= 0.04
            if value.size > 10_000:
                assert value.std() == pytest.approx(0.02 * 0.88, rel=0.05)  # cutting at 2σ narrows to 0.88 σ
        else:
            assert (value == (1 if path.endswith("gamma") else 0)).all()


def test_values_depend_on_seed_and_path_alone():
    config = preset("bert", "tiny", vocab_size=50)
    first, again, other = (values(Bert(config, "mlm", seed=seed)) for seed in (7, 7, 8))
    tagging = values(Bert(config, "tag", seed=7))
    path = "bert/encoder/layer_0/attention/query/kernel"
    np.testing.assert_array_equal(first[path], again[path])
    np.testing.assert_array_equal(first[path], tagging[path])
    assert not np.array_equal(first[path], other[path])
    assert not np.array_equal(first[path], first[path.replace("layer_0", "layer_1")])
    generator = np.random.default_rng([7, zlib.crc32(path.encode())])  # NumPy's, hence the same on every backend
    np.testing.assert_array_equal(first[path], truncated_normal((128, 128), 0.02, generator))


def test_transformer_embeddings_fit_their_scale():
    weights = values(Transformer(preset("transformer", "tiny", vocab_size=3000), seed=0))
    assert weights["transformer/embeddings/tokens/embeddings"].std() == pytest.approx(0.88 / 128**0.5, rel=0.05)
    inner = weights["transformer/encoder/layer_0/feed_forward/inner/kernel"]
    assert np.abs(inner).max() <= (6 / (128 + 512)) ** 0.5


def test_truncated_normal_stays_within_two_deviations():
    drawn = truncated_normal((1000, 100), 0.5, np.random.default_rng(0))
    assert drawn.dtype == np.float32
    assert np.abs(drawn).max() <= 1.0
    assert np.abs(drawn).max() > 0.99
