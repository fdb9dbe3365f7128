"""Attention: the formula element by element, fused = explicit, masks, heads."""

import keras
import numpy as np
import pytest
from keras import ops

from unmask import backend, preset
from unmask.model.attention import MultiHeadAttention, allowed_to_attend, scaled_dot_product_attention
from unmask.model.initialize import drawn, filled_with, seeds_from

pytestmark = pytest.mark.backend
B, L, M, H, K = 2, 5, 7, 3, 4


def arrays(*shapes, seed=0):
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(shape).astype(np.float32) for shape in shapes]


def tensor(x):
    return ops.convert_to_tensor(x)


def numpy(x):
    return ops.convert_to_numpy(x)


@pytest.fixture
def qkv():
    return arrays((B, L, H, K), (B, M, H, K), (B, M, H, K))


def by_hand(query, key, value, allowed):
    """s_ij = q_i·k_j / √d_k, α_ij = softmax, C_i = Σ_j α_ij v_j: one number at a time."""
    output, weights = np.zeros((B, L, H, K)), np.zeros((B, H, L, M))
    for b, h, i in np.ndindex(B, H, L):
        exponentials = [
            np.exp(query[b, i, h] @ key[b, j, h] / np.sqrt(K)) if allowed[b, 0, i, j] else 0.0 for j in range(M)
        ]
        if sum(exponentials):
            weights[b, h, i] = np.array(exponentials) / sum(exponentials)
        output[b, i, h] = sum(weights[b, h, i, j] * value[b, j, h] for j in range(M))
    return output, weights


def test_equals_the_formula_and_fused_equals_explicit(qkv):
    allowed = np.random.default_rng(1).random((B, 1, L, M)) < 0.6
    allowed[0, 0, 2] = False  # a row that may attend to nothing gives zeros
    expected, expected_weights = by_hand(*qkv, allowed)
    fused, none = scaled_dot_product_attention(*qkv, ops.convert_to_tensor(allowed))
    explicit, weights = scaled_dot_product_attention(*qkv, ops.convert_to_tensor(allowed), with_weights=True)
    assert none is None
    np.testing.assert_allclose(numpy(fused), expected, atol=1e-6)
    np.testing.assert_allclose(numpy(explicit), expected, atol=1e-6)
    np.testing.assert_allclose(numpy(weights), expected_weights, atol=1e-6)
    assert (numpy(fused)[0, 2] == 0).all()
    assert (numpy(explicit)[0, 2] == 0).all()


