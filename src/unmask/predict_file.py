"""Prediction for a file: read, answered and written in parts, in the order and with the columns of the input."""

import codecs
import hashlib
import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from unmask.data.readers import Reading, Record, Records, read_records
from unmask.data.where import source_hash
from unmask.data.writers import RowWriter, free_names
from unmask.errors import UserError
from unmask.files import expanded
from unmask.interruption import Interrupted, Interruption
from unmask.memory import old_objects_left_alone
from unmask.predict import Predictor
from unmask.progress import Progress
from unmask.tasks.choose import Chosen
from unmask.tasks.classify import Classified, MultiClassified
from unmask.tasks.read import ReadAnswer
from unmask.tasks.regress import Measured
from unmask.tasks.remarks import Tally
from unmask.tasks.tag import TagAnswer

log = logging.getLogger("unmask")

_AT_ONCE = 2048
"""Records that are in memory at once, if they are short: so many that texts of like length find each other."""
_CHARACTERS_AT_ONCE = 1 << 18
"""Characters that are in memory at once, unless one record has more.

An interruption waits for them, and a kill loses them: 2,048 contexts of SQuAD, six times as many, took two minutes.
"""


def predict_file(
    predictor: Predictor,
    source: str,
    output: str | Path,
    *,
    said: Mapping[str, str | None] | None = None,
    reading: Reading | None = None,
    max_length: int | None = None,
    stride: int | None = None,
) -> int:
    """Writes a row for each record of a file: its columns, and the answer's; gives their number.

    A stopped run goes on after the rows that it has written, if input and model are the same.
    """
    records = read_records(source, reading, say=log.info)
    columns = predictor.columns(records, said or {}, labelled=False)
    path, given = expanded(output), expanded(source)
    if given.is_file() and path.is_file() and path.samefile(given):
        raise UserError(f"{output} is the input too; choose another name for --output.")
    _tell_of_bytes(records)
    taken = records.all_names()
    # The characters of entities are those of a text; where words came, that must be told too.
    names = free_names([*(["text"] if "tokens" in columns else []), *answer_names(predictor)], taken)
    work: dict[str, Any] = {"input": source_hash(source), "model": model_fingerprint(predictor), "length": max_length}
    work |= {"columns": columns, "reading": asdict(reading or Reading()), "stride": stride}
    with RowWriter(path, [*taken, *names.values()], work, marked=_is_marked(given)) as writer:
        if writer.n_rows:
            log.info("%s rows are written already; going on after them.", f"{writer.n_rows:,}")
        rows = islice(records, writer.n_rows, None)
        with (
            Tally(f"After row {writer.n_rows:,}" if writer.n_rows else "In all") as tally,
            Interruption() as interruption,
            old_objects_left_alone(),
            Progress("predicting", None, "records", done=writer.n_rows) as progress,
        ):
            for part in _parts(rows, columns):
                if interruption.asked:
                    raise Interrupted(f"Stopped after {writer.n_rows:,} rows, which are saved.")
                answers = predictor.predict(part, columns, max_length=max_length, stride=stride, tell=tally.add)
                writer.write(
                    _row(record.place, records.columns_of(record), answer, names)
                    for record, answer in zip(part, answers, strict=True)
                )
                progress.advance(len(part))
        return writer.n_rows


def _parts(records: Iterable[Record], columns: Mapping[str, str]) -> Iterator[list[Record]]:
    """Records that are answered and saved together: few if they are long, a very long one alone.

    Where a part ends depends on nothing before it: numbers that are computed together with others may differ in their
    last digits, and a run that goes on after a part must write what it would have written without the stop.
    """
    part: list[Record] = []
    size = 0
    for record in records:
        more = sum(_characters(_read_of(record, column)) for column in columns.values())
        if part and size + more > _CHARACTERS_AT_ONCE:
            yield part
            part, size = [], 0
        part.append(record)
        size += more
        if len(part) == _AT_ONCE:  # at once, since the next record may be one that cannot be read
            yield part
            part, size = [], 0
    if part:
        yield part


