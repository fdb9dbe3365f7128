"""Evaluation: a model's answers to labelled data as figures with their intervals, tables, pictures and worst errors."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unmask.data.readers import Reading, read_records
from unmask.errors import UserError
from unmask.predict import Predictor, log
from unmask.progress import Progress
from unmask.report.choosing import Choice, choosing_errors, choosing_sections
from unmask.report.classification import (
    classification_errors,
    classification_sections,
    multi_label_errors,
    multi_label_sections,
)
from unmask.report.evaluation import Evaluation, Section, WorstError
from unmask.report.reading import ReadAnswer, reading_errors, reading_sections
from unmask.report.regression import regression_errors, regression_sections
from unmask.report.tagging import TaggedText, tagging_errors, tagging_sections
from unmask.tasks.choose import Choose
from unmask.tasks.classify import Classify, MultiLabel, gold_of, probabilities_of
from unmask.tasks.metrics.bootstrap import intervals, of_all
from unmask.tasks.read import Read
from unmask.tasks.regress import Regress
from unmask.tasks.tag import Tag
from unmask.tasks.task import Task

Shown = tuple[list[Section], list[WorstError], str]
"""Sections of the page, errors, and what their score measures."""


def evaluate(
    predictor: Predictor,
    data: str,
    *,
    said: Mapping[str, str | None] | None = None,
    reading: Reading | None = None,
    max_length: int | None = None,
    stride: int | None = None,
    samples: int = 1000,
    seed: int = 0,
) -> Evaluation:
    """Answers every example of a file and compares.

    Args:
        predictor: the model.
        data: a file of labelled examples.
        said: for some roles (text, label …) the column that has it; the others as in training, or guessed.
        reading: how the file is read.
        max_length: the tokens that are read of a text at once; as in training if not given.
        stride: what is longer is read in windows that share so many tokens.
        samples: of the bootstrap.
        seed: of the bootstrap.
    """
    task = predictor.task_for(None)
    records = read_records(data, reading, say=log.info)
    columns = predictor.columns(records, said or {}, labelled=True)
    examples = task.examples(records, columns, labelled=True)
    if not examples:
        raise UserError(f"{data} holds no examples.")
    _tell_of_likeness(task, examples)
    if isinstance(task, Read) and "impossible" not in predictor.settings:
        task = _may_be_silent(task, examples)
    window = predictor.window(max_length, stride)
    units = task.units(examples, predictor.tokenizer, window)
    with Progress("evaluating", len(units), "rows") as progress:
        outputs = predictor.engine.logits(units, progress.advance)
    answers = task.answers(examples, units, outputs)
    statistic = task.statistic(examples, answers)
    sections, errors, score = _shown(task, examples, answers)
    with Progress("intervals", samples, "samples") as progress:
        between = intervals(len(examples), statistic, seed=seed, samples=samples, done=progress.advance)
    return Evaluation(
        task.name,
        predictor.name,
        data,
        len(examples),
        of_all(len(examples), statistic),
        between,
        task.metric,
        sections,
        errors,
        _notes(task, window.length, window.stride, samples),
        score=score,
        positive=task.classes[1] if isinstance(task, Classify) and len(task.classes) == 2 else None,
    )


def _may_be_silent(task: Read, examples: Sequence[Any]) -> Read:
    """A model from elsewhere, whose folder does not tell if it learnt to give no answer: it may if the data ask it."""
    impossible = sum(example.impossible for example in examples)
    if not impossible:
        return task
    log.warning(
        "%d of %d questions have no answer, so here the model may give none, where it scores that higher than any "
        'answer; for `predict` to do so too, write {"task": "read", "impossible": true} into its task.json.',
        *(impossible, len(examples)),
    )
    return Read((), {**task.settings, "impossible": True})


def _tell_of_likeness(task: Task[Any, Any], examples: Sequence[Any]) -> None:
    """Of labels that are all the same, most figures say nothing."""
    if not isinstance(task, Classify | Regress) or len(found := {example.label for example in examples}) > 1:
        return
    if isinstance(task, Regress):
        log.warning("There is only the number %g: correlations are not defined, and shown as 0.", found.pop())
        return
    log.warning(
        "There is only the label %r: the accuracy means something, but MCC, F1 and intervals need others too.",
        task.classes[found.pop()],
    )


def _notes(task: Task[Any, Any], length: int, stride: int | None, samples: int) -> list[str]:
    windowed = stride is not None or task.name in ("tag", "read")
    long = "read in windows" if windowed else "cut"
    notes = [f"{length} tokens are read at once; longer texts are {long}."]
    if task.settings.get("impossible"):
        notes.append(
            f"No answer is given where its score is more than {task.settings['null_threshold']:.3g} above any answer's."
        )
    if (temperature := task.settings.get("temperature", 1)) != 1:
        notes.append(f"The head's weights hold a temperature of {temperature:.3g}, fitted in training.")
    return [*notes, f"Intervals: 95 % of {samples:,} bootstrap samples of these examples."]


def _shown(task: Task[Any, Any], examples: Sequence[Any], answers: Sequence[Any]) -> Shown:
    if isinstance(task, Classify | MultiLabel | Regress):
        return _of_texts(task, examples, answers)
    if isinstance(task, Tag):
        return _of_tags(task, examples, answers)
    if isinstance(task, Read):
        return _of_answers(task, examples, answers)
    assert isinstance(task, Choose)
    asked = [
        Choice(e.place, e.context, e.question, e.choices, e.label, np.asarray(a.probabilities))
        for e, a in zip(examples, answers, strict=True)
    ]
    return choosing_sections(asked), choosing_errors(asked), "loss"


def _of_texts(task: Classify | MultiLabel | Regress, examples: Sequence[Any], answers: Sequence[Any]) -> Shown:
    texts = [example.text if example.pair is None else (example.text, example.pair) for example in examples]
    places = [example.place for example in examples]
    if isinstance(task, Regress):
        gold_N, predicted_N = gold_of(examples), np.asarray([answer.value for answer in answers])
        errors = regression_errors(texts, places, gold_N, predicted_N)
        return regression_sections(gold_N, predicted_N), errors, "distance"
    probabilities_NC = probabilities_of(answers)
    if isinstance(task, MultiLabel):
        gold_NC = task.gold(examples)
        errors = multi_label_errors(texts, places, gold_NC, probabilities_NC, task.classes)
        return multi_label_sections(gold_NC, probabilities_NC, task.classes), errors, "loss"
    gold_N = gold_of(examples)
    errors = classification_errors(texts, places, gold_N, probabilities_NC, task.classes)
    return classification_sections(gold_N, probabilities_NC, task.classes), errors, "loss"


def _of_tags(task: Tag, examples: Sequence[Any], answers: Sequence[Any]) -> Shown:
    texts = [
        TaggedText(e.place, e.text, *task.compared(e, a), e.words if e.entities is None else None)
        for e, a in zip(examples, answers, strict=True)
    ]
    what = "Words" if task.scheme == "plain" else "Entities"
    return tagging_sections(texts, what=what), tagging_errors(texts), f"wrong {what.lower()}"


def _of_answers(task: Read, examples: Sequence[Any], answers: Sequence[Any]) -> Shown:
    compared = []
    for example, answer in zip(examples, answers, strict=True):
        at = answer.start if answer.text else None
        compared.append(
            ReadAnswer(
                *(example.place, example.question, example.context, example.answers, example.starts),
                *(answer.text, at, answer.probability),
            )
        )
    chinese = task.in_chinese(examples)
    return reading_sections(compared, chinese=chinese), reading_errors(compared, chinese=chinese), "F1"
