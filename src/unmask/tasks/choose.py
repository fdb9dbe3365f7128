"""Multiple choice: which of several continuations or answers is right. Devlin et al. 2018, section 4.4; RACE, SWAG."""

import json
import string
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Listed
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unmask.data.readers import Record
from unmask.errors import UserError
from unmask.tasks.classify import softmax
from unmask.tasks.metrics.bootstrap import Statistic
from unmask.tasks.task import Task
from unmask.tasks.texts import TextExample, sequences_of, text_of
from unmask.tasks.units import Unit, Window
from unmask.text import Tokenizer


@dataclass(frozen=True)
class ChoiceExample:
    """A question about a context, and what may be its answer."""

    context: str
    question: str
    choices: tuple[str, ...]
    label: int | None
    place: str


@dataclass(frozen=True)
class Chosen:
    """The choice that fits best, and how likely each is."""

    number: int
    """From 0."""
    choice: str
    probabilities: tuple[float, ...]


class Choose(Task[ChoiceExample, Chosen]):
    """One of the choices that each example brings along."""

    name: ClassVar[str] = "choose"
    head: ClassVar[str] = "choose"
    metric: ClassVar[str] = "accuracy"

    @classmethod
    def learn(cls, records: Iterable[Record], columns: Mapping[str, str], **options: Any) -> "Choose":
        """The task, which has no labels of its own."""
        del records, columns, options
        return cls()

    def examples(self, records: Iterable[Record], columns: Mapping[str, str], *, labelled: bool) -> list[ChoiceExample]:
        """Contexts, questions and choices, with the number of the right one."""
        found = []
        for record in records:
            choices = _choices(record, columns["choices"])
            label = _right(record, columns["label"], choices) if labelled else None
            question = text_of(record, columns["question"]) if columns.get("question") else ""
            context = text_of(record, columns["context"]) if columns.get("context") else ""
            found.append(ChoiceExample(context, question, choices, label, record.place))
        return found

    def units(self, examples: Listed[ChoiceExample], tokenizer: Tokenizer, window: Window) -> list[Unit]:
        """For each example a row for each choice: the context, then question and choice. Long contexts are cut."""
        flat = [
            TextExample(example.context, put_in(example.question, choice), None, example.place)
            if example.context
            else TextExample(example.question, choice, None, example.place)
            for example in examples
            for choice in example.choices
        ]
        rows = iter(sequences_of(flat, tokenizer, Window(window.length)))
        return [
            Unit(
                number,
                tuple(next(rows)[0] for _ in example.choices),
                {} if example.label is None else {"label": example.label},
            )
            for number, example in enumerate(examples)
        ]

    def answers(
        self, examples: Listed[ChoiceExample], units: Listed[Unit], outputs: Listed[np.ndarray]
    ) -> list[Chosen]:
        """The choice with the highest score."""
        found = []
        for unit, logits in zip(units, outputs, strict=True):
            likely = softmax(np.asarray(logits, np.float64)[None])[0]
            best = int(likely.argmax())
            found.append(Chosen(best, examples[unit.example].choices[best], tuple(likely.tolist())))
        return found

    def statistic(self, examples: Listed[ChoiceExample], answers: Listed[Chosen]) -> Statistic:
        """The share of examples that were answered rightly."""
        right_N = np.asarray([e.label == a.number for e, a in zip(examples, answers, strict=True)], float)
        return lambda indices: {"accuracy": float(right_N[indices].mean())}


def put_in(question: str, choice: str) -> str:
    """The choice in the gap of a cloze question (`_`), or after the question."""
    if "_" in question:
        return question.replace("_", choice, 1)
    return f"{question} {choice}".strip()


def _choices(record: Record, column: str) -> tuple[str, ...]:
    """A list of choices, or several columns, named with commas between them."""
    value = record.values.get(column)
    if value is None and "," in column:
        value = [text_of(record, name.strip()) for name in column.split(",")]
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            raise UserError(f"{record.place}: {column!r} must hold a JSON list of choices.") from None
    if not isinstance(value, list) or len(value) < 2:
        raise UserError(f"{record.place}: {column!r} must hold a list of two choices or more, but is {value!r:.80}.")
    return tuple(str(choice) for choice in value)


def _right(record: Record, column: str, choices: tuple[str, ...]) -> int:
    """The number of the right choice: said as a number from 0, as a letter from A, or by its text."""
    said = record.values.get(column)
    if isinstance(said, float) and said.is_integer():
        said = int(said)  # a column of whole numbers with a gap is one of floats in many tools
    text = str(said).strip()
    if text.isdecimal() and int(text) < len(choices):
        number = int(text)
    elif len(text) == 1 and text.upper() in string.ascii_uppercase:
        number = string.ascii_uppercase.index(text.upper())
    else:
        number = choices.index(text) if text in choices else len(choices)
    if not 0 <= number < len(choices):
        raise UserError(
            f"{record.place}: the label {said!r} is none of {len(choices)} choices; say it as 0 to {len(choices) - 1}, "
            f"A to {string.ascii_uppercase[: len(choices)][-1]}, or by the choice's text."
        )
    return number
