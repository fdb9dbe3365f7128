"""Prediction for a file: read, answered and written in parts, in the order and with the columns of the input."""

import logging
from collections.abc import Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from unmask.data.readers import Reading, read_records
from unmask.data.writers import RowWriter, free_names
from unmask.errors import UserError
from unmask.files import file_hash
from unmask.predict import Predictor
from unmask.progress import Progress
from unmask.tasks.choose import Chosen
from unmask.tasks.classify import Classified, MultiClassified
from unmask.tasks.read import ReadAnswer
from unmask.tasks.regress import Measured
from unmask.tasks.tag import TagAnswer

log = logging.getLogger("unmask")

_AT_ONCE = 2048
"""Records that are in memory at once."""


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
    path = Path(output).expanduser()
    if Path(source).is_file() and path.is_file() and path.samefile(source):
        raise UserError(f"{output} is the input too; choose another name for --output.")
    names = free_names(answer_names(predictor), records.names)
    work = {"input": _fingerprint(source), "model": predictor.name, "columns": columns, "length": max_length}
    with RowWriter(path, [*records.names, *names.values()], {**work, "stride": stride}) as writer:
        if writer.n_rows:
            log.info("%s rows are written already; going on after them.", f"{writer.n_rows:,}")
        rows = islice(records, writer.n_rows, None)
        with Progress("predicting", None, "records", done=writer.n_rows) as progress:
            while part := list(islice(rows, _AT_ONCE)):
                answers = predictor.predict(part, columns, max_length=max_length, stride=stride)
                writer.write(
                    {**record.values, **{names[name]: value for name, value in answer_row(answer).items()}}
                    for record, answer in zip(part, answers, strict=True)
                )
                progress.advance(len(part))
        return writer.n_rows


def _fingerprint(source: str) -> str:
    return file_hash(Path(source)) if Path(source).is_file() else source


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
            return {"prediction": answer.number, "choice": answer.choice, "probability": likely}
    raise TypeError(type(answer).__name__)
