"""Bert against `transformers`: the same weights, every one perturbed, with padding; outputs and gradients."""

import numpy as np
import pytest
import torch
from keras import ops

import hf_models
from unmask import UserError, backend, load_model, preset
from unmask.checkpoint.names import place_of
from unmask.model import Bert

pytestmark = pytest.mark.backend


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def random_weights(results, attend, seed=5):
    """One weight for each number of the outputs, 0 where there is padding: a loss that depends on everything."""
    generator = np.random.default_rng(seed)
    weights = []
    for result in results:
        weight = generator.standard_normal(tuple(result.shape)).astype(np.float32)
        if attend.ndim == 2 and result.ndim >= 2 and tuple(result.shape[:2]) == attend.shape:
            weight *= attend.reshape(*attend.shape, *[1] * (result.ndim - 2))
        weights.append(weight)
    return weights


def _is_tied_copy(name):
    return name.endswith(("decoder.weight", "decoder.bias", "vocab_projector.weight"))


@pytest.mark.parametrize(("family", "head"), hf_models.cases())
def test_outputs_and_gradients_equal_transformers(family, head, tmp_path):
    theirs = hf_models.make(family, head)
    theirs.save_pretrained(tmp_path)
    ours = load_model(tmp_path, head)
    assert ours.report.new == []
    assert "unknown" not in ours.report.unused

    choices = 2 if head == "choose" else None
    ids, segments, attend = hf_models.texts(ours.config.pad_id, choices=choices)
    segments = segments if ours.config.n_segments > 1 else np.zeros_like(segments)
    expected = hf_models.outputs(theirs, head, ids, segments, attend)
    weights = random_weights(expected, attend)
    for got, wanted, weight in zip(as_tuple(ours(ids, segments, attend)), expected, weights, strict=True):
        counts = weight != 0
        np.testing.assert_allclose(
            ops.convert_to_numpy(got)[counts], wanted.detach().numpy()[counts], rtol=1e-5, atol=1e-5
        )

    sum(((torch.tensor(w) * out).sum() for w, out in zip(weights, expected, strict=True))).backward()
    _, gradients = backend.loss_and_gradients(
        ours,
        lambda: sum(
            ops.sum(ops.multiply(w, out)) for w, out in zip(weights, as_tuple(ours(ids, segments, attend)), strict=True)
        ),
    )
    tied = theirs.named_parameters(remove_duplicate=False)
    of_theirs = {name: p.grad.numpy() for name, p in tied if p.grad is not None and not _is_tied_copy(name)}
    compared = set()
    for path, gradient in gradients.items():
        place = place_of(path, ours.config, head)
        name = place.found_among(set(of_theirs))
        assert name, f"{path} has a gradient, {place.name} has none"
        gradient = gradient.T if place.transposed else gradient
        np.testing.assert_allclose(gradient, of_theirs[name], rtol=1e-4, atol=1e-4, err_msg=name)
        compared.add(name)
    assert compared == set(of_theirs)


@pytest.mark.parametrize(
    ("family", "activation"),
    [("bert", "gelu_new"), ("bert", "relu"), ("bert", "silu"), ("roberta", "relu"), ("distilbert", "relu")],
)
def test_activations_equal_transformers(family, activation, tmp_path):
    name = "activation" if family == "distilbert" else "hidden_act"
    theirs = hf_models.make(family, "mlm", **{name: activation})
    theirs.save_pretrained(tmp_path)
    ours = load_model(tmp_path)
    ids, segments, attend = hf_models.texts(ours.config.pad_id)
    segments = segments if ours.config.n_segments > 1 else np.zeros_like(segments)
    (expected,) = hf_models.outputs(theirs, "mlm", ids, segments, attend)
    got = ops.convert_to_numpy(ours(ids, segments, attend))
    np.testing.assert_allclose(got[attend], expected.detach().numpy()[attend], rtol=1e-5, atol=1e-5)


def test_attention_weights_equal_transformers(tmp_path):
    theirs = hf_models.make("roberta", "encoder", attn_implementation="eager")
    theirs.save_pretrained(tmp_path)
    ours = load_model(tmp_path)
    ids, segments, attend = hf_models.texts(1)
    result = theirs(torch.tensor(ids), attention_mask=torch.tensor(attend).long(), output_attentions=True)
    expected = torch.stack(result.attentions).detach().numpy()
    got = ours.attention_weights(ids, attend_BL=attend)
    assert got.shape == (2, 3, 2, 9, 9)
    rows = np.broadcast_to(attend[None, :, None, :, None], got.shape)
    np.testing.assert_allclose(got[rows], expected[rows], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got.sum(-1), 1, rtol=1e-5)
    assert (got[:, ~attend[:, None, None, :].repeat(2, 1).repeat(9, 2)] == 0).all()


@pytest.fixture(scope="module")
def tiny():
    return preset("roberta", "tiny", vocab_size=hf_models.VOCAB, max_positions=22, d_model=16, d_ff=32)


