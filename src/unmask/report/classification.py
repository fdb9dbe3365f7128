"""Sections of a classification's page: each class, confusion, ROC and precision-recall curves, calibration."""

from collections.abc import Sequence

import numpy as np

from unmask.report.evaluation import Confusion, Picture, Section, Table, WorstError
from unmask.report.pictures import draw_curve, draw_reliability
from unmask.tasks.metrics.calibration import expected_calibration_error, reliability
from unmask.tasks.metrics.classification import (
    classification_metrics,
    confusion,
    figures,
    per_class,
    precision_recall_curve,
    roc_curve,
)

MOST_CLASSES = 30
"""A larger confusion matrix is not drawn; the pairs that are confused most stand in a table instead."""
_MOST_PAIRS = 30
_LEAST_PROBABILITY = 1e-12

Text = str | Sequence[str]
"""A text, or several that belong together, such as a pair."""


def as_one(text: Text) -> str:
    """The texts of a pair one below the other."""
    return text if isinstance(text, str) else "\n".join(text)


def classification_sections(gold_N: np.ndarray, probabilities_NC: np.ndarray, classes: Sequence[str]) -> list[Section]:
    """The sections for one label a text."""
    predicted_N = probabilities_NC.argmax(1)
    counts_CC = confusion(gold_N, predicted_N, len(classes))
    rows = [(name, *found) for name, found in zip(classes, per_class(gold_N, predicted_N, len(classes)), strict=True)]
    sections: list[Section] = [_class_table("Classes", "Class", rows)]
    if len(classes) <= MOST_CLASSES:
        sections.append(Confusion("Confusion matrix", list(classes), counts_CC))
    if len(classes) > 2:
        sections += _confused_pairs(counts_CC, classes)
    elif len(classes) == 2 and 0 < gold_N.sum() < len(gold_N):
        sections += _curves(gold_N, probabilities_NC, classes[1])
    return [*sections, reliability_picture(gold_N, probabilities_NC)] if len(gold_N) else sections


def _class_table(title: str, what: str, rows: Sequence[Sequence[str | float]]) -> Table:
    columns = [what, "Precision", "Recall", "F1", "Examples"]
    return Table(title, columns, rows, bars=frozenset({"Precision", "Recall", "F1"}))


def _confused_pairs(counts_CC: np.ndarray, classes: Sequence[str]) -> list[Section]:
    """The table of the pairs of classes that are confused most; none if nothing is confused."""
    wrong_CC = counts_CC - np.diag(counts_CC.diagonal())
    order = np.argsort(-wrong_CC, axis=None, kind="stable")[:_MOST_PAIRS]
    rows = []
    for gold, predicted in zip(*np.unravel_index(order, wrong_CC.shape), strict=True):
        count = int(wrong_CC[gold, predicted])
        if count:
            rows.append((classes[gold], classes[predicted], count, count / int(counts_CC[gold].sum())))
    columns = ["Gold", "Predicted", "Examples", "Share of gold"]
    table = Table("Confused most", columns, rows, bars=frozenset({"Share of gold"}))
    return [table] if rows else []


def _curves(gold_N: np.ndarray, probabilities_NC: np.ndarray, positive: str) -> list[Section]:
    found, scores_N = classification_metrics(gold_N, probabilities_NC), probabilities_NC[:, 1]
    roc, both = roc_curve(gold_N, scores_N), precision_recall_curve(gold_N, scores_N)
    note, share = f"Positive is the class {positive}.", float(np.mean(gold_N))
    labels = {"x_label": "false positive rate", "y_label": "true positive rate"}
    diagonal = ([0.0, 1.0], [0.0, 1.0])
    level = ([0.0, 1.0], [share, share])
    return [
        Picture(
            "ROC curve",
            draw_curve(roc.false_positive_rate, roc.true_positive_rate, **labels, chance=diagonal),
            f"ROC curve; the area under it is {found['roc_auc']:.3f}.",
            note,
            "roc",
        ),
        Picture(
            "Precision-recall curve",
            draw_curve(both.recall, both.precision, x_label="recall", y_label="precision", chance=level),
            f"Precision-recall curve; average precision {found['average_precision']:.3f}, by chance {share:.3f}.",
            note,
            "precision-recall",
        ),
    ]


