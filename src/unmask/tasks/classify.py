"""Text classification: one label for a text or a pair, or any number of labels. Devlin et al. 2018, section 4.1."""

import logging
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Listed
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unmask.data.readers import Record
from unmask.errors import UserError
from unmask.tasks.labels import parted, said_in, separator_named, separator_of, told
from unmask.tasks.metrics.bootstrap import Statistic
from unmask.tasks.metrics.calibration import cautious_temperature
from unmask.tasks.metrics.classification import classification_statistic, multi_label_statistic
from unmask.tasks.task import Task
from unmask.tasks.texts import TextExample, is_missing, sequences_of, texts_of
from unmask.tasks.units import Unit, Window
from unmask.text import Tokenizer

log = logging.getLogger("unmask")

_MOST_CLASSES = 10_000
_GOOD = {"正", "正面", "正向", "好评"}
"""Names of a positive class that stand before its opposite's in the order of characters."""
_WHOLE = re.compile(r"[-+]?\d+\.0+")
_DASH = "-"
"""What SNLI and OCNLI write where their annotators did not agree."""
_YES, _NO = {"1", "1.0", "true", "yes"}, {"0", "0.0", "false", "no", "", "none", "nan"}


@dataclass(frozen=True)
class Classified:
    """The label of a text, and how likely each label is."""

    label: str
    probability: float
    probabilities: dict[str, float]


@dataclass(frozen=True)
class MultiClassified:
    """The labels of a text, the likeliest first, and how likely each label is by itself."""

    labels: tuple[str, ...]
    probabilities: dict[str, float]


class Classify(Task[TextExample, Classified]):
    """One of several labels."""

    name: ClassVar[str] = "classify"
    head: ClassVar[str] = "classify"
    metric: ClassVar[str] = "accuracy"
    problem: ClassVar[str | None] = "single_label_classification"

    @classmethod
    def learn(cls, records: Iterable[Record], columns: Mapping[str, str], **options: Any) -> "Classify":
        """The task with the labels that occur; some may be missing."""
        del options
        places: dict[str, list[str]] = {}
        for record in records:
            places.setdefault(_label(record, columns["label"]), []).append(record.place)
        n = sum(map(len, places.values()))
        _refuse_many_missing(places.pop("", []), n, columns["label"])
        # What most have is a class, whatever it is called.
        if 2 * len(places.get(_DASH, [])) <= n and _is_missing(_DASH, [label for label in places if label != _DASH]):
            places.pop(_DASH, None)
        forms: dict[str, str] = {}
        for label in sorted(places, key=lambda label: -len(places[label])):
            forms.setdefault(_same(label), label)
        _tell_of_case(forms.values())
        return cls(_ordered(forms.values()))

    def examples(self, records: Iterable[Record], columns: Mapping[str, str], *, labelled: bool) -> list[TextExample]:
        """Texts with the numbers of their labels; those whose label is missing are left out, counted and said."""
        number = {_same(name): i for i, name in enumerate(self.classes)}
        found: list[TextExample] = []
        missing: list[str] = []
        for record in records:
            label = None
            if labelled:
                said = _label(record, columns["label"])
                label = number.get(_same(said))
                if label is None and _is_missing(said, self.classes):
                    missing.append(record.place)
                    continue
                if label is None:
                    raise UserError(_unknown(record, said, self.classes))
            found.append(TextExample(*texts_of(record, columns), label, record.place))
        if missing:
            n = len(found) + len(missing)
            _refuse_many_missing(missing, n, columns["label"])
            told = f"{len(missing):,} of {n:,} examples have no label and are left out"
            log.warning("%s; the first is %s.", told, missing[0])
        return found

    def units(self, examples: Listed[TextExample], tokenizer: Tokenizer, window: Window) -> list[Unit]:
        """A row for each text, or for each window over it; all of them have the text's label."""
        return text_units(examples, tokenizer, window, self._target)

    def _target(self, label: Any) -> dict[str, Any]:
        return {"label": label}

    def answers(
        self, examples: Listed[TextExample], units: Listed[Unit], outputs: Listed[np.ndarray]
    ) -> list[Classified]:
        """The likeliest label; the logits of several windows are averaged."""
        found = []
        for probabilities in softmax(mean_of_windows(len(examples), units, outputs)):
            best = int(probabilities.argmax())
            named = dict(zip(self.classes, probabilities.tolist(), strict=True))
            found.append(Classified(self.classes[best], float(probabilities[best]), named))
        return found

    def statistic(self, examples: Listed[TextExample], answers: Listed[Classified]) -> Statistic:
        """Accuracy, F1, Matthews' correlation and calibration of any of these examples."""
        return classification_statistic(gold_of(examples), probabilities_of(answers))

    def tune(self, examples: Listed[TextExample], units: Listed[Unit], outputs: Listed[np.ndarray]) -> None:
        """Finds the temperature with which the probabilities fit held-out labels; the head then takes it in."""
        logits_NC, gold_N = mean_of_windows(len(examples), units, outputs), gold_of(examples)
        temperature = self.settings["temperature"] = cautious_temperature(logits_NC, gold_N)
        if temperature != 1:
            how = "less sure" if temperature > 1 else "surer"
            log.info("Probabilities are made %s, to fit the held-out labels (temperature %.3g).", how, temperature)
        said = set(logits_NC.argmax(-1).tolist())
        if len(said) == 1 < len(set(gold_N.tolist())):
            log.warning(
                "All %d held-out examples get the label %r: the model cannot tell the labels apart yet; give it more "
                "--epochs, a smaller --batch-size or more examples.",
                *(len(examples), self.classes[said.pop()]),
            )

    def taken_in(self) -> tuple[float, float]:
        """Divides by the temperature."""
        return 1 / float(self.settings.get("temperature", 1.0)), 0.0

    def class_weights(self, examples: Listed[TextExample]) -> list[float]:
        """A weight for each class that makes all classes count alike: N / (C · N_c)."""
        counts = Counter(example.label for example in examples)
        return [len(examples) / (len(self.classes) * max(1, counts[i])) for i in range(len(self.classes))]


