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


@dataclass(frozen=True)
class Measured:
    """The number of a text."""

    value: float


class Regress(Task[TextExample, Measured]):
    """A number for each text."""

    name: ClassVar[str] = "regress"
    head: ClassVar[str] = "classify"
    metric: ClassVar[str] = "pearson"
    problem: ClassVar[str | None] = "regression"

    @classmethod
    def learn(cls, records: Iterable[Record], columns: Mapping[str, str], **options: Any) -> "Regress":
        """The task; the label's column names what is measured."""
        del options
        values = {_number(record, columns["label"]) for record in records}
        if len(values) < 2:
            raise UserError(
                f"All numbers in {columns['label']!r} are {next(iter(values), 'missing')}: nothing to learn."
            )
        return cls((columns["label"],))

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
        return text_units(examples, tokenizer, window, lambda value: {"value": value})

    def answers(
        self, examples: Listed[TextExample], units: Listed[Unit], outputs: Listed[np.ndarray]
    ) -> list[Measured]:
        """The model's number; those of several windows are averaged."""
        return [Measured(float(value)) for (value,) in mean_of_windows(len(examples), units, outputs)]

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
