"""Few queries over a long memory: what `few_ask` gives without keys and values is what attention gives with them."""

import keras
import numpy as np
import pytest
from keras import ops

from unmask import backend, preset
from unmask.model import Bert
from unmask.model.attention import MultiHeadAttention, few_ask, scaled_dot_product_attention
from unmask.model.direct import Dropout

pytestmark = pytest.mark.backend
BATCH, QUERIES, MEMORY, HEADS, WIDTH = 4, 2, 7, 3, 5
SHAPES = {"query": (BATCH, QUERIES, HEADS, WIDTH), "memory": (BATCH, MEMORY, HEADS * WIDTH)}
SHAPES |= dict.fromkeys(("key", "value"), (HEADS * WIDTH, HEADS, WIDTH))
SHAPES |= dict.fromkeys(("key_bias", "value_bias"), (HEADS, WIDTH))
ALLOWED = np.arange(MEMORY) < np.asarray([7, 3, 0, 1])[:, None, None, None]


@pytest.fixture
def given():
    generator = np.random.default_rng(0)
    return {
        name: keras.Variable(generator.standard_normal(shape).astype(np.float32), name=name)
        for name, shape in SHAPES.items()
    }


def without(given, allowed, dropout=None):
    names = ("query", "memory", "key", "value", "value_bias")
    return few_ask(*(given[name].value for name in names), allowed, dropout=dropout)


def with_keys_and_values(given, allowed, dropout=None):
    key, value = (
        ops.einsum("bmd,dhk->bmhk", given["memory"].value, given[name].value) + given[f"{name}_bias"].value
        for name in ("key", "value")
    )
    weighted = scaled_dot_product_attention(
        given["query"].value, key, value, allowed, dropout=dropout, with_weights=True
    )
    return weighted[0]


@pytest.fixture(params=["in one function", "step by step"])
def way(request, monkeypatch):
    """Where the backend has it in one function, and where it has not."""
    if request.param == "step by step":
        monkeypatch.setattr("unmask.model.attention.fuses_dropout", lambda x: False)
    return request.param


@pytest.mark.parametrize("rate", [None, 0.5], ids=["kept", "half of it dropped out"])
@pytest.mark.parametrize("allowed", [None, ALLOWED], ids=["everything", "some, and for one text nothing"])
def test_outputs_and_gradients(given, allowed, rate, way):
    allowed = None if allowed is None else ops.convert_to_tensor(allowed)
    holder = type("Holder", (), {"trainable_variables": list(given.values())})()

    def computed(how):
        dropout = None if rate is None else Dropout(rate, seed=5, name="dropout")
        return how(given, allowed, dropout)

    (value, gradients), (wanted, expected) = (
        backend.loss_and_gradients(holder, lambda how=how: ops.sum(ops.sin(computed(how))))
        for how in (without, with_keys_and_values)
    )
    found, formula = (ops.convert_to_numpy(computed(how)) for how in (without, with_keys_and_values))
    np.testing.assert_allclose(found, formula, atol=1e-5)
    cancels = None if rate is None else 1e-5  # with half of it dropped out, the sum is near 0
    assert value == pytest.approx(wanted, rel=1e-5, abs=cancels)
    for path, gradient in gradients.items():
        np.testing.assert_allclose(gradient, expected[path], atol=1e-4, err_msg=path)


def test_a_text_is_classified_without_keys_and_values_and_a_masked_lm_has_them(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "unmask.model.attention.few_ask", lambda *args, **kwargs: asked.append(1) or few_ask(*args, **kwargs)
    )
    shape = {"vocab_size": 30, "d_model": 32, "n_heads": 2, "d_ff": 16, "n_layers": 3, "max_positions": 16}
    ids = np.arange(5, 21).reshape(2, 8).astype(np.int32)
    for head, predict, times in (("classify", None, 1), ("mlm", ids[:, :8] % 8, 0), ("tag", None, 0)):
        asked.clear()
        Bert(preset("bert", "tiny", **shape), head, seed=0)(ids, predict_BP=predict)
        assert len(asked) == times, head


def test_dropout_while_training(given):
    drops = Dropout(0.5, 3, name="dropout")
    runs = [ops.convert_to_numpy(without(given, None, drops)) for _ in range(2)]
    assert not np.array_equal(*runs)


def test_how_many_are_few():
    attention = MultiHeadAttention(preset("bert", "tiny", d_model=64, n_heads=4), iter(range(9)), name="attention")
    assert attention.is_for_few(4)
    assert not attention.is_for_few(5)
    assert not attention.is_for_few(ops.convert_to_tensor(1))  # as in a graph whose shapes are open