def reliability_picture(gold_N: np.ndarray, probabilities_NC: np.ndarray) -> Picture:
    """Whether the model is as often right as it is sure."""
    bins = np.array(reliability(gold_N, probabilities_NC), dtype=float)
    error = expected_calibration_error(gold_N, probabilities_NC)
    return Picture(
        "Reliability",
        draw_reliability(*bins.T),
        f"Accuracy against confidence in {len(bins)} bins; the expected calibration error is {error:.3f}.",
        "Points below the line: surer than right. Above: more often right than sure. Larger points: more examples. "
        f"Expected calibration error: {error:.3f}.",
        "reliability",
    )


def classification_errors(
    texts: Sequence[Text],
    places: Sequence[str],
    gold_N: np.ndarray,
    probabilities_NC: np.ndarray,
    classes: Sequence[str],
) -> list[WorstError]:
    """Every mistake, that with the highest loss first; of equals the one that was made with more confidence."""
    numbers = np.arange(len(gold_N))
    predicted_N, gold_p_N = probabilities_NC.argmax(1), probabilities_NC[numbers, gold_N]
    # Not -log(max(p, ε)), which gives -0.0 where the model is certain.
    loss_N, sure_N = np.log(1 / np.maximum(gold_p_N, _LEAST_PROBABILITY)), probabilities_NC.max(1)
    order = [n for n in np.lexsort((-sure_N, -loss_N)).tolist() if predicted_N[n] != gold_N[n]]
    return [
        WorstError(
            places[n],
            as_one(texts[n]),
            f"{classes[gold_N[n]]} ({gold_p_N[n]:.3f})",
            f"{classes[predicted_N[n]]} ({sure_N[n]:.3f})",
            float(loss_N[n]),
        )
        for n in order
    ]


def multi_label_sections(
    gold_NC: np.ndarray, probabilities_NC: np.ndarray, classes: Sequence[str], *, threshold: float = 0.5
) -> list[Section]:
    """The sections for any number of labels a text."""
    gold_NC, predicted_NC = np.asarray(gold_NC, bool), probabilities_NC >= threshold
    counts = ((gold_NC & predicted_NC).sum(0), predicted_NC.sum(0), gold_NC.sum(0))
    rows = [(name, *figures(*of)) for name, of in zip(classes, zip(*counts, strict=True), strict=True)]
    numbers, predicted_numbers = gold_NC.sum(1), predicted_NC.sum(1)
    most = int(max(numbers.max(initial=0), predicted_numbers.max(initial=0)))
    by_number = [
        (n, int((numbers == n).sum()), int((predicted_numbers == n).sum()))
        for n in range(most + 1)
        if (numbers == n).any() or (predicted_numbers == n).any()
    ]
    return [
        _class_table("Labels", "Label", rows),
        Table("Labels of a text", ["Labels", "Texts, gold", "Texts, predicted"], by_number),
    ]


def multi_label_errors(
    texts: Sequence[Text],
    places: Sequence[str],
    gold_NC: np.ndarray,
    probabilities_NC: np.ndarray,
    classes: Sequence[str],
    *,
    threshold: float = 0.5,
) -> list[WorstError]:
    """Every text with a label too many or too few, that with the highest loss (over all labels) first."""
    gold_NC, predicted_NC = np.asarray(gold_NC, bool), probabilities_NC >= threshold
    given_NC = np.where(gold_NC, probabilities_NC, 1 - probabilities_NC)
    loss_N = np.log(1 / np.maximum(given_NC, _LEAST_PROBABILITY)).sum(1)

    def named(chosen_C: np.ndarray, p_C: np.ndarray) -> str:
        return ", ".join(f"{classes[c]} ({p_C[c]:.3f})" for c in np.flatnonzero(chosen_C).tolist()) or "no label"

    order = [n for n in np.argsort(-loss_N, kind="stable").tolist() if (gold_NC[n] != predicted_NC[n]).any()]
    return [
        WorstError(
            places[n],
            as_one(texts[n]),
            named(gold_NC[n], probabilities_NC[n]),
            named(predicted_NC[n], probabilities_NC[n]),
            float(loss_N[n]),
        )
        for n in order
    ]
