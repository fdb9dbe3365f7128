"""Regression: the correlations of scipy, with ties, and what they leave undefined."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as peer

from unmask.errors import UserError
from unmask.tasks.metrics.regression import regression_metrics, regression_statistic


@pytest.mark.parametrize("kind", ["random", "ties", "order alone", "reversed", "float32", "far from zero", "two"])
def test_the_figures_are_those_of_scipy(kind):
    draw = np.random.default_rng(0)
    gold = draw.normal(size=300)
    predicted = gold + draw.normal(size=300)
    if kind == "ties":
        gold, predicted = gold.round(), predicted.round()
    elif kind == "order alone":
        predicted = np.exp(5 * gold)
    elif kind == "reversed":
        predicted = -gold
    elif kind == "float32":
        predicted = predicted.astype(np.float32)
    elif kind == "far from zero":
        gold, predicted = gold + 1e6, predicted + 1e6
    elif kind == "two":
        gold, predicted = gold[:2], predicted[:2]
    found = regression_metrics(gold, predicted)
    expected = {
        "pearson": stats.pearsonr(gold, predicted.astype(float)).statistic,
        "spearman": stats.spearmanr(gold, predicted).statistic,
        "rmse": peer.root_mean_squared_error(gold, predicted),
        "mae": peer.mean_absolute_error(gold, predicted),
    }
    assert found == pytest.approx(expected, abs=1e-9)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(st.integers(-3, 3), st.sampled_from([0.0, 0.1, 0.3, 1.0, -5.5])), min_size=2, max_size=20))
def test_ties_of_every_kind(rows):
    gold, predicted = np.array(rows, float).T
    assume(len(set(gold)) > 1 and len(set(predicted)) > 1)
    found = regression_metrics(gold, predicted)
    assert found["spearman"] == pytest.approx(stats.spearmanr(gold, predicted).statistic, abs=1e-12)
    assert found["pearson"] == pytest.approx(stats.pearsonr(gold, predicted).statistic, abs=1e-12)


@pytest.mark.parametrize("constant", [0.0, 0.1, -1e9])
@pytest.mark.parametrize("swapped", [True, False])
def test_a_correlation_with_a_constant_is_zero(constant, swapped):
    rows = [np.full(7, constant), np.arange(7.0)]
    found = regression_metrics(*(rows[::-1] if swapped else rows))
    assert found["pearson"] == found["spearman"] == 0
    assert found["mae"] == pytest.approx(np.abs(np.arange(7.0) - constant).mean())


def test_one_example():
    assert regression_metrics(np.array([1.0]), np.array([3.0])) == {"pearson": 0, "spearman": 0, "rmse": 2, "mae": 2}


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(*[st.floats(-1e300, 1e300)] * 2), min_size=1, max_size=10))
def test_finite_numbers_have_finite_figures(rows):
    found = regression_metrics(*np.array(rows, float).T)
    assert all(math.isfinite(value) for value in found.values())
    assert -1 <= found["pearson"] <= 1
    assert -1 <= found["spearman"] <= 1


def test_a_sample_has_the_figures_of_its_examples():
    draw = np.random.default_rng(1)
    gold, predicted = draw.integers(0, 6, 100) / 5, draw.random(100).round(1)
    statistic = regression_statistic(gold, predicted)
    for _ in range(20):
        chosen = draw.integers(0, 100, 100)
        assert statistic(chosen) == pytest.approx(regression_metrics(gold[chosen], predicted[chosen]))


@pytest.mark.parametrize(
    ("gold", "predicted", "told"),
    [
        ([1.0, np.nan], [1.0, 2.0], "1 of 2 gold numbers are not finite"),
        ([1.0, 2.0], [np.inf, np.nan], "2 of 2 predicted numbers are not finite"),
        ([1.0], [1.0, 2.0], "1 gold numbers for 2 predictions"),
        ([], [], "no examples"),
    ],
)
def test_what_cannot_be_measured_is_refused(gold, predicted, told):
    with pytest.raises(UserError, match=told):
        regression_metrics(np.array(gold), np.array(predicted))
