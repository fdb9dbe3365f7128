"""What a task is: how records become examples, examples what a model reads, and its numbers answers.

A task knows no framework. It is told by its class, its classes (the names of the labels) and its settings, all of which
a model folder keeps: the labels in config.json, the rest in task.json.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Listed
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from unmask.data.roles import ANSWERS, NO_COLUMN
from unmask.errors import UserError
from unmask.tasks.metrics.bootstrap import Statistic, of_all
from unmask.tasks.remarks import Tell, tell
from unmask.tasks.units import Unit, Window
from unmask.text import Tokenizer

Example = TypeVar("Example")
Answer = TypeVar("Answer")


def as_trained(columns: Mapping[str, str], names: Listed[str]) -> dict[str, str]:
    """What is said of the columns of another file: those of training that it has too, and no pairs if there were none.

    Numbers, which columns without a header have, mean the same columns only if all that is asked is there.

    >>> as_trained({"text": "review", "label": "stars"}, ["review", "title"])
    {'text': 'review', 'pair': ''}
    """
    there = {
        role: column
        for role, column in columns.items()
        if column in names or all(part in names for part in column.split(","))
    }
    asked = {role for role, column in columns.items() if column.isdecimal() and role not in ANSWERS}
    if not asked <= there.keys():
        there = {role: column for role, column in there.items() if not column.isdecimal()}
    single = "text" in there and "pair" not in columns and "label" in columns
    return {**there, "pair": NO_COLUMN} if single else there


class Task(ABC, Generic[Example, Answer]):
    """One task with its labels.

    Args:
        classes: the names of the labels, in the order of the head's outputs; empty where a task has none.
        settings: what else the task must remember, such as a scheme of tags; plain JSON.
    """

    name: ClassVar[str]
    """As the command line says it."""
    head: ClassVar[str]
    """The head of the model, one of `unmask.model.heads.HEADS`."""
    metric: ClassVar[str]
    """The figure by which the best epoch is chosen; more is better."""
    problem: ClassVar[str | None] = None
    """What config.json calls the kind of classification, if it is one."""
    windowed: ClassVar[bool] = True
    """Whether what is too long can be read in windows; else it is always cut."""

    def __init__(self, classes: tuple[str, ...] = (), settings: Mapping[str, Any] | None = None) -> None:
        self.classes, self.settings = classes, dict(settings or {})

    @classmethod
    @abstractmethod
    def learn(cls, records: Iterable[Any], columns: Mapping[str, str], **options: Any) -> "Task[Example, Answer]":
        """The task with the labels that these records (`unmask.data.readers.Record`) have.

        Args:
            records: of the training data.
            columns: for each role (text, label …) the column that has it.
            options: of the task, by name.
        """

    @abstractmethod
    def examples(self, records: Iterable[Any], columns: Mapping[str, str], *, labelled: bool) -> list[Example]:
        """Records as examples; with `labelled` each must have its label, else labels are not looked at."""

    @abstractmethod
    def units(self, examples: Listed[Example], tokenizer: Tokenizer, window: Window) -> list[Unit]:
        """What the model reads, with targets where an example has its label."""

    @abstractmethod
    def answers(self, examples: Listed[Example], units: Listed[Unit], outputs: Listed[np.ndarray]) -> list[Answer]:
        """One answer for each example.

        Args:
            examples: what was asked.
            units: as `units` gave them, in any number for an example.
            outputs: the model's numbers for each unit, without padding: classify logits_C, tag logits_LC, read
                logits_L2 (start and end of each token), choose logits_N.
        """

    @abstractmethod
    def statistic(self, examples: Listed[Example], answers: Listed[Answer]) -> Statistic:
        """The task's figures, `metric` among them, as a function of the examples that count."""

    def window(self, length: int, stride: int | None, *, limit: int, tell: Tell = tell) -> Window:
        """How long texts are read by a model that reads `limit` tokens; a UserError if that cannot be."""
        if length > limit:
            other = " or --stride" if self.windowed else ""
            raise UserError(f"{length} tokens, but this model reads {limit}; pass --max-length {limit}{other}.")
        if stride is not None and not self.windowed:
            raise UserError(f"--stride is not for {self.name}, which cuts what is too long; leave it out.")
        return Window(length, stride, limit, tell)

    def metrics(self, examples: Listed[Example], answers: Listed[Answer]) -> dict[str, float]:
        """The figures of all these examples."""
        return of_all(len(examples), self.statistic(examples, answers))

    def class_weights(self, examples: Listed[Example]) -> list[float]:
        """How much each class counts in training, so that rare ones are not neglected."""
        del examples
        what = "several labels" if self.problem == "multi_label_classification" else self.name
        raise UserError(f"Class weights are for the classification of one label, not for {what}; leave them out.")

    def decide(self, examples: Listed[Example], units: Listed[Unit], outputs: Listed[np.ndarray]) -> None:
        """Sets what answers depend on beside the outputs, such as a threshold; at every look at held-out examples."""

    def tune(self, examples: Listed[Example], units: Listed[Unit], outputs: Listed[np.ndarray]) -> None:
        """At the end: adjusts settings to held-out examples, and tells of what was not learnt."""

    def taken_in(self) -> tuple[float, float]:
        """A factor and an addend of all outputs, for the head's weights to take in when training has ended."""
        return 1.0, 0.0