class MultiLabel(Task[TextExample, MultiClassified]):
    """Any number of labels, each by itself likely or not."""

    name: ClassVar[str] = "classify"
    head: ClassVar[str] = "classify"
    metric: ClassVar[str] = "micro_f1"
    problem: ClassVar[str | None] = "multi_label_classification"

    @classmethod
    def learn(cls, records: Iterable[Record], columns: Mapping[str, str], **options: Any) -> "MultiLabel":
        """The task with the labels that occur, and what parts them if they stand in texts: said, or found out."""
        cells = [_cell(record, columns["label"]) for record in records]
        said = options.get("separator")
        separator = separator_of(cells) if said is None else separator_named(said)
        classes = _ordered(label for cell in cells for label in parted(cell, separator))
        if len(classes) == 2 and {name.lower() for name in classes} <= _YES | _NO:
            raise UserError(
                f"{columns['label']!r} holds {classes[0]} and {classes[1]} only; with several such columns say all of "
                "them (--label a,b,c), with one of them leave out --multi-label."
            )
        if all(isinstance(cell, str) or not cell for cell in cells):
            log.info("%s", told(columns["label"], separator, classes))
        return cls(classes, {} if separator is None else {"separator": separator})

    def examples(self, records: Iterable[Record], columns: Mapping[str, str], *, labelled: bool) -> list[TextExample]:
        """Texts with the numbers of their labels, as tuples."""
        number = {name: i for i, name in enumerate(self.classes)}
        separator = self.settings.get("separator")
        found = []
        for record in records:
            said = parted(_cell(record, columns["label"]), separator) if labelled else []
            unknown = next((label for label in said if label not in number), None)
            if unknown is not None:
                raise UserError(_unknown(record, unknown, self.classes))
            label = tuple(number[name] for name in said) if labelled else None
            found.append(TextExample(*texts_of(record, columns), label, record.place))
        return found

    def units(self, examples: Listed[TextExample], tokenizer: Tokenizer, window: Window) -> list[Unit]:
        """A row for each text, or for each window over it."""
        return text_units(examples, tokenizer, window, self._target)

    def _target(self, label: Any) -> dict[str, Any]:
        has_C = np.zeros(len(self.classes), np.float32)
        has_C[list(label)] = 1
        return {"labels": has_C}

    def answers(
        self, examples: Listed[TextExample], units: Listed[Unit], outputs: Listed[np.ndarray]
    ) -> list[MultiClassified]:
        """Every label with a probability of at least a half."""
        found = []
        for logits in mean_of_windows(len(examples), units, outputs).tolist():
            likely = [1 / (1 + math.exp(-max(-700.0, logit))) for logit in logits]
            named = dict(zip(self.classes, likely, strict=True))
            chosen = sorted((name for name in named if named[name] >= 0.5), key=lambda name: -named[name])
            found.append(MultiClassified(tuple(chosen), named))
        return found

    def statistic(self, examples: Listed[TextExample], answers: Listed[MultiClassified]) -> Statistic:
        """F1 over all labels, and the share of texts whose labels are all right."""
        return multi_label_statistic(self.gold(examples), probabilities_of(answers))

    def gold(self, examples: Listed[TextExample]) -> np.ndarray:
        """gold_NC: whether each example has each label."""
        gold_NC = np.zeros((len(examples), len(self.classes)), bool)
        for row, example in enumerate(examples):
            gold_NC[row, list(example.label)] = True
        return gold_NC


def text_units(examples: Listed[TextExample], tokenizer: Tokenizer, window: Window, target: Any) -> list[Unit]:
    """Units of texts; `target` makes of a label what the loss wants."""
    rows = sequences_of(examples, tokenizer, window)
    return [
        Unit(number, (sequence,), {} if example.label is None else target(example.label))
        for number, (example, sequences) in enumerate(zip(examples, rows, strict=True))
        for sequence in sequences
    ]