def test_evaluation_is_deterministic_and_training_drops_out(tiny):
    model = Bert(tiny, "mlm", seed=3)
    ids, _, _ = hf_models.texts(1)
    first, second = (ops.convert_to_numpy(model(ids, training=False)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    once, twice = (ops.convert_to_numpy(model(ids, training=True)) for _ in range(2))
    assert not np.array_equal(once, twice)
    assert not np.array_equal(once, first)


@pytest.mark.skipif(backend.current() != "torch", reason="only PyTorch has modules")
def test_a_module_around_it_has_its_parameters(tiny):
    model = Bert(tiny, "classify", seed=0)
    parameters = {id(parameter) for parameter in torch.nn.Sequential(model).parameters()}
    assert {id(variable.value) for variable in model.trainable_variables} <= parameters


def test_dropout_depends_on_the_seed_alone(tiny):
    ids, _, _ = hf_models.texts(1)
    runs = [ops.convert_to_numpy(Bert(tiny, "mlm", seed=seed)(ids, training=True)) for seed in (3, 3, 4)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


@pytest.mark.parametrize("head", ["mlm", "mlm+nsp", "classify", "tag", "read", "choose"])
def test_training_mode_gives_gradients_to_every_variable(tiny, head):
    model = Bert(tiny, head, seed=0)
    ids, _, attend = hf_models.texts(1, choices=2 if head == "choose" else None)
    weights = random_weights(as_tuple(model(ids)), attend)
    loss, gradients = backend.loss_and_gradients(
        model,
        lambda: sum(
            ops.sum(ops.multiply(w, out)) for w, out in zip(weights, as_tuple(model(ids, training=True)), strict=True)
        ),
    )
    assert np.isfinite(loss)
    # The bias of the keys adds the same to all scores of a query, so its true gradient is 0; elsewhere it is rounding.
    still = [path for path, gradient in gradients.items() if not np.abs(gradient).max() > 0]
    assert set(still) <= {"bert/encoder/layer_1/attention/key/bias"}


def test_default_padding_mask_is_the_pad_id(tiny):
    model = Bert(tiny, "mlm", seed=0)
    ids, _, attend = hf_models.texts(1)
    np.testing.assert_array_equal(ops.convert_to_numpy(model(ids)), ops.convert_to_numpy(model(ids, attend_BL=attend)))


def test_takes_lists_numpy_and_tensors(tiny):
    model = Bert(tiny, "encoder", seed=0)
    ids = [[0, 5, 6, 2]]
    results = [model(ids), model(np.array(ids, np.int64)), model(np.array(ids, np.uint16))]
    results.append(model(ops.convert_to_tensor(ids, "int32")))
    for result in results[1:]:
        np.testing.assert_array_equal(ops.convert_to_numpy(result), ops.convert_to_numpy(results[0]))


@pytest.mark.parametrize(
    ("ids", "kwargs", "message"),
    [
        ([[0, 60]], {}, "Token id 60 is outside 0 … 59"),
        ([[0, -1]], {}, "Token id -1 is outside"),
        ([[0.5, 1.0]], {}, "must be whole numbers"),
        ([list(range(23))], {}, "23 tokens, but this model reads 22"),
        ([[0, 5]], {"segments_BL": [[0, 1]]}, "Segment 1 is outside 0 … 0"),
        ([[5] * 30], {"documents_BL": [[0] * 30]}, "30 tokens, but this model reads 22"),
        ([[5] * 50], {"documents_BL": [[0, 1] * 25]}, "25 tokens, but this model reads 22"),
        ([5, 6], {}, r"shape \(batch, length\), but came with \(2,\)"),
        ([[[5, 6]]], {}, r"shape \(batch, length\), but came with \(1, 1, 2\)"),
        (
            [[5, 6]],
            {"segments_BL": [[0]]},
            r"segments must have the shape of the token ids, \(1, 2\), but has \(1, 1\)",
        ),
        ([[5, 6]], {"attend_BL": [[True]]}, "attend must have the shape"),
        ([[5, 6]], {"documents_BL": [[1, 1, 1]]}, "documents must have the shape"),
        ([[5, 6]], {"predict_BP": [[2]]}, "Position to predict 2 is outside 0 … 1"),
        ([[5, 6]], {"predict_BP": [[-1]]}, "Position to predict -1 is outside"),
        ([[5, 6]], {"predict_BP": [0]}, r"predict must have the shape \(batch, positions\)"),
    ],
)
def test_bad_input_is_one_sentence(tiny, ids, kwargs, message):
    model = Bert(tiny, "mlm", seed=0)
    with pytest.raises(UserError, match=message):
        model(ids, **kwargs)
    if "must be whole numbers" not in message:
        with pytest.raises(UserError, match=message):
            model(ops.convert_to_tensor(ids, "int32"), **{k: ops.convert_to_tensor(v) for k, v in kwargs.items()})


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([[5, 6], [7]], "rows of different lengths"),
        ("hello", "but a str came"),
        (7, "but a int came"),
        ([[2**40]], "Token id 1099511627776 is outside"),
        ([["a"]], "must be whole numbers"),
    ],
)
def test_what_is_no_array_of_ids(tiny, ids, message):
    with pytest.raises(UserError, match=message):
        Bert(tiny, "encoder", seed=0)(ids)


def test_choices_need_their_own_axis(tiny):
    model = Bert(tiny, "choose", seed=0)
    with pytest.raises(UserError, match=r"shape \(batch, choices, length\)"):
        model([[5, 6]])
    with pytest.raises(UserError, match="choices of a question are not packed"):
        model([[[5, 6]]], documents_BL=[[[1, 1]]])


def test_empty_batches_and_empty_texts(tiny):
    model = Bert(tiny, "encoder", seed=0)
    assert tuple(model(np.zeros((0, 4), int)).shape) == (0, 4, 16)
    assert tuple(model(np.zeros((2, 0), int)).shape) == (2, 0, 16)


def test_unknown_head_and_wrong_family(tiny):
    with pytest.raises(UserError, match="no head 'clasify'"):
        Bert(tiny, "clasify", seed=0)
    with pytest.raises(UserError, match="has a decoder"):
        Bert(preset("transformer", "tiny"), seed=0)
