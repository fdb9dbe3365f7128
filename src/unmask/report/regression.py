"""Sections of a regression's page: predicted against gold values, the errors' distribution, the largest errors."""

from collections.abc import Sequence

import numpy as np

from unmask.report.classification import Text, as_one
from unmask.report.evaluation import Picture, Section, Table, WorstError
from unmask.report.pictures import draw_histogram, draw_scatter
from unmask.tasks.metrics.regression import regression_metrics


def regression_sections(gold_N: np.ndarray, predicted_N: np.ndarray) -> list[Section]:
    """The sections for a number a text."""
    if not len(gold_N):
        return []
    found, residual_N = regression_metrics(gold_N, predicted_N), predicted_N - gold_N
    return [
        Picture(
            "Predicted against gold",
            draw_scatter(gold_N, predicted_N),
            f"Predicted against gold values of {len(gold_N)} examples; their correlation is {found['pearson']:.3f}.",
            "Points on the line are right.",
            "scatter",
        ),
        Picture(
            "Distribution of errors",
            draw_histogram(residual_N, x_label="predicted − gold"),
            f"Histogram of predicted minus gold; the mean is {residual_N.mean():.3f}, "
            f"the deviation {residual_N.std():.3f}.",
            "Right of the line: predicted too high.",
            "residuals",
        ),
        _by_gold(gold_N, predicted_N),
    ]


def _by_gold(gold_N: np.ndarray, predicted_N: np.ndarray) -> Table:
    """Means in up to five groups of examples with about the same gold value: is one end of the scale worse?"""
    rows = []
    for group in np.array_split(np.argsort(gold_N, kind="stable"), min(5, len(gold_N))):
        gold, off = gold_N[group], predicted_N[group] - gold_N[group]
        rows.append((float(gold.min()), float(gold.max()), len(group), float(off.mean()), float(np.abs(off).mean())))
    columns = ["Gold from", "to", "Examples", "Mean of predicted − gold", "Mean absolute error"]
    return Table("By gold value", columns, rows)


def regression_errors(
    texts: Sequence[Text], places: Sequence[str], gold_N: np.ndarray, predicted_N: np.ndarray
) -> list[WorstError]:
    """Every example that is not exactly right, the one that is off farthest first."""
    off_N = np.abs(predicted_N - gold_N)
    return [
        WorstError(places[n], as_one(texts[n]), f"{gold_N[n]:.4g}", f"{predicted_N[n]:.4g}", float(off_N[n]))
        for n in np.argsort(-off_N, kind="stable").tolist()
        if off_N[n] > 0
    ]
