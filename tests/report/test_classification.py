"""A classification's sections show what the metrics say, for two classes, for many and for several labels."""

import numpy as np
import pytest

from unmask.report import Confusion, Picture, Table
from unmask.report.classification import (
    classification_errors,
    classification_sections,
    multi_label_errors,
    multi_label_sections,
)
from unmask.tasks.metrics.classification import per_class


def made_up(n_classes, n=200, seed=0):
    draw = np.random.default_rng(seed)
    gold_N = draw.integers(0, n_classes, n)
    logits_NC = draw.normal(size=(n, n_classes)) + 2 * np.eye(n_classes)[gold_N]
    weights_NC = np.exp(logits_NC)
    return gold_N, weights_NC / weights_NC.sum(1, keepdims=True), [f"class {c}" for c in range(n_classes)]


def by_title(sections):
    assert len({section.title for section in sections}) == len(sections)
    return {section.title: section for section in sections}


def test_two_classes():
    gold_N, probabilities_NC, classes = made_up(2)
    sections = by_title(classification_sections(gold_N, probabilities_NC, classes))
    assert list(sections) == ["Classes", "Confusion matrix", "ROC curve", "Precision-recall curve", "Reliability"]
    predicted_N = probabilities_NC.argmax(1)
    assert [row[1:] for row in sections["Classes"].rows] == [tuple(of) for of in per_class(gold_N, predicted_N, 2)]
    assert sections["Confusion matrix"].counts.sum() == len(gold_N)
    assert "class 1" in sections["ROC curve"].note
    assert isinstance(sections["Reliability"], Picture)


def test_a_gold_class_alone_has_no_curves():
    _, probabilities_NC, classes = made_up(2)
    sections = by_title(classification_sections(np.ones(200, int), probabilities_NC, classes))
    assert list(sections) == ["Classes", "Confusion matrix", "Reliability"]


@pytest.mark.parametrize(("n_classes", "drawn"), [(3, True), (30, True), (31, False)])
def test_a_large_confusion_becomes_a_table(n_classes, drawn):
    gold_N, probabilities_NC, classes = made_up(n_classes)
    sections = classification_sections(gold_N, probabilities_NC, classes)
    assert any(isinstance(section, Confusion) for section in sections) == drawn
    pairs = by_title(sections)["Confused most"].rows
    assert 0 < len(pairs) <= 30
    assert [row[2] for row in pairs] == sorted((row[2] for row in pairs), reverse=True)
    predicted_N = probabilities_NC.argmax(1)
    for gold, predicted, count, share in pairs:
        here = gold_N == classes.index(gold)
        assert count == (predicted_N[here] == classes.index(predicted)).sum() > 0
        assert share == count / here.sum()


def test_nothing_confused_has_no_table_of_it():
    gold_N = np.arange(4)
    assert "Confused most" not in by_title(classification_sections(gold_N, np.eye(4), list("abcd")))
    assert classification_errors(list("abcd"), list("1234"), gold_N, np.eye(4), list("abcd")) == []


def test_the_worst_error_is_the_surest_mistake():
    probabilities_NC = np.array(
        [[0.9, 0.1, 0], [0.2, 0.7, 0.1], [0.6, 0.4, 0], [0.5, 0.1, 0.4], [0.9, 0.1, 0], [1, 0, 0]]
    )
    gold_N = np.array([0, 0, 1, 1, 1, 2])
    found = classification_errors(
        [str(n) for n in range(6)], [f"line {n}" for n in range(6)], gold_N, probabilities_NC, "abc"
    )
    # The loss of 3 and 4 is the same, but 4 was surer; the loss of what has probability 0 is large, not infinite.
    assert [error.place for error in found] == ["line 5", "line 4", "line 3", "line 1", "line 2"]
    assert found[1].score == pytest.approx(-np.log(0.1))
    assert (found[1].gold, found[1].predicted) == ("b (0.100)", "a (0.900)")
    assert np.isfinite(found[0].score)


def test_pairs_stand_one_below_the_other():
    found = classification_errors([("one", "two")], ["line 1"], np.array([1]), np.array([[0.9, 0.1]]), "ab")
    assert found[0].text == "one\ntwo"


def test_several_labels():
    gold_NC = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 0]])
    probabilities_NC = np.array([[0.9, 0.2, 0.1], [0.1, 0.3, 0.2], [0.8, 0.7, 0.6]])
    sections = by_title(multi_label_sections(gold_NC, probabilities_NC, "abc"))
    assert sections["Labels"].rows == [("a", 1.0, 1.0, 1.0, 2), ("b", 1.0, 1.0, 1.0, 1), ("c", 0.0, 0.0, 0.0, 1)]
    assert sections["Labels of a text"].rows == [(0, 1, 1), (1, 0, 1), (2, 2, 0), (3, 0, 1)]
    assert all(isinstance(section, Table) for section in sections.values())
    first, second = multi_label_errors(["x", "y", "z"], ["1", "2", "3"], gold_NC, probabilities_NC, "abc")
    assert (first.place, first.gold, first.predicted) == ("1", "a (0.900), c (0.100)", "a (0.900)")
    assert first.score == pytest.approx(-np.log(0.9 * 0.8 * 0.1))
    assert second.predicted == "a (0.800), b (0.700), c (0.600)"
    none = multi_label_errors(["x"], ["1"], np.array([[1]]), np.array([[0.3]]), "a")
    assert none[0].predicted == "no label"
