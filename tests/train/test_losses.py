"""The losses of fine-tuning: value and gradients are those of `transformers` on the same weights and padded batch."""

import numpy as np
import pytest
import torch

import hf_models
from unmask import backend, load_model
from unmask.train.losses import loss_of, weights_of

pytestmark = pytest.mark.backend

B, L, C = 3, 9, 3
HEADS = {
    "label": "classify",
    "labels": "classify",
    "value": "classify",
    "tags": "tag",
    "start": "read",
    "choice": "choose",
}


def targets_of(kind, attend_BL):
    generator = np.random.default_rng(3)
    if kind == "labels":
        return {"labels": generator.integers(0, 2, (B, C)).astype(np.float32)}
    if kind == "value":
        return {"value": generator.normal(size=B).astype(np.float32)}
    if kind == "tags":
        tags_BL = generator.integers(0, C, (B, L)).astype(np.int32)
        tags_BL[~attend_BL] = -1
        tags_BL[:, 0] = -1
        return {"tags": tags_BL}
    if kind == "start":
        return {"start": np.asarray([0, 2, 1], np.int32), "end": np.asarray([0, 3, 1], np.int32)}
    return {"label": generator.integers(0, C, B).astype(np.int32)}


def expected(theirs, kind, ids, segments, attend, targets):
    """Loss and gradients of `transformers`, which learns from the same batch."""
    problems = {"labels": "multi_label_classification", "value": "regression", "label": "single_label_classification"}
    theirs.config.problem_type = problems.get(kind)
    names = {"start": "start_positions", "end": "end_positions"}
    given = {names.get(name, "labels"): torch.tensor(value) for name, value in targets.items()}
    given = {name: value if value.is_floating_point() else value.long() for name, value in given.items()}
    if kind == "tags":
        given["labels"][given["labels"] < 0] = -100
    loss = theirs(
        input_ids=torch.tensor(ids).long(),
        token_type_ids=torch.tensor(segments).long(),
        attention_mask=torch.tensor(attend).long(),
        **given,
    ).loss
    loss.backward()
    return float(loss.detach()), {n: p.grad.numpy() for n, p in theirs.named_parameters() if p.grad is not None}


def ours_of(model, arrays, class_weights=None):
    """Loss and gradients as fine-tuning computes them, without dropout."""
    from keras import ops

    weights = weights_of(arrays, class_weights)
    per_weight = np.float32(1 / weights.sum())

    def loss():
        outputs = model(arrays["ids_BL"], arrays["segments_BL"], attend_BL=arrays["attend_BL"], training=False)
        tensors = {name: ops.convert_to_tensor(array) for name, array in arrays.items()}
        return ops.sum(loss_of(outputs, tensors) * ops.convert_to_tensor(weights)) * per_weight

    return backend.loss_and_gradients(model, loss)


@pytest.mark.parametrize("kind", HEADS)
def test_equal_to_transformers(tmp_path, kind):
    changes = {"num_labels": 1} if kind == "value" else {}
    theirs = hf_models.make("bert", HEADS[kind], **changes)
    theirs.save_pretrained(tmp_path)
    choices = 3 if kind == "choice" else None
    ids, segments, attend = hf_models.texts(0, batch=B, length=L, choices=choices)
    if kind == "start":  # `transformers` takes padding for a place where an answer may begin; we do not
        ids, segments, attend = ids[:, :4], segments[:, :4], attend[:, :4]
    ids, segments = ids.astype(np.int32), segments.astype(np.int32)
    targets = targets_of(kind, attend)
    loss, gradients = expected(theirs, kind, ids, segments, attend, targets)
    arrays = {"ids_BL": ids, "segments_BL": segments, "attend_BL": attend, "rows_B": np.ones(B, np.float32), **targets}
    model = load_model(tmp_path)
    ours, ours_by_path = ours_of(model, arrays)
    assert ours == pytest.approx(loss, rel=1e-5)
    found = {path: g for path, g in ours_by_path.items() if path.endswith(("head/dense/kernel", "tokens/embeddings"))}
    assert len(found) == 2, list(ours_by_path)
    for path, gradient in found.items():
        name = "word_embeddings.weight" if "tokens" in path else ("qa_outputs" if kind == "start" else "classifier")
        (theirs_,) = (g for n, g in gradients.items() if n.endswith(name) or n.endswith(f"{name}.weight"))
        np.testing.assert_allclose(gradient.T if "kernel" in path else gradient, theirs_, atol=2e-5)
    norm = np.sqrt(sum(float(np.square(g).sum()) for g in ours_by_path.values()))
    assert norm == pytest.approx(np.sqrt(sum(float(np.square(g).sum()) for g in gradients.values())), rel=1e-3)


