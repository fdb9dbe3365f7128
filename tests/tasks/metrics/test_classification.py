"""Classification: the figures of scikit-learn, on ordinary and on awkward predictions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as peer

from unmask.errors import UserError
from unmask.tasks.metrics.classification import (
    ClassFigures,
    classification_metrics,
    classification_statistic,
    confusion,
    multi_label_metrics,
    multi_label_statistic,
    per_class,
)


def softmax(logits):
    odds = np.exp(logits - logits.max(-1, keepdims=True))
    return odds / odds.sum(-1, keepdims=True)


def cases():
    draw = np.random.default_rng(0)
    for n_classes in (2, 3, 7):
        gold = draw.integers(0, n_classes, 300)
        yield f"random {n_classes}", gold, softmax(draw.normal(size=(300, n_classes)) + 2 * np.eye(n_classes)[gold])
        yield f"float32 {n_classes}", gold, softmax(draw.normal(size=(300, n_classes))).astype(np.float32)
        yield f"constant {n_classes}", gold, np.eye(n_classes)[np.zeros(300, int)]
        yield f"all equal {n_classes}", gold, np.full((300, n_classes), 1 / n_classes)
        yield f"certain {n_classes}", gold, np.eye(n_classes)[draw.integers(0, n_classes, 300)]
        yield f"all right {n_classes}", gold, np.eye(n_classes)[gold]
        yield f"all wrong {n_classes}", gold, np.eye(n_classes)[(gold + 1) % n_classes]
        yield f"one class in gold {n_classes}", np.ones(50, int), softmax(draw.normal(size=(50, n_classes)))
        yield f"one example {n_classes}", gold[:1], softmax(draw.normal(size=(1, n_classes)))
    gold = draw.choice([0, 2], 200)
    yield "a class without examples", gold, softmax(draw.normal(size=(200, 4)))
    yield "a class that never occurs", gold, softmax(draw.normal(size=(200, 4)) - 100 * np.eye(4)[3])
    gold = draw.integers(0, 2, 400)
    scores = draw.integers(0, 5, 400) / 4
    yield "ties", gold, np.stack([1 - scores, scores], 1)
    rare = np.arange(1000) < 3
    yield "imbalance", rare.astype(int), softmax(draw.normal(size=(1000, 2)))


CASES = [pytest.param(gold, probabilities, id=name) for name, gold, probabilities in cases()]


@pytest.mark.filterwarnings("ignore:A single label was found")
@pytest.mark.parametrize(("gold", "probabilities"), CASES)
def test_the_figures_are_those_of_scikit_learn(gold, probabilities):
    predicted, n_classes = probabilities.argmax(1), probabilities.shape[1]
    found = classification_metrics(gold, probabilities)
    expected = {
        "accuracy": peer.accuracy_score(gold, predicted),
        "macro_f1": peer.f1_score(gold, predicted, average="macro", zero_division=0),
        "mcc": peer.matthews_corrcoef(gold, predicted),
    }
    if n_classes == 2:
        for name in ("f1", "precision", "recall"):
            expected[name] = getattr(peer, f"{name}_score")(gold, predicted, zero_division=0)
    if n_classes == 2 and len(set(gold)) == 2:
        expected["roc_auc"] = peer.roc_auc_score(gold, probabilities[:, 1])
        expected["average_precision"] = peer.average_precision_score(gold, probabilities[:, 1])
    assert found.keys() == expected.keys() | {"ece"}
    assert all(type(value) is float for value in found.values())
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-12), name


@pytest.mark.parametrize(("gold", "probabilities"), CASES)
def test_the_table_and_the_confusion_are_those_of_scikit_learn(gold, probabilities):
    predicted, classes = probabilities.argmax(1), range(probabilities.shape[1])
    assert (
        confusion(gold, predicted, len(classes)) == peer.confusion_matrix(gold, predicted, labels=list(classes))
    ).all()
    table = per_class(gold, predicted, len(classes))
    assert all(type(row) is ClassFigures for row in table)
    theirs = peer.precision_recall_fscore_support(gold, predicted, labels=list(classes), zero_division=0)
    np.testing.assert_allclose(np.array(table).T, theirs, atol=1e-12)


@pytest.mark.filterwarnings("ignore:A single label was found")
@settings(deadline=None, max_examples=200)
@given(st.data(), st.integers(1, 4), st.integers(1, 12))
def test_small_cases_of_every_kind(data, n_classes, n):
    gold = np.array(data.draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)))
    predicted = np.array(data.draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)))
    found = classification_metrics(gold, np.eye(n_classes)[predicted])
    assert found["mcc"] == pytest.approx(peer.matthews_corrcoef(gold, predicted), abs=1e-12)
    theirs = peer.f1_score(gold, predicted, average="macro", zero_division=0)
    assert found["macro_f1"] == pytest.approx(theirs, abs=1e-12)


def test_a_sample_has_the_figures_of_its_examples():
    draw = np.random.default_rng(1)
    for n_classes in (2, 5):
        gold = draw.integers(0, n_classes, 200)
        probabilities = softmax(draw.normal(size=(200, n_classes))).round(2)
        statistic = classification_statistic(gold, probabilities)
        for _ in range(20):
            chosen = draw.integers(0, 200, 200)
            assert statistic(chosen) == pytest.approx(classification_metrics(gold[chosen], probabilities[chosen]))


def multi_label_cases():
    draw = np.random.default_rng(2)
    gold = draw.random((200, 5)) < 0.3
    yield "random", gold, draw.random((200, 5))
    yield "good", gold, np.clip(gold * 0.4 + 0.6 * draw.random((200, 5)), 0, 1)
    yield "ties", gold, draw.integers(0, 3, (200, 5)) / 2
    yield "certain", gold, (draw.random((200, 5)) < 0.5).astype(float)
    yield "nothing predicted", gold, np.zeros((200, 5))
    yield "a label without examples", gold & (np.arange(5) != 2), draw.random((200, 5))
    yield "a label that never occurs", gold & (np.arange(5) != 2), draw.random((200, 5)) * (np.arange(5) != 2)
    yield "one example", np.array([[True, False]]), np.array([[0.5, 0.4]])


MULTI_LABEL = [pytest.param(gold, probabilities, id=name) for name, gold, probabilities in multi_label_cases()]


@pytest.mark.parametrize(("gold", "probabilities"), MULTI_LABEL)
@pytest.mark.parametrize("threshold", [0.5, 0.2])
def test_several_labels_are_measured_as_by_scikit_learn(gold, probabilities, threshold):
    predicted = probabilities >= threshold
    found = multi_label_metrics(gold, probabilities, threshold)
    occurring = gold.any(0)
    expected = {
        "micro_f1": peer.f1_score(gold, predicted, average="micro", zero_division=0),
        "macro_f1": peer.f1_score(gold, predicted, average="macro", zero_division=np.nan),
        "exact_match": peer.accuracy_score(gold, predicted),
        "average_precision": peer.average_precision_score(gold[:, occurring], probabilities[:, occurring]),
    }
    assert found == pytest.approx(expected, abs=1e-12)


def test_several_labels_without_any():
    found = multi_label_metrics(np.zeros((3, 2), bool), np.zeros((3, 2)))
    assert found == {"micro_f1": 0.0, "macro_f1": 0.0, "exact_match": 1.0}


def test_a_sample_of_several_labels_has_the_figures_of_its_examples():
    draw = np.random.default_rng(3)
    gold, probabilities = draw.random((100, 4)) < 0.4, draw.random((100, 4)).round(1)
    statistic = multi_label_statistic(gold, probabilities)
    for _ in range(10):
        chosen = draw.integers(0, 100, 100)
        assert statistic(chosen) == pytest.approx(multi_label_metrics(gold[chosen], probabilities[chosen]))


@pytest.mark.parametrize(
    ("gold", "probabilities", "told"),
    [
        ([0, 2], [[0.5, 0.5], [1, 0]], "A gold class is 2, but 2 classes are numbered 0 to 1."),
        ([0, -1], [[0.5, 0.5], [1, 0]], "A gold class is -1"),
        ([0], [[0.5, 0.5], [1, 0]], "1 gold labels for 2 predictions"),
        ([0, 1], [[0.5, np.nan], [1, 0]], "1 of 2 examples are not finite"),
        ([0, 1], [0.5, 0.5], "not examples × classes"),
        ([], np.zeros((0, 2)), "no examples"),
    ],
)
def test_what_cannot_be_measured_is_refused(gold, probabilities, told):
    with pytest.raises(UserError, match=told):
        classification_metrics(np.array(gold, int), np.array(probabilities))


def test_labels_and_probabilities_of_other_shapes_are_refused():
    with pytest.raises(UserError, match="do not fit"):
        multi_label_metrics(np.zeros((2, 3), bool), np.zeros((2, 2)))
