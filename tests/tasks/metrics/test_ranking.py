"""Ranking: the curves and areas of scikit-learn; equal scores are one step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as peer

from unmask.tasks.metrics.ranking import Ranking, precision_recall_curve, roc_curve

EXAMPLES = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 1e-300, 0.25, 0.5, 1 - 1e-16, 1.0])), min_size=2, max_size=30
).filter(lambda rows: len({gold for gold, _ in rows}) == 2)


@settings(deadline=None, max_examples=300)
@given(EXAMPLES)
def test_curves_and_areas_are_those_of_scikit_learn(rows):
    gold, scores = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    for ours, theirs in zip(
        roc_curve(gold, scores), peer.roc_curve(gold, scores, drop_intermediate=False), strict=True
    ):
        np.testing.assert_allclose(ours, theirs)
    precision, recall, thresholds = peer.precision_recall_curve(gold, scores)
    ours = precision_recall_curve(gold, scores)
    np.testing.assert_allclose(ours.precision, precision[::-1])
    np.testing.assert_allclose(ours.recall, recall[::-1])
    np.testing.assert_allclose(ours.thresholds[1:], thresholds[::-1])
    assert Ranking(gold, scores).roc_auc() == pytest.approx(peer.roc_auc_score(gold, scores), abs=1e-12)
    theirs = peer.average_precision_score(gold, scores)
    assert Ranking(gold, scores).average_precision() == pytest.approx(theirs, abs=1e-12)


@settings(deadline=None, max_examples=100)
@given(EXAMPLES)
def test_the_area_is_the_chance_of_the_right_order(rows):
    positive, negative = ([score for gold, score in rows if gold == kind] for kind in (True, False))
    wins = [(high > low) + (high == low) / 2 for high in positive for low in negative]
    assert Ranking(*map(np.array, zip(*rows, strict=True))).roc_auc() == pytest.approx(np.mean(wins))


def test_a_sample_needs_no_sorting():
    draw = np.random.default_rng(0)
    gold, scores = draw.random(500) < 0.2, draw.random(500).round(2)
    ranking = Ranking(gold, scores)
    for _ in range(20):
        chosen = draw.integers(0, 500, 500)
        times = np.bincount(chosen, minlength=500)
        assert ranking.roc_auc(times) == pytest.approx(peer.roc_auc_score(gold[chosen], scores[chosen]))
        theirs = peer.average_precision_score(gold[chosen], scores[chosen])
        assert ranking.average_precision(times) == pytest.approx(theirs)


@pytest.mark.parametrize("positive", [True, False])
def test_one_class_alone_has_no_area_but_a_curve(positive):
    gold, scores = np.full(3, positive), np.array([0.1, 0.2, 0.2])
    assert Ranking(gold, scores).roc_auc() is None
    assert Ranking(gold, scores).average_precision() == (1.0 if positive else None)
    curve = roc_curve(gold, scores)
    assert curve.true_positive_rate[-1] == positive
    assert curve.false_positive_rate[-1] == (not positive)
    assert precision_recall_curve(gold, scores).recall[-1] == positive
