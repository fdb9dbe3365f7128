"""Regression: a number for a text or a pair, such as how alike two sentences are."""

import math
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Listed
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unmask.data.readers import Record
from unmask.errors import UserError
from unmask.tasks.classify import gold_of, mean_of_windows, text_units
from unmask.tasks.metrics.bootstrap import Statistic
from unmask.tasks.metrics.regression import regression_statistic
from unmask.tasks.task import Task
from unmask.tasks.texts import TextExample, texts_of
from unmask.tasks.units import Unit, Window
from unmask.text import Tokenizer

_LEAST, _MOST = 1e-30, 1e30
_MOST_SPREADS = 1e5
"""So many deviations away from 0, float32 still tells numbers apart that differ by a hundredth of one."""


@dataclass(frozen=True)
class Measured:
    """The number of a text."""

    value: float


class Regress(Task[TextExample, Measured]):
    """A number for each text.

    Settings, in training only: `mean` and `scale` of the numbers. The head learns how many scales they lie from the
    mean, since numbers around 0 suit any model's learning rate, be they shares or prices; at the end its weights take
    both in.
    """

    name: ClassVar[str] = "regress"
    head: ClassVar[str] = "classify"
    metric: ClassVar[str] = "pearson"
    problem: ClassVar[str | None] = "regression"

    @classmethod
    def learn(cls, records: Iterable[Record], columns: Mapping[str, str], **options: Any) -> "Regress":
        """The task; the label's column names what is measured."""
        del options
        column = columns["label"]
        values = np.asarray([_number(record, column) for record in records])
        if len(set(values.tolist())) < 2:
            only = values[0] if len(values) else "missing"
            raise UserError(f"All numbers in {column!r} are {only}: nothing to learn.")
        low, high = values.min(), values.max()
        if max(-low, high) > _MOST or high - low < _LEAST:
            raise UserError(
                f"The numbers in {column!r} go from {low:.3g} to {high:.3g}, which float32 cannot hold; "
                "give them in another unit."
            )
        mean, spread = float(values.mean()), float(values.std())
        if max(-low, high) > _MOST_SPREADS * spread:
            raise UserError(
                f"The numbers in {column!r} are around {mean:.9g} and differ by {spread:.3g} only, which float32 "
                f"cannot tell apart; take a number such as {mean:.0f} away from all of them."
            )
        return cls((column,), {"mean": mean, "scale": spread})

    def _affine(self) -> tuple[float, float]:
        return float(self.settings.get("mean", 0.0)), float(self.settings.get("scale", 1.0))

    def examples(self, records: Iterable[Record], columns: Mapping[str, str], *, labelled: bool) -> list[TextExample]:
        """Texts with their numbers."""
        return [
            TextExample(
                *texts_of(record, columns), _number(record, columns["label"]) if labelled else None, record.place
            )
            for record in records
        ]

    def units(self, examples: Listed[TextExample], tokenizer: Tokenizer, window: Window) -> list[Unit]:
        """A row for each text, or for each window over it."""
        mean, scale = self._affine()
        return text_units(examples, tokenizer, window, lambda value: {"value": (value - mean) / scale})

    def answers(
        self, examples: Listed[TextExample], units: Listed[Unit], outputs: Listed[np.ndarray]
    ) -> list[Measured]:
        """The model's number; those of several windows are averaged."""
        mean, scale = self._affine()
        if len(self.classes) > 1:
            raise UserError(f"This model gives {len(self.classes)} numbers for a text; regress is for models of one.")
        return [Measured(float(value * scale + mean)) for (value,) in mean_of_windows(len(examples), units, outputs)]

    def taken_in(self) -> tuple[float, float]:
        """Scale and mean of the numbers, which are forgotten here."""
        mean, scale = self._affine()
        for name in ("mean", "scale"):
            self.settings.pop(name, None)
        return scale, mean

    def statistic(self, examples: Listed[TextExample], answers: Listed[Measured]) -> Statistic:
        """Correlations and distances of any of these examples."""
        return regression_statistic(gold_of(examples), np.asarray([answer.value for answer in answers]))


def _number(record: Record, column: str) -> float:
    said: Any = record.values.get(column)
    try:
        value = math.nan if isinstance(said, bool) else float(said)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{record.place}: {column!r} must be a number, but is {said!r}.")
    return value
