"""The bootstrap: intervals that hold what they say, the same for the same seed."""

import numpy as np
import pytest

from unmask.errors import UserError
from unmask.tasks.metrics.bootstrap import intervals, of_all
from unmask.tasks.metrics.classification import classification_metrics, classification_statistic


def mean_of(numbers):
    return lambda indices: {"mean": float(numbers[indices].mean())}


def test_the_interval_of_a_mean_is_the_normal_one():
    numbers = np.random.default_rng(0).normal(size=2000)
    low, high = intervals(2000, mean_of(numbers), seed=1, samples=4000)["mean"]
    wide = 1.96 * numbers.std() / np.sqrt(2000)
    assert low == pytest.approx(numbers.mean() - wide, abs=wide / 8)
    assert high == pytest.approx(numbers.mean() + wide, abs=wide / 8)


def test_the_truth_is_inside_as_often_as_said():
    inside = 0
    for seed in range(300):
        numbers = np.random.default_rng(seed).random(100)
        low, high = intervals(100, mean_of(numbers), seed=seed, samples=200, level=0.8)["mean"]
        inside += low <= 0.5 <= high
    assert 0.72 < inside / 300 < 0.87


def test_the_same_seed_gives_the_same_interval():
    statistic = mean_of(np.random.default_rng(0).random(50))
    assert intervals(50, statistic, seed=3, samples=50) == intervals(50, statistic, seed=3, samples=50)
    assert intervals(50, statistic, seed=3, samples=50) != intervals(50, statistic, seed=4, samples=50)


def test_a_figure_that_some_samples_lack():
    gold = np.array([0, 0, 0, 1])
    probabilities = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]])
    found = intervals(4, classification_statistic(gold, probabilities), seed=0, samples=200)
    assert found.keys() == classification_metrics(gold, probabilities).keys()
    assert all(0 <= low <= high <= 1 for name, (low, high) in found.items() if name != "mcc")
    one = intervals(3, classification_statistic(gold[:3], probabilities[:3]), seed=0, samples=20)
    assert "accuracy" in one
    assert "roc_auc" not in one


def test_the_interval_holds_the_figure_though_every_sample_has_more():
    """Answers of confidence 0.5, half of them right: the calibration error is 0, and more in nearly all samples."""
    gold_N, probabilities_NC = np.arange(200) % 2, np.full((200, 2), 0.5)
    statistic = classification_statistic(gold_N, probabilities_NC)
    assert statistic(np.arange(200))["ece"] == 0
    low, high = intervals(200, statistic, seed=0, samples=200, level=0.8)["ece"]
    assert low == 0 < high
    best = intervals(50, lambda indices: {"kinds": float(len(set(indices.tolist())))}, seed=0, samples=50)
    assert best["kinds"][1] == 50


def test_one_example_has_an_interval_of_one_point():
    assert intervals(1, mean_of(np.array([7.0])), seed=0, samples=5) == {"mean": (7.0, 7.0)}


@pytest.mark.parametrize(
    ("options", "told"),
    [({"samples": 0}, "0 samples"), ({"level": 1.0}, "level of 1.0"), ({"level": 95}, "level of 95")],
)
def test_what_gives_no_interval_is_refused(options, told):
    with pytest.raises(UserError, match=told):
        intervals(3, mean_of(np.arange(3.0)), seed=0, **options)


def test_nothing_has_no_figures():
    with pytest.raises(UserError, match="no examples"):
        of_all(0, mean_of(np.zeros(0)))
    with pytest.raises(UserError, match="no examples"):
        intervals(0, mean_of(np.zeros(0)), seed=0)
