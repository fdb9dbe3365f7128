"""Figures of classification: accuracy, F1, Matthews' correlation, confusion; of one label and of several."""

from typing import NamedTuple

import numpy as np

from unmask.errors import UserError
from unmask.tasks.metrics.bootstrap import Statistic, of_all
from unmask.tasks.metrics.calibration import BINS, Confidences
from unmask.tasks.metrics.ranking import (
    PrecisionRecallCurve,
    Ranking,
    RocCurve,
    precision_recall_curve,
    roc_curve,
)

__all__ = [
    "ClassFigures",
    "PrecisionRecallCurve",
    "RocCurve",
    "classification_metrics",
    "classification_statistic",
    "confusion",
    "figures",
    "multi_label_metrics",
    "multi_label_statistic",
    "per_class",
    "precision_recall_curve",
    "roc_curve",
]


class ClassFigures(NamedTuple):
    """How well one class is found; what would be divided by 0 is 0."""

    precision: float
    recall: float
    f1: float
    support: int
    """How many examples of it there are."""


def figures(right: float, predicted: float, gold: float) -> ClassFigures:
    """The figures of a class of which so many were found rightly, predicted at all, and there to be found."""
    return ClassFigures(
        float(right / predicted) if predicted else 0.0,
        float(right / gold) if gold else 0.0,
        float(2 * right / (predicted + gold)) if predicted + gold else 0.0,
        int(gold),
    )


def confusion(gold_N: np.ndarray, predicted_N: np.ndarray, n_classes: int) -> np.ndarray:
    """How often each class (row) was taken for each (column)."""
    gold_N, predicted_N = _classes(gold_N, n_classes, "gold"), _classes(predicted_N, n_classes, "predicted")
    _same_length(gold_N, predicted_N)
    counts_N = np.bincount(gold_N * n_classes + predicted_N, minlength=n_classes**2)
    return counts_N.reshape(n_classes, n_classes)


def per_class(gold_N: np.ndarray, predicted_N: np.ndarray, n_classes: int) -> list[ClassFigures]:
    """The figures of each class."""
    counts_CC = confusion(gold_N, predicted_N, n_classes)
    return [figures(*of) for of in zip(counts_CC.diagonal(), counts_CC.sum(0), counts_CC.sum(1), strict=True)]


def classification_metrics(gold_N: np.ndarray, probabilities_NC: np.ndarray) -> dict[str, float]:
    """Accuracy, macro F1, Matthews' correlation, expected calibration error; more for two classes.

    Macro F1 is the mean over the classes that occur in gold or predictions. Matthews' correlation is 0 if gold or
    predictions are of one class only. For two classes the second is the positive one, with its precision, recall and
    F1, and, if both occur in gold, the area under the ROC curve and the average precision.

    Args:
        gold_N: the classes' numbers.
        probabilities_NC: of each class; the likeliest is predicted, the first of equals.
    """
    return of_all(len(gold_N), classification_statistic(gold_N, probabilities_NC))


def classification_statistic(gold_N: np.ndarray, probabilities_NC: np.ndarray) -> Statistic:
    """`classification_metrics` of any of these examples."""
    probabilities_NC = _matrix(probabilities_NC)
    n_classes = probabilities_NC.shape[1]
    gold_N = _classes(gold_N, n_classes, "gold")
    _same_length(gold_N, probabilities_NC)
    predicted_N = probabilities_NC.argmax(1)
    confidences = Confidences(gold_N, probabilities_NC, BINS)
    ranking = Ranking(gold_N == 1, probabilities_NC[:, 1]) if n_classes == 2 else None

    def statistic(indices: np.ndarray) -> dict[str, float]:
        gold, predicted = gold_N[indices], predicted_N[indices]
        # Not the confusions: of thousands of classes they are millions.
        counted = (np.bincount(of, minlength=n_classes) for of in (gold[gold == predicted], predicted, gold))
        found = _figures_of_counts(*counted)
        found["ece"] = confidences.error(indices)
        return found | (_areas(ranking, np.bincount(indices, minlength=len(gold_N))) if ranking else {})

    return statistic


def _areas(ranking: Ranking, times_N: np.ndarray) -> dict[str, float]:
    """The areas under both curves, where both classes occur."""
    area, precision = ranking.roc_auc(times_N), ranking.average_precision(times_N)
    return {} if area is None or precision is None else {"roc_auc": area, "average_precision": precision}


