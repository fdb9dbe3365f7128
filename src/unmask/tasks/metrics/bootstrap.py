"""Confidence intervals by the percentile bootstrap (Efron 1979): figures of examples drawn with replacement."""

from collections.abc import Callable

import numpy as np

from unmask.errors import UserError

Statistic = Callable[[np.ndarray], dict[str, float]]
"""Figures of the examples with these numbers, any of them several times; one that they do not define is left out."""


def of_all(n: int, statistic: Statistic) -> dict[str, float]:
    """The figures of n examples, each counted once."""
    if n == 0:
        raise UserError("There are no examples to measure; at least one is needed.")
    return statistic(np.arange(n))


def intervals(
    n: int,
    statistic: Statistic,
    *,
    seed: int,
    samples: int = 1000,
    level: float = 0.95,
    done: Callable[[int], None] | None = None,
) -> dict[str, tuple[float, float]]:
    """For each figure the interval in which it falls in `level` of the samples; it always holds the figure of them all.

    A figure that some samples do not define, such as the area under a curve of one class only, has the interval of
    those that do; one that no sample defines has none.

    Args:
        n: how many examples there are.
        statistic: their figures.
        seed: of the draws; the same seed draws the same samples of n examples for whatever statistic.
        samples: how many are drawn.
        level: of confidence, between 0 and 1.
        done: is told of each sample.
    """
    if samples < 1:
        raise UserError(f"{samples} samples give no interval; draw at least one.")
    if not 0 < level < 1:
        raise UserError(f"A confidence level of {level} is not between 0 and 1; 0.95 is usual.")
    whole = of_all(n, statistic)
    values: dict[str, list[float]] = {name: [] for name in whole}
    draw = np.random.default_rng(seed)
    for _ in range(samples):
        for name, value in statistic(draw.integers(0, n, n)).items():
            values.setdefault(name, []).append(value)
        if done is not None:
            done(1)
    tails = (0.5 - level / 2, 0.5 + level / 2)
    return {name: _between(np.quantile(found, tails), whole.get(name)) for name, found in values.items() if found}


def _between(ends: np.ndarray, value: float | None) -> tuple[float, float]:
    """The ends of an interval, one of them moved to the value if that lies outside.

    Drawing with replacement adds noise, and a mean of distances such as ECE only grows by noise: nearly all samples may
    have more of it than the examples themselves. An interval beside its own figure would read as a mistake, and a wider
    one claims less, never more.
    """
    low, high = float(ends[0]), float(ends[1])
    return (low, high) if value is None else (min(low, value), max(high, value))
