"""Computing a batch without its padding gives what computing it with padding gives: outputs and gradients."""

from functools import partial

import keras
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keras import ops

from unmask import backend, preset
from unmask.model import Bert
from unmask.model import unpadded as unpadding
from unmask.model.attention import scaled_dot_product_attention, unpadded_attention
from unmask.model.direct import Dropout
from unmask.model.unpadded import unpadded

pytestmark = pytest.mark.backend
LENGTHS = np.asarray([3, 16, 5, 5, 9, 4, 0, 12])
ATTEND = np.arange(16) < LENGTHS[:, None]
WIDTH, BLOCK_COSTS = 16, 40
SHAPE = {
    "vocab_size": 40,
    "max_positions": 16,
    "d_model": WIDTH,
    "d_ff": 24,
    "n_layers": 2,
    "n_heads": 2,
    "dropout": 0.0,
}


@pytest.fixture(autouse=True)
def everywhere(monkeypatch):
    """JAX and TensorFlow would leave it; what they compute must be right all the same."""
    monkeypatch.setattr(unpadding, "leaves_padding_out", lambda: True)
    monkeypatch.setattr(unpadding, "_BLOCK_COSTS", BLOCK_COSTS * WIDTH)


def texts(pad_id, attend=ATTEND):
    ids = np.random.default_rng(0).integers(5, 40, attend.shape).astype(np.int32)
    return np.where(attend, ids, pad_id).astype(np.int32)


def made(family, head, **shape):
    classes = ("a", "b", "c") if head in ("classify", "tag") else None
    return Bert(
        preset(family, "tiny", **{**SHAPE, "attention_dropout": 0.0, "classes": classes, **shape}), head, seed=1
    )


def outputs(model, *, training=None, **inputs):
    found = model(**inputs, training=training)
    return list(found) if isinstance(found, tuple | list) else [found]


def at_tokens(output, attend):
    """What stands at padding has no meaning."""
    if tuple(output.shape[:2]) != attend.shape:
        return output
    return ops.where(attend.reshape(attend.shape + (1,) * (len(output.shape) - 2)), output, 0.0)


def n_slots(row):
    return sum(block.n_texts * block.n_memory for block in row.blocks)


def is_rounded(n_tokens, n_computed):
    """Up to 3 % more are computed, so that oneDNN's programs serve again."""
    return n_tokens <= n_computed <= max(n_tokens, n_tokens * 33 / 32)


HEADS = ("encoder", "pooler", "mlm", "mlm at some", "nsp", "mlm+nsp", "classify", "tag", "read", "choose")


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("head", HEADS)
def test_outputs_and_gradients(family, head, monkeypatch):
    name, _, some = head.partition(" at ")
    if family == "roberta" and "nsp" in name:
        pytest.skip("RoBERTa has no segments and no NSP")
    model = made(family, name)
    inputs = {"ids_BL": texts(model.config.pad_id), "attend_BL": ATTEND}
    if family == "bert":
        inputs["segments_BL"] = ((np.arange(16) > 3) & ATTEND).astype(np.int32)
    if some:
        inputs["predict_BP"] = np.stack([np.zeros_like(LENGTHS), np.maximum(LENGTHS, 1) - 1], axis=1).astype(np.int32)
    if name == "choose":
        inputs = {key: x.reshape(4, 2, 16) for key, x in inputs.items()}

    def loss():
        return sum(ops.sum(ops.sin(at_tokens(x, ATTEND) * 3)) for x in outputs(model, **inputs))

    found, (value, gradients) = outputs(model, **inputs), backend.loss_and_gradients(model, loss)
    monkeypatch.setattr(unpadding, "leaves_padding_out", lambda: False)
    expected, (expected_value, expected_gradients) = outputs(model, **inputs), backend.loss_and_gradients(model, loss)
    for one, other in zip(found, expected, strict=True):
        one, other = (ops.convert_to_numpy(at_tokens(x, ATTEND)) for x in (one, other))
        np.testing.assert_allclose(one, other, atol=2e-5)
    assert value == pytest.approx(expected_value, rel=1e-4)
    for path, gradient in gradients.items():
        np.testing.assert_allclose(gradient, expected_gradients[path], rtol=1e-5, atol=2e-4, err_msg=path)


