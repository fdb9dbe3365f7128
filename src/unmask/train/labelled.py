"""Labelled data for fine-tuning: files become a task with its labels, and examples to train on and to look at."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from unmask.data.columns import choose_columns
from unmask.data.header import is_number
from unmask.data.readers import Reading, Records, read_records
from unmask.data.split import held_out
from unmask.data.where import source_hash
from unmask.errors import UserError
from unmask.tasks import task_class
from unmask.tasks.task import Task, as_trained
from unmask.tasks.texts import TextExample, without_empty

log = logging.getLogger("unmask")

_IMBALANCE = 10
_MANY = 10
"""Labels that so few examples may have each once."""
_USUAL = Reading()


@dataclass(frozen=True, kw_only=True)
class Data:
    """Where labelled data are and how they are read."""

    task: str
    train: str
    dev: str | None = None
    columns: Mapping[str, str | None] = field(default_factory=dict)
    """For each role (text, label …) the column that was said to have it."""
    reading: Reading = field(default_factory=Reading)
    multi_label: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the task, such as `scheme`."""

    def __post_init__(self) -> None:
        task_class(self.task)
        if self.multi_label and self.task != "classify":
            raise UserError(f"--multi-label is for classify, not for {self.task}; leave it out.")
        if self.options.get("scheme") is not None and self.task != "tag":
            raise UserError(f"--scheme is for tag, not for {self.task}; leave it out.")
        if self.options.get("separator") is not None and not self.multi_label:
            raise UserError("--separator parts several labels of a text; add --multi-label, or leave it out.")

    def fingerprint(self) -> dict[str, Any]:
        """What makes these data others."""
        return {
            "task": self.task,
            "train": source_hash(self.train),
            "dev": None if self.dev is None else source_hash(self.dev),
            "multi_label": self.multi_label,
            "reading": {n: value for n, value in asdict(self.reading).items() if value != getattr(_USUAL, n)} or None,
            "columns": {role: column for role, column in self.columns.items() if column is not None},
            "options": {name: value for name, value in self.options.items() if value is not None},
        }


@dataclass(frozen=True)
class Labelled:
    """A task and its examples."""

    task: Task[Any, Any]
    train: list[Any]
    dev: list[Any]
    columns: dict[str, str]


def read_labelled(data: Data, *, dev_share: float, seed: int, weighted: bool = False) -> Labelled:
    """Reads all of it; without a file of its own a part of the training data is held out.

    Args:
        data: where it is.
        dev_share: how much is held out.
        seed: of that choice.
        weighted: whether rare classes count as much as others, so that there is no need to advise it.
    """
    records = read_records(data.train, data.reading, say=log.info)
    columns = columns_of(data.task, records, data.columns)
    rows = list(records)
    if not rows:
        raise UserError(f"{data.train} holds no examples.")
    task = task_class(data.task, multi_label=data.multi_label).learn(rows, columns, **data.options)
    train = task.examples(rows, columns, labelled=True)
    if train and isinstance(train[0], TextExample):
        train = without_empty(train)  # before some are held out: of an empty one nothing can be measured
        if not train:
            raise UserError(f"{data.train}: no example has a text in {columns['text']!r}; say --text.")
    if data.dev is None:
        train, dev = _split(train, dev_share, seed)
        log.info("No --dev: %s of the %s examples are held out.", f"{len(dev):,}", f"{len(train) + len(dev):,}")
    else:
        dev_records = read_records(data.dev, data.reading, say=log.info)
        trained = as_trained(columns, dev_records.may_be_said)
        dev_columns = columns_of(data.task, dev_records, {**data.columns, **trained})
        dev = task.examples(dev_records, dev_columns, labelled=True)
        if not dev:
            raise UserError(f"{data.dev} holds no examples.")
        _warn_of_leak(train, dev, data.dev)
    _warn_of_labels(task, train, weighted=weighted)
    return Labelled(task, train, dev, columns)


def columns_of(task: str, records: Records, said: Mapping[str, str | None]) -> dict[str, str]:
    """The column of each role, said or guessed."""
    return choose_columns(task, records.names, records.sample, said, say=log.info)


def _split(examples: list[Any], share: float, seed: int) -> tuple[list[Any], list[Any]]:
    if len(examples) < 4:
        raise UserError(f"{len(examples)} examples are too few to hold some of them out; give --dev, or more data.")
    groups = [_group(example) for example in examples]
    chosen = set(held_out([_stratum(example) for example in examples], share, seed, groups))
    parts: tuple[list[Any], list[Any]] = ([], [])
    for number, example in enumerate(examples):
        parts[number in chosen].append(example)
    return parts


def _group(example: Any) -> tuple[str, ...]:
    """Examples that must not be parted: of the same context, text or pair, which would give the answer away."""
    if context := getattr(example, "context", ""):
        return (context,)
    return _content(example)


def _stratum(example: Any) -> str | tuple[int, ...]:
    """Its class, or all its labels, each of which is held out by itself: few examples have all the same ones."""
    label = getattr(example, "label", None)
    if isinstance(label, tuple):
        return label
    return str(label) if isinstance(label, int) else ""


def _warn_of_leak(train: Sequence[Any], dev: Sequence[Any], source: str) -> None:
    """Of what was trained on, a model remembers the answer."""
    seen = {_content(example) for example in train}
    if known := sum(_content(example) in seen for example in dev):
        log.warning(
            "%d of the %d examples of %s are among those to train on; figures will be better than they should.",
            *(known, len(dev), source),
        )


def _content(example: Any) -> tuple[str, ...]:
    """All that is given to the model."""
    names = ("text", "pair", "question", "context", "choices")
    return tuple(str(getattr(example, name)) for name in names if hasattr(example, name))


def _are_measures(labels: Sequence[str]) -> bool:
    """Whether labels are numbers with digits after the point; 1.0 is how pandas writes the class 1."""
    return all(map(is_number, labels)) and any(map(_is_broken, labels))


def _is_broken(label: str) -> bool:
    return float(label.strip().rstrip("%")) % 1 != 0


def _warn_of_labels(task: Task[Any, Any], examples: Sequence[Any], *, weighted: bool) -> None:
    if task.name != "classify" or task.problem != "single_label_classification":
        return
    counts = Counter(example.label for example in examples)
    if len(task.classes) > max(_MANY, len(examples) / 2):
        log.warning(
            "%d examples have %d labels, most of them once, such as %r: nothing can be learnt so; if it is another "
            "column, say --label.",
            *(len(examples), len(task.classes), task.classes[0]),
        )
        return
    if _are_measures(task.classes):
        log.warning(
            "The %d labels are numbers, such as %s; to predict numbers, take `regress`.",
            *(len(task.classes), next(filter(_is_broken, task.classes))),
        )
    (often, most), (seldom, least) = counts.most_common()[0], counts.most_common()[-1]
    if most > _IMBALANCE * least:
        advice = "look at macro_f1" + ("" if weighted else ", and consider --class-weights")
        log.warning(
            "The label %r has %d examples and %r only %d; %s.",
            *(task.classes[often], most, task.classes[seldom], least, advice),
        )