def mean_of_windows(n: int, units: Listed[Unit], outputs: Listed[np.ndarray]) -> np.ndarray:
    """The outputs of each example's units, averaged."""
    owners = np.asarray([unit.example for unit in units], np.int64)
    sums = np.zeros((n, len(outputs[0]) if len(outputs) else 1))
    if len(outputs):
        np.add.at(sums, owners, np.stack(outputs))
    return sums / np.maximum(1, np.bincount(owners, minlength=n))[:, None]


def softmax(logits_NC: np.ndarray) -> np.ndarray:
    """Probabilities, in float64."""
    powers_NC = np.exp(logits_NC - logits_NC.max(axis=1, keepdims=True))
    return np.asarray(powers_NC / powers_NC.sum(axis=1, keepdims=True))


def gold_of(examples: Listed[TextExample]) -> np.ndarray:
    """gold_N: the numbers of the labels."""
    return np.asarray([example.label for example in examples])


def probabilities_of(answers: Listed[Classified] | Listed[MultiClassified]) -> np.ndarray:
    """probabilities_NC."""
    return np.asarray([list(answer.probabilities.values()) for answer in answers])


def _label(record: Record, column: str) -> str:
    """The label of a record, or nothing where it is missing."""
    if column not in record.values and "," in column:
        raise UserError(f"--label {column} names several columns; add --multi-label.")
    value = record.values.get(column)
    if isinstance(value, list | tuple | dict):
        raise UserError(f"{record.place}: {column!r} must hold one label, but holds {value!r}; add --multi-label.")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a column of whole numbers with a gap is one of floats in many tools
    return "" if is_missing(value) else str(value).strip()


def _is_missing(label: str, others: Listed[str]) -> bool:
    """Whether nothing was said, or a dash where the other labels are words."""
    if label != _DASH:
        return not label
    return len(others) > 1 and all(any(map(str.isalpha, other)) for other in others)


def _refuse_many_missing(places: Listed[str], n: int, column: str) -> None:
    """A few may be missing in any data, but not most of them."""
    if 2 * len(places) > n:
        raise UserError(
            f"{places[0]}: the label ({column!r}) is missing, as in {len(places):,} of {n:,} rows; fill them in, leave "
            "those rows out, or, if texts may have no label or several, add --multi-label."
        )


def _same(label: str) -> str:
    """One form for what tools write in several: `1.0` is 1, `True` is true."""
    if label.lower() in ("true", "false"):
        return label.lower()
    return label.partition(".")[0] if _WHOLE.fullmatch(label) else label


def _tell_of_case(labels: Iterable[str]) -> None:
    alike: dict[str, list[str]] = {}
    for label in labels:
        alike.setdefault(label.casefold(), []).append(label)
    for several in alike.values():
        if len(several) > 1:
            log.warning(
                "The labels %s differ in capitals only; write them alike if they are one.", " and ".join(several)
            )


def _cell(record: Record, column: str) -> list[str] | str:
    """The labels of a record, maybe none, or a text in which they are still to be parted.

    Several columns, named with commas between them, each hold 0 or 1 for the label that they are named after.
    """
    if column not in record.values and "," in column:
        return [name for name in column.split(",") if _is_set(record, name)]
    value = record.values.get(column)
    if isinstance(value, dict):
        raise UserError(f"{record.place}: {column!r} must hold a list of labels, not an object.")
    return said_in(value)


def _is_set(record: Record, column: str) -> bool:
    said = str(record.values.get(column, "")).strip().lower()
    if said not in _YES | _NO:
        raise UserError(
            f"{record.place}: {column!r} must be 0 or 1, as one of several columns of labels, not {said!r}."
        )
    return said in _YES


def _ordered(labels: Iterable[str]) -> tuple[str, ...]:
    """Distinct labels, by number if all are whole numbers, else by the alphabet; of two the positive one is the second.

    As it is by the alphabet for 0 and 1, no and yes, negative and positive.
    """
    found = set(labels)
    if len(found) < 2:
        only = f"only {next(iter(found))!r}" if found else "none"
        raise UserError(f"There must be at least two different labels to learn, but there is {only}.")
    if len(found) > _MOST_CLASSES:
        raise UserError(f"{len(found)} different labels are surely no labels; say which column has them with --label.")
    numbers = all(re.fullmatch(r"-?\d{1,15}", label) for label in found)
    if len(found) == 2 and found & _GOOD:
        return tuple(sorted(found, key=lambda label: (label in _GOOD, label)))
    return tuple(sorted(found, key=lambda label: (int(label), label)) if numbers else sorted(found))


def _unknown(record: Record, label: str, classes: tuple[str, ...]) -> str:
    known = ", ".join(classes[:8]) + (f" and {len(classes) - 8} more" if len(classes) > 8 else "")
    return f"{record.place}: the label {label!r} does not occur in the training data, which has {known}."
