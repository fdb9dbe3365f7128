"""The Transformer against Marian of `transformers`; causality; attention weights."""

import numpy as np
import pytest
import torch
from keras import ops

import hf_models
from unmask import UserError, backend, load_model, preset
from unmask.checkpoint.names import place_of
from unmask.model import Transformer

pytestmark = pytest.mark.backend


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marian")
    theirs = hf_models.make_marian()
    theirs.save_pretrained(folder)
    return theirs, load_model(folder)


def source_and_target(pad):
    source, _, attend = hf_models.texts(pad, length=8, seed=3)
    target = np.random.default_rng(4).integers(1, hf_models.VOCAB - 2, (3, 6))
    target[:, 0] = pad
    return source, target, attend


def test_outputs_and_gradients_equal_transformers(pair):
    theirs, ours = pair
    assert ours.report.new == []
    source, target, attend = source_and_target(ours.config.pad_id)
    result = theirs(torch.tensor(source), torch.tensor(attend).long(), decoder_input_ids=torch.tensor(target)).logits
    got = ops.convert_to_numpy(ours(source, target))
    np.testing.assert_allclose(got, result.detach().numpy(), rtol=1e-5, atol=2e-5)

    weights = np.random.default_rng(5).standard_normal(result.shape).astype(np.float32)
    (torch.tensor(weights) * result).sum().backward()
    _, gradients = backend.loss_and_gradients(ours, lambda: ops.sum(ops.multiply(weights, ours(source, target))))
    of_theirs = {n: p.grad.numpy() for n, p in theirs.named_parameters() if p.grad is not None}
    assert len(gradients) == len(of_theirs)
    for path, gradient in gradients.items():
        place = place_of(path, ours.config, "translate")
        name = place.found_among(set(of_theirs))
        gradient = gradient.T if place.transposed else gradient
        expected = of_theirs[name]
        if name == "model.shared.weight":  # the embedding of `transformers` gives padding no gradient
            attended = np.arange(hf_models.VOCAB) != ours.config.pad_id
            gradient, expected = gradient[attended], expected[attended]
        np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=3e-4, err_msg=name)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_no_token_sees_a_later_one(norm, positions):
    config = preset("transformer", "tiny", vocab_size=40, d_model=16, d_ff=24, norm=norm, positions=positions)
    model = Transformer(config, seed=0)
    source = np.array([[5, 6, 7, 2]])
    before = ops.convert_to_numpy(model(source, np.array([[0, 8, 9, 10]])))
    after = ops.convert_to_numpy(model(source, np.array([[0, 8, 11, 12]])))
    np.testing.assert_allclose(before[0, :2], after[0, :2], atol=1e-6)
    assert np.abs(before[0, 2:] - after[0, 2:]).max() > 1e-4


def test_source_padding_changes_nothing(pair):
    _, ours = pair
    pad = ours.config.pad_id
    target = np.array([[pad, 8, 9]])
    alone = ops.convert_to_numpy(ours(np.array([[5, 6, 7]]), target))
    padded = ops.convert_to_numpy(ours(np.array([[5, 6, 7, pad, pad]]), target))
    np.testing.assert_allclose(alone, padded, atol=1e-5)


def test_attention_weights_of_all_three_kinds(pair):
    _, ours = pair
    source, target, attend = source_and_target(ours.config.pad_id)
    weights = ours.attention_weights(source, target)
    assert weights["encoder"].shape == (2, 3, 2, 8, 8)
    assert weights["decoder"].shape == (2, 3, 2, 6, 6)
    assert weights["cross"].shape == (2, 3, 2, 6, 8)
    for kind in weights.values():
        np.testing.assert_allclose(kind.sum(-1), 1, atol=1e-5)
    assert (np.triu(weights["decoder"][0, 0, 0], 1) == 0).all()
    assert (weights["cross"][:, ~attend[:, None, None, :].repeat(2, 1).repeat(6, 2)] == 0).all()


def test_training_mode_drops_out():
    model = Transformer(preset("transformer", "tiny", vocab_size=40, d_model=16, d_ff=24), seed=0)
    source, target = np.array([[5, 6, 7, 2]]), np.array([[0, 8, 9]])
    once, twice = (ops.convert_to_numpy(model(source, target, training=True)) for _ in range(2))
    assert not np.array_equal(once, twice)


def test_bad_input_is_one_sentence(pair):
    _, ours = pair
    with pytest.raises(UserError, match="Token id 60 is outside"):
        ours(np.array([[60]]), np.array([[0]]))
    with pytest.raises(UserError, match="25 tokens, but this model reads 24"):
        ours(np.array([[5]]), np.zeros((1, 25), int))
    with pytest.raises(UserError, match="2 sources came with 1 targets"):
        ours([[5], [6]], [[0]])
    with pytest.raises(UserError, match="has no decoder"):
        Transformer(preset("bert", "tiny"), seed=0)
