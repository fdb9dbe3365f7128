"""Ranking of examples by a score: the ROC and precision-recall curves, the areas under them; equal scores are one step.

The examples are sorted once; a sample of them is how often each counts, and needs no sorting.
"""

from typing import NamedTuple

import numpy as np


class RocCurve(NamedTuple):
    """One point for each distinct score, the highest first, after a first point at which nothing is taken."""

    false_positive_rate: np.ndarray
    true_positive_rate: np.ndarray
    thresholds: np.ndarray
    """What scores at least this is taken; the first is infinite."""


class PrecisionRecallCurve(NamedTuple):
    """One point for each distinct score, the highest first, after a first point of precision 1 and recall 0."""

    precision: np.ndarray
    recall: np.ndarray
    thresholds: np.ndarray
    """What scores at least this is taken; the first is infinite."""


class Ranking:
    """Examples, of which some are positive, by their scores.

    Args:
        gold_N: true for the positive ones.
        scores_N: higher, the likelier to be positive.
    """

    def __init__(self, gold_N: np.ndarray, scores_N: np.ndarray) -> None:
        order_N = np.argsort(scores_N, kind="stable")[::-1]
        falling_N = np.asarray(scores_N)[order_N]
        # Equal scores are taken at once: only the last of them ends a step.
        self._ends = np.flatnonzero(np.append(falling_N[1:] != falling_N[:-1], True)[: len(falling_N)])
        self._order_N, self._positive_N = order_N, np.asarray(gold_N, bool)[order_N]
        self.scores = falling_N[self._ends]
        """The distinct scores, the highest first."""

    def taken(self, times_N: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """How many positive and how many negative examples score at least as high as each distinct score.

        Args:
            times_N: how often each example counts; once if not given.
        """
        times_N = np.ones(len(self._order_N), int) if times_N is None else times_N[self._order_N]
        positive = (times_N * self._positive_N).cumsum()[self._ends]
        return positive, times_N.cumsum()[self._ends] - positive

    def roc_auc(self, times_N: np.ndarray | None = None) -> float | None:
        """The chance that a positive example scores higher than a negative one, equal scores counting half."""
        positive, negative = self.taken(times_N)
        if not positive[-1] or not negative[-1]:
            return None
        before = np.concatenate([[0], positive[:-1]])
        area = ((positive + before) * np.diff(negative, prepend=0)).sum(dtype=float) / 2
        return float(area / (float(positive[-1]) * float(negative[-1])))

    def average_precision(self, times_N: np.ndarray | None = None) -> float | None:
        """The precision at each distinct score, weighted with the recall it adds (no interpolation)."""
        positive, negative = self.taken(times_N)
        if not positive[-1]:
            return None
        precision = positive / np.maximum(positive + negative, 1)
        return float((precision * np.diff(positive, prepend=0)).sum() / positive[-1])


def roc_curve(gold_N: np.ndarray, scores_N: np.ndarray) -> RocCurve:
    """The rates of false and true positives at each threshold; a rate of a class without examples is 0."""
    ranking = Ranking(gold_N, scores_N)
    rates = [np.concatenate([[0.0], taken / max(1, taken[-1])]) for taken in ranking.taken()]
    return RocCurve(rates[1], rates[0], np.concatenate([[np.inf], ranking.scores]))


def precision_recall_curve(gold_N: np.ndarray, scores_N: np.ndarray) -> PrecisionRecallCurve:
    """Precision and recall at each threshold; recall is 0 where no example is positive."""
    ranking = Ranking(gold_N, scores_N)
    positive, negative = ranking.taken()
    precision = np.concatenate([[1.0], positive / (positive + negative)])
    recall = np.concatenate([[0.0], positive / max(1, positive[-1])])
    return PrecisionRecallCurve(precision, recall, np.concatenate([[np.inf], ranking.scores]))