def test_without_a_mask(qkv):
    fused, _ = scaled_dot_product_attention(*qkv)
    explicit, weights = scaled_dot_product_attention(*qkv, with_weights=True)
    np.testing.assert_allclose(numpy(fused), numpy(explicit), atol=1e-6)
    np.testing.assert_allclose(numpy(weights).sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("shape", [(B, 1, 1, M), (1, 1, L, M), (B, 1, L, M), (B, H, L, M)])
def test_every_broadcast_of_a_mask(qkv, shape):
    allowed = ops.convert_to_tensor(np.random.default_rng(2).random(shape) < 0.7)
    fused, _ = scaled_dot_product_attention(*qkv, allowed)
    explicit, _ = scaled_dot_product_attention(*qkv, allowed, with_weights=True)
    np.testing.assert_allclose(numpy(fused), numpy(explicit), atol=1e-6)


def test_large_scores_do_not_overflow():
    query, key, value = arrays((1, 2, 1, 4), (1, 3, 1, 4), (1, 3, 1, 4))
    for with_weights in (False, True):
        output, _ = scaled_dot_product_attention(query * 1e4, key, value, with_weights=with_weights)
        assert np.isfinite(numpy(output)).all()


def test_masks_are_made_in_one_place():
    attend = np.array([[True, True, False]])
    documents = np.array([[1, 2, 2]])
    assert allowed_to_attend() is None
    assert numpy(allowed_to_attend(attend)).tolist() == [[[[True, True, False]]]]
    assert numpy(allowed_to_attend(None, documents))[0, 0].tolist() == [
        [True, False, False],
        [False, True, True],
        [False, True, True],
    ]
    assert numpy(allowed_to_attend(attend, documents, causal_length=3))[0, 0].tolist() == [
        [True, False, False],
        [False, True, False],
        [False, True, False],
    ]


@pytest.fixture(scope="module")
def attention():
    config = preset("bert", "tiny", d_model=12, n_heads=3, vocab_size=20, d_ff=8, attention_dropout=0.5)
    layer = MultiHeadAttention(config, seeds_from(0), name="attention")
    with filled_with(drawn(config, 0), layer):
        layer.build()
    return layer


def test_multi_head_is_concat_of_heads_times_w_o(attention):
    (x,) = arrays((2, 4, 12))
    q, k, v = (x @ numpy(p.kernel) + numpy(p.bias) for p in (attention.query, attention.key, attention.value))
    heads = []
    for h in range(3):
        part = slice(4 * h, 4 * h + 4)
        scores = q[..., part] @ k[..., part].transpose(0, 2, 1) / 2  # √d_k = √4
        weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        heads.append(weights @ v[..., part])
    expected = np.concatenate(heads, -1) @ numpy(attention.out.kernel) + numpy(attention.out.bias)
    output, weights = attention(tensor(x))
    assert weights is None
    np.testing.assert_allclose(numpy(output), expected, atol=1e-5)


def test_cross_attention_reads_the_memory(attention):
    x, memory, other = arrays((2, 4, 12), (2, 6, 12), (2, 6, 12))
    output, weights = attention(tensor(x), tensor(memory), with_weights=True)
    assert tuple(output.shape) == (2, 4, 12)
    assert tuple(weights.shape) == (2, 3, 4, 6)
    again, _ = attention(tensor(x), tensor(other))
    assert not np.allclose(numpy(output), numpy(again))


def test_dropout_of_weights_in_training_only(attention):
    x = tensor(*arrays((2, 4, 12)))
    evaluated = numpy(attention(x, training=False)[0])
    trained = [numpy(attention(x, training=True)[0]) for _ in range(2)]
    np.testing.assert_array_equal(evaluated, numpy(attention(x, training=False)[0]))
    assert not np.array_equal(trained[0], trained[1])
    # The weights that are shown are those before dropout: they sum to 1.
    np.testing.assert_allclose(numpy(attention(x, training=True, with_weights=True)[1]).sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("remembered", [0, 1 << 23])
@pytest.mark.parametrize("in_cache", [2 * L * M, 1 << 20], ids=["two heads at a time", "all at once"])
def test_dropout_in_the_fused_way_is_that_of_the_explicit_way(qkv, masked, remembered, in_cache, monkeypatch):
    """From the same state of the generator both drop the same weights: outputs and gradients agree."""
    import unmask.backend.attention as fused_attention
    from unmask.model.direct import Dropout

    monkeypatch.setattr(fused_attention, "_REMEMBERED", remembered)
    monkeypatch.setattr(fused_attention, "_IN_CACHE", in_cache)
    allowed = np.random.default_rng(1).random((B, 1, L, M)) < 0.6
    allowed[0, 0, 2] = False
    allowed = ops.convert_to_tensor(allowed) if masked else None
    dropout = Dropout(0.4, 7, name="dropout")
    variables = [keras.Variable(x, name=f"x{number}") for number, x in enumerate(qkv)]

    def run(with_weights):
        dropout.seed_generator.state.assign(np.asarray([7, 3], np.uint32))
        tensors = [v.value for v in variables]
        out, _ = scaled_dot_product_attention(*tensors, allowed, dropout=dropout, with_weights=with_weights)
        return ops.sum(out * ops.convert_to_tensor(weights))

    weights = arrays((B, L, H, K), seed=5)[0]
    holder = type("Holder", (), {"trainable_variables": variables})()
    fused, explicit = (backend.loss_and_gradients(holder, lambda w=w: run(w)) for w in (False, True))
    assert fused[0] == pytest.approx(explicit[0], rel=1e-5)
    for path, gradient in fused[1].items():
        np.testing.assert_allclose(gradient, explicit[1][path], atol=1e-5)