def _read_of(record: Record, column: str) -> Any:
    """What a record has in a column, or in several with commas between their names, as choices may be."""
    if column in record.values:
        return record.values[column]
    return [record.values.get(name) for name in column.split(",")]


def _characters(value: Any) -> int:
    """How many characters the texts in a value have: in a list of words, say, or in choices that are objects."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        value = list(value.values())
    return sum(map(_characters, value)) if isinstance(value, list | tuple) else 0


def write_answers(asked: Sequence[Mapping[str, Any]], answers: Sequence[Any], output: str | Path) -> None:
    """Writes a row for each answer, with what was asked before it."""
    names = free_names(list(answer_row(answers[0])), asked[0])
    rows = [_row("", given, answer, names) for given, answer in zip(asked, answers, strict=True)]
    with RowWriter(expanded(output), list(rows[0]), {"rows": rows}) as writer:
        writer.write(rows[writer.n_rows :])


def _tell_of_bytes(records: Records) -> None:
    for name in records.names:
        if any(isinstance(record.values.get(name), bytes) for record in records.sample):
            log.info("%s: the column %r holds bytes and no text; they are written in base64.", records.source, name)


def _row(place: str, given: Mapping[str, Any], answer: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """The columns of a record, and the answer's under the names that were free when the work began."""
    found = {names["text"]: answer.text} if "text" in names else {}
    found |= {names[name]: value for name, value in answer_row(answer).items()}
    if late := next((name for name in found if name in given), None):
        raise UserError(
            f"{place} has a column {late!r}, but no record before it had, so the answers are called so already; give "
            "the input as a file, not on standard input."
        )
    return {**given, **found}


def _is_marked(path: Path) -> bool:
    """Whether a file begins with a byte order mark, as Excel's do; what is written for it then does so too."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4).startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def model_fingerprint(predictor: Predictor) -> str:
    """What tells one model from another, though it may be in the same folder: its weights, labels and settings."""
    from keras import ops  # noqa: PLC0415  (imports Keras)

    config = predictor.model.config
    found = hashlib.sha256(json.dumps([config.classes, config.problem, predictor.settings]).encode())
    for variable in predictor.model.trainable_variables:
        found.update(np.ascontiguousarray(ops.convert_to_numpy(variable.value)).data)
    return found.hexdigest()


def answer_names(predictor: Predictor) -> list[str]:
    """The columns that the answers of a model have."""
    task = predictor.task_for(None)
    if task.name == "classify":
        return [
            "prediction",
            *([] if task.problem == "multi_label_classification" else ["probability"]),
            "probabilities",
        ]
    return {
        "regress": ["prediction"],
        "tag": ["entities", "words", "tags"],
        "read": ["answer", "start", "end", "probability"],
        "choose": ["prediction", "choice", "probability"],
    }[task.name]


def answer_row(answer: Any) -> dict[str, Any]:
    """An answer as columns."""
    match answer:
        case Classified():
            return {
                "prediction": answer.label,
                "probability": answer.probability,
                "probabilities": answer.probabilities,
            }
        case MultiClassified():
            return {"prediction": list(answer.labels), "probabilities": answer.probabilities}
        case Measured():
            return {"prediction": answer.value}
        case TagAnswer():
            words = [answer.text[start:end] for start, end in answer.words]
            return {"entities": [e._asdict() for e in answer.entities], "words": words, "tags": list(answer.tags)}
        case ReadAnswer():
            found = asdict(answer)
            return {"answer": found["text"]} | {name: found[name] for name in ("start", "end", "probability")}
        case Chosen():
            likely = answer.probabilities[answer.number]
            return {"prediction": answer.label, "choice": answer.choice, "probability": likely}
    raise TypeError(type(answer).__name__)
