"""Figures of entities as conlleval counts them (Tjong Kim Sang and Buchholz 2000): right if place and label are."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unmask.errors import UserError
from unmask.tasks.metrics.bootstrap import Statistic, of_all
from unmask.tasks.metrics.classification import ClassFigures, figures


class Entity(NamedTuple):
    """Something named in a text."""

    start: int
    """The number of its first word (or character)."""
    end: int
    """The number after its last."""
    label: str


def entity_metrics(gold: Sequence[Sequence[Entity]], predicted: Sequence[Sequence[Entity]]) -> dict[str, float]:
    """`precision`, `recall` and `f1` over the entities of all texts; what would be divided by 0 is 0.

    Args:
        gold: for each text its entities; one that is listed twice counts once.
        predicted: for each text those found in it.
    """
    return of_all(len(gold), entity_statistic(gold, predicted))


def entity_statistic(gold: Sequence[Sequence[Entity]], predicted: Sequence[Sequence[Entity]]) -> Statistic:
    """`entity_metrics` of any of these texts."""
    counts_N3 = entity_counts(gold, predicted)

    def statistic(indices: np.ndarray) -> dict[str, float]:
        found = figures(*counts_N3[indices].sum(0))
        return {"precision": found.precision, "recall": found.recall, "f1": found.f1}

    return statistic


def entity_counts(gold: Sequence[Sequence[Entity]], predicted: Sequence[Sequence[Entity]]) -> np.ndarray:
    """For each text how many entities are rightly found, found at all, and there to be found."""
    pairs = _pairs(gold, predicted)
    return np.array([(len(ours & theirs), len(ours), len(theirs)) for theirs, ours in pairs], int).reshape(-1, 3)


def per_label(gold: Sequence[Sequence[Entity]], predicted: Sequence[Sequence[Entity]]) -> dict[str, ClassFigures]:
    """The figures of each label that occurs in gold or predictions, by the alphabet."""
    right, found, there = Counter[str](), Counter[str](), Counter[str]()
    for theirs, ours in _pairs(gold, predicted):
        right.update(entity[2] for entity in ours & theirs)
        found.update(entity[2] for entity in ours)
        there.update(entity[2] for entity in theirs)
    return {label: figures(right[label], found[label], there[label]) for label in sorted(found | there)}


def _pairs(
    gold: Sequence[Sequence[Entity]], predicted: Sequence[Sequence[Entity]]
) -> list[tuple[set[Entity], set[Entity]]]:
    if len(gold) != len(predicted):
        raise UserError(f"There are entities of {len(gold)} texts in gold and of {len(predicted)} in the predictions.")
    return [(set(theirs), set(ours)) for theirs, ours in zip(gold, predicted, strict=True)]
