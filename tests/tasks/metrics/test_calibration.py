"""Calibration: the error as its definition says, the temperature that scipy finds."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from unmask.errors import UserError
from unmask.tasks.metrics.calibration import (
    TEMPERATURES,
    cautious_temperature,
    expected_calibration_error,
    fit_temperature,
    reliability,
)


def by_definition(gold, probabilities, bins):
    """Equation 3 of Guo et al., bin by bin."""
    rows = [(max(row), max(row) == row[label]) for row, label in zip(probabilities.tolist(), gold, strict=True)]
    total = 0.0
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        inside = [row for row in rows if low < row[0] <= high or (number == 0 and row[0] == 0)]
        if inside:
            total += abs(sum(sure for sure, _ in inside) - sum(right for _, right in inside))
    return total / len(rows)


@pytest.mark.parametrize("bins", [1, 5, 15])
@pytest.mark.parametrize("n_classes", [1, 2, 6])
def test_the_error_is_that_of_the_definition(bins, n_classes):
    draw = np.random.default_rng(0)
    gold = draw.integers(0, n_classes, 400)
    probabilities = softmax(3 * draw.normal(size=(400, n_classes)), 1)
    found = expected_calibration_error(gold, probabilities, bins)
    assert found == pytest.approx(by_definition(gold, probabilities, bins), abs=1e-12)


def test_bins_are_closed_above():
    # A confidence of exactly 0.6 is in the bin up to 0.6 (of 5), with 0.55 and not with 0.65.
    probabilities = np.array([[0.6, 0.4], [0.55, 0.45], [0.65, 0.35]])
    assert [bin.count for bin in reliability([0, 1, 0], probabilities, bins=5)] == [0, 0, 2, 1, 0]
    error = (abs(0.6 + 0.55 - 1) + abs(0.65 - 1)) / 3
    assert expected_calibration_error([0, 1, 0], probabilities, bins=5) == pytest.approx(error)


def test_certainty():
    gold = np.array([0, 1, 1, 0])
    assert expected_calibration_error(gold, np.eye(2)[gold]) == 0
    assert expected_calibration_error(gold, np.eye(2)[1 - gold]) == 1
    assert expected_calibration_error(gold, np.eye(2)[[0, 0, 0, 0]]) == 0.5


def test_the_bins_add_up():
    draw = np.random.default_rng(1)
    gold, probabilities = draw.integers(0, 3, 500), softmax(draw.normal(size=(500, 3)), 1)
    found = reliability(gold, probabilities)
    assert len(found) == 15
    assert sum(bin.count for bin in found) == 500
    confident = sum(bin.confidence * bin.count for bin in found)
    assert confident == pytest.approx(probabilities.max(1).sum())
    right = sum(bin.accuracy * bin.count for bin in found)
    assert right == pytest.approx((probabilities.argmax(1) == gold).sum())
    error = sum(abs(confidence - accuracy) * count for confidence, accuracy, count in found) / 500
    assert error == pytest.approx(expected_calibration_error(gold, probabilities))
    for number, (confidence, accuracy, count) in enumerate(found):
        assert number / 15 <= confidence <= (number + 1) / 15
        assert count or (confidence, accuracy) == ((number + 0.5) / 15, 0)


def likelihood(logits, gold, temperature):
    return -log_softmax(logits / temperature, 1)[np.arange(len(gold)), gold].mean()


@pytest.mark.parametrize("scale", [0.1, 1.0, 7.0, 50.0])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_temperature_is_that_of_scipy(scale, n_classes):
    draw = np.random.default_rng(2)
    logits = draw.normal(size=(2000, n_classes))
    # Labels drawn from the model's own probabilities: the temperature that undoes the scale is the truth.
    gold = (softmax(logits, 1).cumsum(1) < draw.random((2000, 1))).sum(1)
    found = fit_temperature(scale * logits, gold)
    theirs = minimize_scalar(
        lambda log: likelihood(scale * logits, gold, np.exp(log)), bounds=(-5, 5), options={"xatol": 1e-9}
    )
    assert found == pytest.approx(np.exp(theirs.x), rel=1e-4)
    assert found == pytest.approx(scale, rel=0.15)
    assert likelihood(scale * logits, gold, found) <= likelihood(scale * logits, gold, 1.0) + 1e-12


def test_a_temperature_where_the_likelihood_has_no_maximum():
    right = np.array([[3.0, 1.0], [0.0, 2.0]])
    assert fit_temperature(right, np.array([0, 1])) == 1.0
    assert fit_temperature(np.zeros((4, 3)), np.array([0, 1, 2, 2])) == 1.0
    assert fit_temperature(right, np.array([1, 0])) == pytest.approx(TEMPERATURES[1])


def test_logits_far_apart():
    logits = np.array([[1e4, -1e4], [1e4, -1e4], [-1e4, 1e4], [0.0, -np.inf]])
    found = fit_temperature(logits, np.array([0, 1, 1, 0]))
    assert found == pytest.approx(TEMPERATURES[1])
    assert 0.01 <= fit_temperature(np.array([[5.0, -np.inf, 4.0]] * 9), np.array([0] * 6 + [2] * 3)) < 2
    assert fit_temperature(logits.astype(np.float32), np.array([0, 0, 1, 0])) == 1.0


@pytest.mark.parametrize(
    ("logits", "told"),
    [([[np.nan, 1.0]], "not numbers"), ([[np.inf, 1.0]], "infinite"), (np.zeros((0, 2)), "1 gold labels for 0")],
)
def test_what_has_no_temperature_is_refused(logits, told):
    with pytest.raises(UserError, match=told):
        fit_temperature(np.array(logits), np.array([0]))


def test_nothing_has_no_error():
    with pytest.raises(UserError, match="no examples"):
        expected_calibration_error(np.zeros(0, int), np.zeros((0, 2)))
    with pytest.raises(UserError, match="0 bins"):
        expected_calibration_error([0], np.ones((1, 1)), bins=0)


@pytest.mark.parametrize("scale", [0.2, 5.0])
def test_a_cautious_temperature_is_the_end_of_an_interval(scale):
    """Nearer to 1 than the likeliest, and as likely as a likelihood-ratio test at 5 % just lets pass."""
    logits = np.random.default_rng(1).normal(size=(300, 3)) * 2
    gold = np.array([np.random.default_rng(i).choice(3, p=softmax(row)) for i, row in enumerate(logits)])
    best, found = fit_temperature(scale * logits, gold), cautious_temperature(scale * logits, gold)
    assert min(best, 1) < found < max(best, 1)
    drop = len(gold) * (likelihood(scale * logits, gold, found) - likelihood(scale * logits, gold, best))
    assert 2 * drop == pytest.approx(3.84, abs=1e-3)


def test_of_many_examples_it_is_all_but_the_likeliest():
    logits = np.random.default_rng(2).normal(size=(200, 3)) * 2
    gold = np.array([np.random.default_rng(i).choice(3, p=softmax(row)) for i, row in enumerate(logits)])
    many, golden = np.tile(4 * logits, (200, 1)), np.tile(gold, 200)
    assert cautious_temperature(many, golden) == pytest.approx(fit_temperature(many, golden), rel=0.02)


def test_few_examples_or_a_good_fit_leave_it_1():
    logits = np.random.default_rng(3).normal(size=(300, 3)) * 2
    gold = np.array([np.random.default_rng(i).choice(3, p=softmax(row)) for i, row in enumerate(logits)])
    assert cautious_temperature(logits, gold) == 1.0
    assert cautious_temperature(logits[:8] / 100, logits[:8].argmax(1)) == 1.0