def _figures_of_counts(right_C: np.ndarray, predicted_C: np.ndarray, gold_C: np.ndarray) -> dict[str, float]:
    n, right = float(gold_C.sum()), float(right_C.sum())
    found = {
        "accuracy": right / n,
        "macro_f1": _macro_f1(right_C, predicted_C, gold_C),
        "mcc": _matthews(right, predicted_C.astype(float), gold_C.astype(float), n),
    }
    if len(gold_C) == 2:
        positive = figures(right_C[1], predicted_C[1], gold_C[1])
        found |= {"f1": positive.f1, "precision": positive.precision, "recall": positive.recall}
    return found


def _macro_f1(right_C: np.ndarray, predicted_C: np.ndarray, gold_C: np.ndarray) -> float:
    occurring_C = predicted_C + gold_C
    there = occurring_C > 0
    return float((2 * right_C[there] / occurring_C[there]).mean()) if there.any() else 0.0


def _matthews(right: float, predicted_C: np.ndarray, gold_C: np.ndarray, n: float) -> float:
    """R_K, Matthews' correlation for any number of classes (Gorodkin 2004)."""
    spread = (n**2 - (predicted_C**2).sum()) * (n**2 - (gold_C**2).sum())
    return float((right * n - predicted_C @ gold_C) / np.sqrt(spread)) if spread > 0 else 0.0


def multi_label_metrics(gold_NC: np.ndarray, probabilities_NC: np.ndarray, threshold: float = 0.5) -> dict[str, float]:
    """Micro F1, macro F1, the share of examples whose labels are all right, and average precision.

    Macro F1 is the mean over the classes that occur in gold or predictions, the average precision that over the classes
    that occur in gold; it is left out where none does.

    Args:
        gold_NC: true for each label that an example has.
        probabilities_NC: of each label by itself.
        threshold: a label with at least this probability is predicted.
    """
    return of_all(len(gold_NC), multi_label_statistic(gold_NC, probabilities_NC, threshold))


def multi_label_statistic(gold_NC: np.ndarray, probabilities_NC: np.ndarray, threshold: float = 0.5) -> Statistic:
    """`multi_label_metrics` of any of these examples."""
    gold_NC, probabilities_NC = np.asarray(gold_NC, bool), _matrix(probabilities_NC)
    if gold_NC.shape != probabilities_NC.shape:
        raise UserError(f"Labels of shape {gold_NC.shape} and probabilities of {probabilities_NC.shape} do not fit.")
    predicted_NC = probabilities_NC >= threshold
    # Floats, exact up to 2⁵³: products of integers are many times slower.
    counts_N3C = np.stack([gold_NC & predicted_NC, predicted_NC, gold_NC], 1).astype(float)
    exact_N = (gold_NC == predicted_NC).all(1)
    rankings = [Ranking(gold_N, scores_N) for gold_N, scores_N in zip(gold_NC.T, probabilities_NC.T, strict=True)]

    def statistic(indices: np.ndarray) -> dict[str, float]:
        times_N = np.bincount(indices, minlength=len(exact_N))
        right_C, predicted_C, gold_C = np.tensordot(times_N.astype(float), counts_N3C, 1)
        found = {
            "micro_f1": figures(right_C.sum(), predicted_C.sum(), gold_C.sum()).f1,
            "macro_f1": _macro_f1(right_C, predicted_C, gold_C),
            "exact_match": float(times_N @ exact_N / times_N.sum()),
        }
        areas = [area for area in (ranking.average_precision(times_N) for ranking in rankings) if area is not None]
        return found | ({"average_precision": float(np.mean(areas))} if areas else {})

    return statistic


def _matrix(probabilities_NC: np.ndarray) -> np.ndarray:
    probabilities_NC = np.asarray(probabilities_NC)
    if probabilities_NC.ndim != 2 or not probabilities_NC.shape[1]:
        raise UserError(f"Probabilities of shape {probabilities_NC.shape} are not examples × classes.")
    wrong = int((~np.isfinite(probabilities_NC)).any(1).sum())
    if wrong:
        raise UserError(f"The probabilities of {wrong} of {len(probabilities_NC)} examples are not finite numbers.")
    return probabilities_NC


def _classes(classes_N: np.ndarray, n_classes: int, what: str) -> np.ndarray:
    """The numbers of classes, each checked to be one."""
    classes_N = np.asarray(classes_N)
    if classes_N.size and (classes_N.min() < 0 or classes_N.max() >= n_classes):
        wrong = classes_N[(classes_N < 0) | (classes_N >= n_classes)][0]
        raise UserError(f"A {what} class is {wrong}, but {n_classes} classes are numbered 0 to {n_classes - 1}.")
    return classes_N.astype(np.int64)


def _same_length(gold_N: np.ndarray, predicted: np.ndarray) -> None:
    if len(gold_N) != len(predicted):
        raise UserError(f"There are {len(gold_N)} gold labels for {len(predicted)} predictions; give one for each.")