def test_texts_of_one_length_in_a_wider_array():
    model = made("roberta", "tag")
    attend = np.broadcast_to(np.arange(16) < 5, (3, 16))
    ids = texts(model.config.pad_id, attend)
    assert len(unpadded(attend, width=WIDTH).tokens_N) == 15
    wide, narrow = (ops.convert_to_numpy(model(ids[:, :end], attend_BL=attend[:, :end])) for end in (16, 5))
    np.testing.assert_allclose(wide[:, :5], narrow, atol=1e-5)
    assert (wide[:, 5:] == wide[0, 5]).all()


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 30), min_size=1, max_size=12))
def test_in_a_row_and_back(lengths):
    attend = np.arange(31) < np.asarray(lengths)[:, None]
    ids = np.where(attend, np.random.default_rng(0).integers(1, 99, attend.shape), 0).astype(np.float32)
    row = unpadded(attend, width=WIDTH)
    assert is_rounded(sum(max(1, length) for length in lengths), len(row.tokens_N))
    back = ops.convert_to_numpy(row.padded(ops.expand_dims(row.row_of(ops.convert_to_tensor(ids)), -1)))[..., 0]
    np.testing.assert_array_equal(back, ids)


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 30), min_size=1, max_size=12))
def test_in_blocks_and_back(lengths):
    row = unpadded(np.arange(31) < np.asarray(lengths)[:, None], width=WIDTH)
    x_1ND = ops.convert_to_tensor(numbers(1, len(row.tokens_N), 2, seed=0))
    in_blocks = row.asked(x_1ND)
    assert in_blocks.shape[1] == n_slots(row)
    np.testing.assert_array_equal(*map(ops.convert_to_numpy, (row.answered(in_blocks), x_1ND)))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.booleans(), max_size=30), min_size=1, max_size=12))
