"""Multiple choice: which of several continuations or answers is right. Devlin et al. 2018, section 4.4; RACE, SWAG."""

import json
import logging
import re
import string
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Listed
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unmask.data.readers import Record
from unmask.errors import UserError
from unmask.tasks.classify import softmax
from unmask.tasks.metrics.bootstrap import Statistic
from unmask.tasks.task import Task
from unmask.tasks.texts import TextExample, is_missing, sequences_of, text_of
from unmask.tasks.units import Unit, Window
from unmask.text import Tokenizer

log = logging.getLogger("unmask")

_GAP = re.compile(r"__+|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
"""Of a cloze question; a lone mark inside a name is none."""


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
    label: int | str
    """The same as the training data said it: as a number from 0 or from 1, or as a letter from A or a."""


class _Choices(NamedTuple):
    texts: tuple[str, ...]
    names: tuple[str, ...] = ()
    """What they are called, such as A, B, C, where the data say so."""


class Choose(Task[ChoiceExample, Chosen]):
    """One of the choices that each example brings along.

    Settings: `texts`, whether labels are the texts of choices, which may look like numbers; absent where labels count
    from 0: `first`, 1 where they count from 1; `letters`, "upper" or "lower" where they are letters.
    """

    name: ClassVar[str] = "choose"
    head: ClassVar[str] = "choose"
    metric: ClassVar[str] = "accuracy"
    windowed: ClassVar[bool] = False

    @classmethod
    def learn(cls, records: Iterable[Record], columns: Mapping[str, str], **options: Any) -> "Choose":
        """The task, which has no labels of its own, but knows if choices are counted from 0, from 1 or by letters."""
        del options
        labels = [(record.values.get(columns["label"]), _choices(record, columns["choices"])) for record in records]
        texts = _are_texts(labels)
        if _counted_from(labels):
            log.info("The labels in %r count the choices from 1.", columns["label"])
            return cls((), {"texts": texts, "first": 1})
        case = _case_of_letters(labels, texts=texts)
        return cls((), {"texts": texts} | ({"letters": case} if case else {}))

    def examples(self, records: Iterable[Record], columns: Mapping[str, str], *, labelled: bool) -> list[ChoiceExample]:
        """Contexts, questions and choices, with the number of the right one."""
        records = list(records)
        offered = [_choices(record, columns["choices"]) for record in records]
        right = self._right_ones(records, columns["label"], offered) if labelled else [None] * len(records)
        found = []
        for record, choices, label in zip(records, offered, right, strict=True):
            question = text_of(record, columns["question"]) if columns.get("question") else ""
            context = text_of(record, columns["context"]) if columns.get("context") else ""
            found.append(ChoiceExample(context, question, choices.texts, label, record.place))
        return found

    def _right_ones(self, records: Listed[Record], column: str, offered: Listed[_Choices]) -> list[int]:
        """The numbers of the right choices; an error where a label is none of them."""
        labels = [(record.values.get(column), choices) for record, choices in zip(records, offered, strict=True)]
        texts, first = self.settings.get("texts"), int(self.settings.get("first", 0))
        texts = _are_texts(labels) if texts is None else texts  # a folder from elsewhere does not say
        right = []
        for record, (said, choices) in zip(records, labels, strict=True):
            number, count = _right(said, choices, first, texts=texts), len(choices.texts)
            if number is None:
                raise UserError(
                    f"{record.place}: the label {said!r} is none of {count} choices; say it as {first} to "
                    f"{count - 1 + first}, A to {string.ascii_uppercase[:count][-1]}, or by the choice's text."
                )
            right.append(number)
        return right

    def units(self, examples: Listed[ChoiceExample], tokenizer: Tokenizer, window: Window) -> list[Unit]:
        """For each example a row for each choice: the context, then question and choice. Long contexts are cut."""
        flat = [
            TextExample(example.context, put_in(example.question, choice), None, example.place)
            if example.context
            else TextExample(example.question, choice, None, example.place)
            for example in examples
            for choice in example.choices
        ]
        more = f"pass --max-length, up to {window.limit}, to read more of them"
        remedy = more if window.limit is not None and window.limit > window.length else ""
        rows = iter(sequences_of(flat, tokenizer, replace(window, stride=None), remedy=remedy))
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
            choice = examples[unit.example].choices[best]
            found.append(Chosen(best, choice, tuple(likely.tolist()), self._label(best)))
        return found

    def _label(self, number: int) -> int | str:
        """A choice as the training data would say it."""
        case = self.settings.get("letters")
        if case is None:
            return number + int(self.settings.get("first", 0))
        letters = string.ascii_lowercase if case == "lower" else string.ascii_uppercase
        # After Z there are numbers only, but as texts, so that a column of answers is of one type.
        return letters[number] if number < len(letters) else str(number)

    def statistic(self, examples: Listed[ChoiceExample], answers: Listed[Chosen]) -> Statistic:
        """The share of examples that were answered rightly."""
        right_N = np.asarray([e.label == a.number for e, a in zip(examples, answers, strict=True)], float)
        return lambda indices: {"accuracy": float(right_N[indices].mean())}


def put_in(question: str, choice: str) -> str:
    """The choice in the gap of a cloze question, or after the question.

    >>> put_in("He is ____ .", "tall"), put_in("What does foo_bar do?", "Nothing.")
    ('He is tall .', 'What does foo_bar do? Nothing.')
    """
    found = _GAP.search(question)
    if found:
        return question[: found.start()] + choice + question[found.end() :]
    return f"{question} {choice}".strip()


def _choices(record: Record, column: str) -> _Choices:
    """A list of choices, texts or objects with a text; lists of texts and of labels; or several columns with commas."""
    value = record.values.get(column)
    if value is None and "," in column:
        columns = [name.strip() for name in column.split(",")]
        texts = [text_of(record, name) for name in columns]
        while texts and not texts[-1].strip():  # a question with fewer choices leaves the last columns empty
            texts.pop()
        # A label may be a column's name, such as option1; one that is a number counts the choices.
        called = [] if any(name.isdecimal() for name in columns) else columns[: len(texts)]
        value = {"text": texts, "label": called}
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            value = json.loads(value)
        except ValueError:
            raise UserError(f"{record.place}: {column!r} must hold a JSON list of choices.") from None
    names = value.get("label", []) if isinstance(value, dict) else []
    value = value.get("text") if isinstance(value, dict) else value
    if not isinstance(value, list) or len(value) < 2:
        raise UserError(f"{record.place}: {column!r} must hold a list of two choices or more, but is {value!r:.80}.")
    if all(isinstance(choice, dict) for choice in value):
        names, value = [choice.get("label") for choice in value], [choice.get("text") for choice in value]
    if wrong := [choice for choice in value if not isinstance(choice, str | int | float) or is_missing(choice)]:
        raise UserError(f"{record.place}: a choice in {column!r} must be a text, but is {wrong[0]!r:.80}.")
    named = isinstance(names, list) and len(names) == len(value) and None not in names
    return _Choices(tuple(map(str, value)), tuple(map(str, names)) if named else ())


def _counted_from(labels: Listed[tuple[Any, _Choices]]) -> int:
    """0, or 1 where all labels are numbers without a name, none is 0, and one would be too large otherwise."""
    numbers = [_whole(said) for said, _ in labels]
    named = any(str(said).strip() in (*choices.names, *choices.texts) for said, choices in labels)
    if named or not numbers or any(number is None or number < 1 for number in numbers):
        return 0
    return int(any(number == len(choices.texts) for number, (_, choices) in zip(numbers, labels, strict=True)))


def _case_of_letters(labels: Listed[tuple[Any, _Choices]], *, texts: bool) -> str | None:
    """`lower` or `upper` where all labels are letters, the first choice being A; where the cases are mixed, `upper`.

    A letter may also be the name or the text of a choice at another place: the labels are then no such letters.
    """
    said = [str(label).strip() for label, _ in labels]
    if not said or not all(len(text) == 1 and text in string.ascii_letters for text in said):
        return None
    numbers = [_right(*label, 0, texts=texts) for label in labels]
    if [string.ascii_uppercase.index(text.upper()) for text in said] != numbers:
        return None
    return "lower" if all(text.islower() for text in said) else "upper"


def _text(said: Any) -> str:
    whole = _whole(said)
    return str(said).strip() if whole is None else str(whole)


def _whole(said: Any) -> int | None:
    if isinstance(said, float) and said.is_integer():
        said = int(said)  # a column of whole numbers with a gap is one of floats in many tools
    text = str(said).strip()
    return int(text) if text.isdecimal() else None


def _are_texts(labels: Listed[tuple[Any, _Choices]]) -> bool:
    """Whether every label is the text of one of its choices, though some may look like numbers or letters."""
    return all(not is_missing(said) and _text(said) in choices.texts for said, choices in labels)


def _right(said: Any, choices: _Choices, first: int, *, texts: bool = False) -> int | None:
    """The number of the right choice: said by its name, as a number, as a letter from A, or by its text.

    With `texts` a text comes before all others.
    """
    text, count, number = str(said).strip(), len(choices.texts), _whole(said)
    if texts and _text(said) in choices.texts:
        return choices.texts.index(_text(said))
    if text in choices.names:
        return choices.names.index(text)
    if number is not None and 0 <= number - first < count:
        return number - first
    if len(text) == 1 and text.upper() in string.ascii_uppercase[:count]:
        return string.ascii_uppercase.index(text.upper())
    return choices.texts.index(text) if text in choices.texts else None
