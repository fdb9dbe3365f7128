"""Figures of regression: Pearson's and Spearman's correlation, root mean square and mean absolute error."""

import numpy as np

from unmask.errors import UserError
from unmask.tasks.metrics.bootstrap import Statistic, of_all


def regression_metrics(gold_N: np.ndarray, predicted_N: np.ndarray) -> dict[str, float]:
    """`pearson`, `spearman` (equal values share the mean of their ranks), `rmse` and `mae`.

    A correlation with numbers that are all equal is not defined; it is 0 here, since they tell nothing of the others.
    """
    return of_all(len(gold_N), regression_statistic(gold_N, predicted_N))


def regression_statistic(gold_N: np.ndarray, predicted_N: np.ndarray) -> Statistic:
    """`regression_metrics` of any of these examples."""
    gold_N, predicted_N = _numbers(gold_N, "gold"), _numbers(predicted_N, "predicted")
    if gold_N.shape != predicted_N.shape:
        raise UserError(f"There are {len(gold_N)} gold numbers for {len(predicted_N)} predictions; give one for each.")
    gold_steps_N, predicted_steps_N = _steps(gold_N), _steps(predicted_N)

    def statistic(indices: np.ndarray) -> dict[str, float]:
        gold, predicted = gold_N[indices], predicted_N[indices]
        off = np.abs(predicted - gold)
        most = off.max() or 1.0  # squares of very large numbers would overflow
        return {
            "pearson": pearson(gold, predicted),
            "spearman": pearson(_ranks(gold_steps_N[indices]), _ranks(predicted_steps_N[indices])),
            "rmse": float(most * np.sqrt(((off / most) ** 2).mean())),
            "mae": float(off.mean()),
        }

    return statistic


def pearson(one_N: np.ndarray, other_N: np.ndarray) -> float:
    """The correlation of two rows of numbers; 0 if either is constant."""
    if one_N.min() == one_N.max() or other_N.min() == other_N.max():
        return 0.0
    one_N, other_N = _centred(one_N), _centred(other_N)
    spread = np.linalg.norm(one_N) * np.linalg.norm(other_N)
    return float(np.clip(one_N @ other_N / spread, -1, 1)) if spread else 0.0


def _centred(numbers_N: np.ndarray) -> np.ndarray:
    """The distances from the mean, the largest of them 1: neither huge nor tiny numbers leave a float's range."""
    scaled_N = numbers_N / np.abs(numbers_N).max()
    distances_N = scaled_N - scaled_N.mean()
    return distances_N / np.abs(distances_N).max()


def _steps(numbers_N: np.ndarray) -> np.ndarray:
    """For each number how many distinct ones are smaller."""
    return np.unique(numbers_N, return_inverse=True)[1].reshape(-1)


def _ranks(steps_N: np.ndarray) -> np.ndarray:
    """Ranks from the numbers of steps, without sorting; equal ones share the mean of theirs."""
    counts = np.bincount(steps_N)
    return (counts.cumsum() - (counts - 1) / 2)[steps_N]


def _numbers(numbers_N: np.ndarray, what: str) -> np.ndarray:
    numbers_N = np.asarray(numbers_N, float)
    wrong = int((~np.isfinite(numbers_N)).sum())
    if wrong:
        raise UserError(f"{wrong} of {numbers_N.size} {what} numbers are not finite; leave those examples out.")
    return numbers_N