@pytest.mark.skipif("config.getoption('--backend') == 'jax'", reason="compiling is slow; the engine's test pads too")
@pytest.mark.parametrize("kind", ["label", "tags", "start"])
def test_empty_rows_and_padding_count_for_nothing(tmp_path, kind):
    hf_models.make("bert", HEADS[kind]).save_pretrained(tmp_path)
    model = load_model(tmp_path)
    ids, segments, attend = (a.astype(t) for a, t in zip(hf_models.texts(0), (np.int32, np.int32, bool), strict=True))
    targets = targets_of(kind, attend)
    arrays = {"ids_BL": ids, "segments_BL": segments, "attend_BL": attend, "rows_B": np.ones(B, np.float32), **targets}
    wide = {
        name: np.pad(array, [(0, 1), (0, 4)][: array.ndim], constant_values=-1 if name == "tags" else 0)
        for name, array in arrays.items()
        if array.ndim < 3
    }
    (loss, gradients), (padded, of_padded) = ours_of(model, arrays), ours_of(model, wide)
    assert padded == pytest.approx(loss, rel=1e-5)
    for path in gradients:
        np.testing.assert_allclose(of_padded[path], gradients[path], atol=2e-6, err_msg=path)


def test_choices_that_an_example_lacks_count_for_nothing(tmp_path):
    """Two of three choices: the loss is that of a question with two."""
    hf_models.make("bert", "choose").save_pretrained(tmp_path)
    model = load_model(tmp_path)
    ids, segments, attend = hf_models.texts(0, choices=2)
    arrays = {"ids_BL": ids.astype(np.int32), "segments_BL": segments.astype(np.int32), "attend_BL": attend}
    arrays |= {"rows_B": np.ones(B, np.float32), "label": np.asarray([0, 1, 1], np.int32)}
    wide = {n: np.pad(a, [(0, 0), (0, 1), (0, 0)]) if a.ndim == 3 else a for n, a in arrays.items()}
    (loss, gradients), (padded, of_padded) = ours_of(model, arrays), ours_of(model, wide)
    assert padded == pytest.approx(loss, rel=1e-5)
    for path in gradients:
        np.testing.assert_allclose(of_padded[path], gradients[path], atol=2e-6, err_msg=path)


def test_class_weights_are_those_of_pytorch():
    generator = np.random.default_rng(0)
    logits_BC, label_B = generator.normal(size=(8, C)).astype(np.float32), generator.integers(0, C, 8)
    weights_C = np.asarray([0.2, 1.0, 3.0], np.float32)
    theirs = torch.nn.functional.cross_entropy(
        torch.tensor(logits_BC), torch.tensor(label_B), weight=torch.tensor(weights_C)
    )
    from keras import ops

    arrays = {"label": label_B.astype(np.int32), "rows_B": np.ones(8, np.float32)}
    weights = weights_of(arrays, weights_C)
    tensors = {"label": ops.convert_to_tensor(arrays["label"]), "attend_BL": ops.ones((8, 1), "bool")}
    each = ops.convert_to_numpy(loss_of(ops.convert_to_tensor(logits_BC), tensors))
    assert float((each * weights).sum() / weights.sum()) == pytest.approx(float(theirs), rel=1e-5)


def test_extreme_logits_have_a_finite_loss():
    from keras import ops

    logits_BC = ops.convert_to_tensor(np.asarray([[1e4, -1e4]], np.float32))
    tensors = {"labels": ops.convert_to_tensor(np.asarray([[0.0, 1.0]], np.float32))}
    assert float(ops.convert_to_numpy(loss_of(logits_BC, tensors))[0]) == pytest.approx(1e4)
