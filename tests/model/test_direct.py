"""The parts of a model: dropout's share and scale, LoRA on the linear map, mixed precision."""

import keras
import numpy as np
import pytest
from keras import ops

from unmask import backend, preset
from unmask.backend.operations import next_seed
from unmask.model import Bert
from unmask.model.direct import DrawnSeed, Dropout, Linear

pytestmark = pytest.mark.backend


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_dropout_drops_its_share_and_keeps_the_mean(rate):
    dropout = Dropout(rate, 3, name="dropout")
    ones = ops.ones((400, 301))
    first, second = (ops.convert_to_numpy(dropout(ones, training=True)) for _ in range(2))
    np.testing.assert_allclose(np.unique(first), [0, 1 / (1 - rate)], rtol=1e-6)
    assert (first == 0).mean() == pytest.approx(rate, abs=0.005)
    both = ((first == 0) & (second == 0)).mean()
    assert both == pytest.approx(rate**2, abs=0.005)  # one draw does not depend on the one before
    assert (first == 0).mean(0).std() < 0.05  # nor a column on its neighbour
    np.testing.assert_array_equal(ops.convert_to_numpy(dropout(ones, training=False)), 1)


def test_dropout_goes_on_from_its_state():
    """The state is a variable of the model: put back, it gives the same numbers again."""
    dropout = Dropout(0.5, 3, name="dropout")
    ones = ops.ones((7, 5))
    dropout(ones, training=True)
    state = ops.convert_to_numpy(dropout.variables[0].value).copy()
    first = ops.convert_to_numpy(dropout(ones, training=True))
    dropout.variables[0].assign(state)
    np.testing.assert_array_equal(ops.convert_to_numpy(dropout(ones, training=True)), first)


def test_lora_trains_two_thin_matrices():
    model = Bert(preset("bert", "tiny", vocab_size=30, d_model=16, d_ff=24), "encoder", seed=0)
    ids = np.array([[5, 6, 7]], np.int32)
    before = ops.convert_to_numpy(model(ids))
    for layer in model.encoder.stack:
        layer.attention.query.enable_lora(2)
        layer.attention.value.enable_lora(2)
    np.testing.assert_allclose(ops.convert_to_numpy(model(ids)), before, atol=1e-6)
    _, gradients = backend.loss_and_gradients(model, lambda: ops.sum(ops.square(model(ids))))
    trained = [path for path, gradient in gradients.items() if "lora" in path]
    assert len(trained) == 8
    assert not any(path.endswith("query/kernel") for path in gradients)


def test_mixed_precision_computes_in_bfloat16_and_keeps_float32():
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = Bert(preset("roberta", "tiny", vocab_size=30, d_model=16, d_ff=24, n_heads=2), "mlm", seed=0)
    finally:
        keras.config.set_dtype_policy("float32")
    plain = Bert(model.config, "mlm", seed=0)
    ids = np.array([[0, 5, 6, 7, 2, 1]], np.int32)
    logits = model(ids)
    assert keras.backend.standardize_dtype(logits.dtype) == "bfloat16"
    assert {str(v.dtype) for v in model.trainable_variables} == {"float32"}
    np.testing.assert_allclose(
        ops.convert_to_numpy(ops.cast(logits, "float32")), ops.convert_to_numpy(plain(ids)), atol=0.05
    )
    loss, gradients = backend.loss_and_gradients(
        model, lambda: ops.mean(ops.square(ops.cast(model(ids, training=True), "float32")))
    )
    assert np.isfinite(loss)
    assert all(np.isfinite(gradient.astype(np.float32)).all() for gradient in gradients.values())


def test_linear_is_x_w_plus_b():
    linear = Linear(3, 2, name="linear")
    linear.build()
    linear.kernel.assign(np.arange(6).reshape(3, 2))
    linear.bias.assign([10, 20])
    assert ops.convert_to_numpy(linear(ops.convert_to_tensor([[1.0, 0.0, 2.0]]))).tolist() == [[18, 31]]


@pytest.mark.parametrize(("policy", "near"), [("float32", 1e-6), ("mixed_bfloat16", 2e-3)])
def test_checkpointing_computes_the_same_with_the_same_dropout(policy, near):
    """Activations computed again in the backward pass: the same sums, gradients, updates and random states."""

    def trained(checkpointing):
        config = preset("roberta", "tiny", vocab_size=50, max_positions=32, dropout=0.2, attention_dropout=0.2)
        keras.config.set_dtype_policy(policy)
        try:
            model = Bert(config, "mlm", seed=3)
        finally:
            keras.config.set_dtype_policy("float32")
        model.encoder.checkpointing = checkpointing

        def loss(arrays):
            value = ops.sum(ops.square(ops.cast(model(arrays["ids"], training=True), "float32")))
            return value, ops.stack([value])

        optimizer = keras.optimizers.AdamW(1e-3)
        optimizer.build(model.trainable_variables)
        learner = backend.learner(model, loss, optimizer)
        ids = np.random.default_rng(0).integers(5, 50, (2, 12)).astype("int32")
        ids[1, 9:] = 1
        sums = [learner.add({"ids": ids}) for _ in range(2)]
        learner.update(rate=1e-3, max_norm=1.0)
        return sums, [ops.convert_to_numpy(variable) for variable in model.variables]

    (sums, variables), (again, recomputed) = trained(False), trained(True)
    np.testing.assert_allclose(sums, again, rtol=near)
    for one, other in zip(variables, recomputed, strict=True):
        np.testing.assert_allclose(one, other, atol=near)


def test_dropout_draws_the_seeds_that_keras_would():
    if backend.current() != "torch":
        pytest.skip("elsewhere Keras draws them")
    ours, keras_own = (Dropout(0.5, 7, name="dropout").seed_generator for _ in range(2))
    assert [next_seed(ours) for _ in range(5)] == [tuple(keras_own.next().tolist()) for _ in range(5)]
    assert next_seed(DrawnSeed(ours.state.value)) == (7, 5)