def test_each_text_asks_by_its_wanted_tokens(texts_wanted):
    lengths, wanted_BL = [len(text) for text in texts_wanted], np.zeros((len(texts_wanted), 31), bool)
    for wanted_L, text in zip(wanted_BL, texts_wanted, strict=True):
        wanted_L[: len(text)] = text
    row = unpadded(np.arange(31) < np.asarray(lengths)[:, None], None, wanted_BL, width=WIDTH)
    asking = row.asked_by_wanted()
    assert is_rounded(wanted_BL.sum(), len(row.wanted.places_N))
    assert len(set(row.wanted.slot_of_N)) == len(row.wanted.places_N)
    slots_M = np.full(sum(block.n_texts * block.n_queries for block in asking.blocks), -1)
    slots_M[asking.asking_slot_of_N] = row.tokens_N[row.wanted.places_N]
    texts, first = iter(row.order_B), 0
    for block in asking.blocks:
        last = first + block.n_texts * block.n_queries
        for queries in slots_M[first:last].reshape(block.n_texts, block.n_queries):
            b, tokens = next(texts), queries[queries >= 0]
            assert (tokens // 31 == b).all()
            assert (np.diff(tokens) > 0).all()
            assert set(np.flatnonzero(wanted_BL[b])) <= set(tokens % 31)
        first = last


def test_many_lengths_are_rounded_to_few(monkeypatch):
    monkeypatch.setattr(unpadding, "_BLOCK_COSTS", 1_000_000)
    rng = np.random.default_rng(0)
    counts = set()
    for _ in range(200):
        attend = np.arange(60) < rng.integers(2, 60, 32)[:, None]
        row = unpadded(attend, None, attend & (rng.random(attend.shape) < 0.6), width=WIDTH)
        counts.add((len(row.tokens_N) % 16, len(row.wanted.places_N) % 8))
    assert counts == {(0, 0)}


def test_blocks_of_long_texts_are_of_few_lengths_too(monkeypatch):
    """Else neither programs of oneDNN nor freed memory would serve again; pretraining has hardly any padding."""
    monkeypatch.setattr(unpadding, "_BLOCK_COSTS", 1_000_000)
    rng = np.random.default_rng(0)
    for _ in range(50):
        lengths = 512 - rng.integers(0, 60, 6)
        row = unpadded(np.arange(512) < lengths[:, None], width=256)
        assert {block.n_memory % 8 for block in row.blocks} == {0}
        assert len(row.tokens_N) % 64 == 0
        assert is_rounded(lengths.sum(), len(row.tokens_N))
        assert len(row.tokens_N) <= n_slots(row) <= lengths.sum() + 6 * 16


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_tags_of_wanted_tokens_alone(family, monkeypatch):
    model = made(family, "tag")
    wanted = ATTEND & (np.random.default_rng(1).random(ATTEND.shape) < 0.5)
    wanted[2] = False  # a text of which nobody wants anything
    inputs = {"ids_BL": texts(model.config.pad_id), "attend_BL": ATTEND, "wanted_BL": wanted}

    def loss():
        return ops.sum(ops.sin(at_tokens(outputs(model, **inputs)[0], wanted) * 3))

    found, (value, gradients) = outputs(model, **inputs), backend.loss_and_gradients(model, loss)
    monkeypatch.setattr(unpadding, "leaves_padding_out", lambda: False)
    expected, (expected_value, expected_gradients) = outputs(model, **inputs), backend.loss_and_gradients(model, loss)
    one, other = (ops.convert_to_numpy(at_tokens(x[0], wanted)) for x in (found, expected))
    np.testing.assert_allclose(one, other, atol=2e-5)
    assert not np.allclose(*(ops.convert_to_numpy(at_tokens(x[0], ATTEND)) for x in (found, expected)), atol=1e-3)
    assert value == pytest.approx(expected_value, rel=1e-4)
    for path, gradient in gradients.items():
        np.testing.assert_allclose(gradient, expected_gradients[path], rtol=1e-5, atol=2e-4, err_msg=path)


def test_a_batch_without_padding_is_left_as_it_is():
    assert unpadded(np.ones((3, 7), bool), width=WIDTH) is None


@pytest.mark.parametrize("attend", [[[0, 1, 1], [1, 1, 1]], [[1, 0, 1], [1, 0, 0]]], ids=["before", "between"])
def test_padding_elsewhere_is_computed_as_it_was(attend):
    assert unpadded(np.asarray(attend, bool), width=WIDTH) is None


def test_what_padding_becomes_is_computed_if_somebody_asks():
    attend = np.arange(20) < np.asarray([[1], [20]])
    assert unpadded(attend, np.asarray([[0], [2]]), width=WIDTH) is not None
    assert unpadded(attend, np.asarray([[1], [2]]), width=WIDTH) is None


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_padding_becomes_zeros(norm):
    model = made("roberta", "encoder", norm=norm, pad_id=0)
    for variable in model.trainable_variables:  # else the bias of a LayerNorm is 0, whatever it is applied to
        variable.assign(numbers(*variable.shape, seed=3))
    hidden = ops.convert_to_numpy(model(texts(0), attend_BL=ATTEND))
    assert (hidden[~(np.arange(16) < np.maximum(LENGTHS, 1)[:, None])] == 0).all()
    assert (np.abs(hidden[ATTEND]).max(axis=-1) > 0).all()


def numbers(*shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_dropout_drops_weights_and_scales_up_the_others():
    row = unpadded(ATTEND, width=WIDTH)
    in_a_row = (ops.convert_to_tensor(numbers(1, len(row.tokens_N), 3, 4, seed=i)) for i in range(3))
    query, key, value = map(row.asked, in_a_row)
    assert n_slots(row) > len(row.tokens_N)
    plain = ops.convert_to_numpy(unpadded_attention(query, key, value, row))
    dropout = Dropout(0.3, 7, name="dropout")
    drawn = [ops.convert_to_numpy(unpadded_attention(query, key, value, row, dropout=dropout)) for _ in range(60)]
    assert not np.array_equal(drawn[0], drawn[1])
    assert np.abs(np.mean(drawn, axis=0) - plain).mean() < 0.06


@pytest.mark.parametrize("remembered", [0, 1 << 23])
@pytest.mark.parametrize("in_cache", [100, 1 << 20], ids=["one text or head at a time", "all at once"])
def test_dropout_of_all_blocks_at_once_is_that_of_each_by_itself(remembered, in_cache, monkeypatch):
    """Given the same numbers to keep: outputs and gradients of the fused function are those of the formula."""
    import unmask.backend.attention as fused_attention

    row = unpadded(ATTEND, width=WIDTH)
    variables = [keras.Variable(numbers(1, n_slots(row), 3, 4, seed=i), name=f"x{i}") for i in range(3)]
    if not backend.fuses_dropout(variables[0].value):
        pytest.skip("only PyTorch's attention is fused with dropout here")
    monkeypatch.setattr(fused_attention, "_REMEMBERED", remembered)
    monkeypatch.setattr(fused_attention, "_IN_CACHE", in_cache)
    sizes = [block.n_texts * 3 * block.n_queries * block.n_memory for block in row.blocks]
    keeps = [draw < 0.7 for draw in np.split(np.random.default_rng(1).random(sum(sizes)), np.cumsum(sizes)[:-1])]
    all_at_once = ops.convert_to_tensor(np.concatenate(keeps).astype(np.uint8))
    monkeypatch.setattr(fused_attention, "kept", lambda *_: all_at_once)
    blocks, one_by_one = row.blocks, iter(())

    class Kept:
        """Dropout that keeps what it is told to, block after block."""

        rate = 0.3

        def __call__(self, weights_BHLM, training):
            assert training
            return weights_BHLM * ops.convert_to_tensor(next(one_by_one).reshape(weights_BHLM.shape) / 0.7, "float32")

    def fused():
        how = 0.3, keras.random.SeedGenerator(0)
        return ops.sum(ops.sin(backend.fused_attention_of_blocks(*(v.value for v in variables), blocks, how)))

    def formula():
        nonlocal one_by_one
        one_by_one = iter(keeps)
        attention = partial(scaled_dot_product_attention, dropout=Kept(), with_weights=True)
        return ops.sum(ops.sin(row.attend(attention, *(v.value for v in variables))))

    holder = type("Holder", (), {"trainable_variables": variables})()
    (value, gradients), (wanted, expected) = (backend.loss_and_gradients(holder, loss) for loss in (fused, formula))
    assert value == pytest.approx(wanted, rel=1e-5)
    for path, gradient in gradients.items():
        np.testing.assert_allclose(gradient, expected[path], atol=1e-5, err_msg=path)


def test_layers_that_are_computed_again_give_the_same_gradients():
    fused = backend.current() == "torch"  # elsewhere every block draws for itself, and again would draw the same
    model = made("bert", "tag", dropout=0.2, attention_dropout=0.2 if fused else 0.0)
    ids, state = texts(0), [v for v in model.non_trainable_variables if "seed_generator" in v.path]
    begin = [v.numpy() for v in state]

    def run(checkpointing):
        for variable, value in zip(state, begin, strict=True):
            variable.assign(value)
        model.encoder.checkpointing = checkpointing
        return backend.loss_and_gradients(model, lambda: ops.sum(ops.sin(model(ids, attend_BL=ATTEND, training=True))))

    (value, gradients), (wanted, expected) = run(False), run(True)
    assert value == pytest.approx(wanted, rel=1e-5)
    for path, gradient in gradients.items():
        np.testing.assert_allclose(gradient, expected[path], rtol=1e-4, atol=1e-4, err_msg=path)
