"""AdamW by the formula, on every backend, whichever kernel computes it."""

import keras
import numpy as np
import pytest
from keras import ops

from unmask import backend, preset
from unmask.model import Bert
from unmask.train.optimizer import adamw, decays

pytestmark = pytest.mark.backend


def by_the_formula(value, gradients, *, rate, decay, beta_1, beta_2, epsilon):
    """Loshchilov & Hutter, algorithm 2, with ε as Keras and fairseq have it."""
    value, m, v = value.astype(np.float64), 0.0, 0.0
    for t, gradient in enumerate(gradients, start=1):
        m = beta_1 * m + (1 - beta_1) * gradient
        v = beta_2 * v + (1 - beta_2) * gradient**2
        alpha = rate * np.sqrt(1 - beta_2**t) / (1 - beta_1**t)
        value = value * (1 - rate * decay) - alpha * m / (np.sqrt(v) + epsilon)
    return value


@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize("max_norm", [1e9, 0.05])
def test_updates_follow_the_formula(decay, max_norm):
    model = Bert(preset("roberta", "tiny", vocab_size=40, max_positions=8), "classify", seed=0)
    numbers = {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-2}
    optimizer = adamw(model, weight_decay=decay, **numbers)
    weights = [
        np.random.default_rng(i).normal(size=v.shape).astype("float32") for i, v in enumerate(model.trainable_variables)
    ]

    def loss(arrays):
        # Linear, so that the gradient of every variable is known: scale · weights.
        sums = [
            ops.sum(v.value * ops.convert_to_tensor(w)) for v, w in zip(model.trainable_variables, weights, strict=True)
        ]
        total = ops.sum(ops.stack(sums)) * arrays["scale"]
        return total, ops.stack([total])

    before = [ops.convert_to_numpy(v.value).copy() for v in model.trainable_variables]
    learner = backend.learner(model, loss, optimizer)
    norm = np.sqrt(sum(float((w.astype(np.float64) ** 2).sum()) for w in weights))
    scales, clipped = (0.5, -0.25, 1.0), []
    for scale in scales:
        for part in (0.25, 0.75):  # two pieces of a batch
            learner.add({"scale": np.asarray(scale * part, np.float32)})
        found = learner.update(rate=0.01, max_norm=max_norm)
        assert found == pytest.approx(abs(scale) * norm, rel=1e-4)
        clipped.append(scale * min(1.0, max_norm / (abs(scale) * norm)))
    for variable, start, weight in zip(model.trainable_variables, before, weights, strict=True):
        expected = by_the_formula(
            start,
            [scale * weight.astype(np.float64) for scale in clipped],
            rate=0.01,
            decay=decay if decays(variable.path) else 0.0,
            **numbers,
        )
        np.testing.assert_allclose(ops.convert_to_numpy(variable.value), expected, rtol=2e-5, atol=2e-6)
    assert int(optimizer.iterations.value) == len(scales)
    assert keras.backend.backend() == backend.current()


FEW = [[[3, 5, 5], [5, 7]], [[7, 9]], [[11, 3], [11, 3]]]
MOST, ALL = [[[*range(25)]]], [[[*range(40), 1, 1]]]


@pytest.mark.parametrize("max_norm", [1e9, 0.05])
@pytest.mark.parametrize("updates", [FEW, FEW + MOST + FEW, FEW[:1] + ALL + FEW], ids=["few", "most", "all"])
def test_rows_of_a_table_that_is_larger_than_the_batch(updates, max_norm):
    """Rows that were looked up, once, twice, in both pieces, long ago or not at all: all move as the formula says."""
    model = Bert(preset("roberta", "tiny", vocab_size=40, max_positions=8), "classify", seed=0)
    table = model.encoder.embeddings.tokens
    numbers = {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-2}
    direction = np.random.default_rng(0).normal(size=table.embeddings.shape[1]).astype("float32")

    def loss(arrays):
        total = ops.sum(table(arrays["ids"]) * ops.convert_to_tensor(direction))
        return total, ops.stack([total])

    start = ops.convert_to_numpy(table.embeddings.value).copy()
    learner = backend.learner(model, loss, adamw(model, weight_decay=0.3, **numbers))
    gradients = []
    for pieces in updates:
        counts = np.bincount(np.concatenate(pieces), minlength=40)
        gradient = counts[:, None] * direction.astype(np.float64)
        norm = np.sqrt((gradient**2).sum())
        for ids in pieces:
            learner.add({"ids": np.asarray([ids], np.int32)})
        assert learner.update(rate=0.01, max_norm=max_norm) == pytest.approx(norm, rel=1e-5)
        gradients.append(gradient * min(1.0, max_norm / norm))
    expected = by_the_formula(start, gradients, rate=0.01, decay=0.3, **numbers)
    np.testing.assert_allclose(ops.convert_to_numpy(table.embeddings.value), expected, rtol=2e-5, atol=2e-6)
