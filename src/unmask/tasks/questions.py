"""Questions on a text whose answers are parts of it, as SQuAD (Rajpurkar et al. 2016, 2018), CMRC and DRCD ask them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unmask.data.readers import Record
from unmask.errors import UserError
from unmask.tasks.texts import is_missing, text_of
from unmask.tasks.written import read_list, read_object
from unmask.text.sentences import HAN

_HAN = re.compile(f"[{HAN}]")
_LETTER = re.compile(r"[^\W\d_]")
_OBJECT = re.compile(r"""\{\s*['"](?:text|answer_start|start)['"]\s*:""")
_HEAD = 100


@dataclass(frozen=True)
class Question:
    """A question, the text that may answer it, and the answers where they are known."""

    id: str
    question: str
    context: str
    answers: tuple[str, ...]
    """Whichever is right; none if the question cannot be answered or its answers are not known."""
    starts: tuple[int | None, ...]
    """Where each stands in the context; None where it is not in it."""
    impossible: bool
    """Whether it is known that the context has no answer."""
    place: str
    """Where it stands in the data, for messages."""

    @property
    def span(self) -> tuple[int, int] | None:
        """First character and end of the first answer that is in the context."""
        found = (
            (start, start + len(text))
            for text, start in zip(self.answers, self.starts, strict=True)
            if start is not None
        )
        return next(found, None)


@dataclass(frozen=True)
class Given:
    """An answer as the data have it."""

    text: str
    start: int | None


def read_question(record: Record, columns: Mapping[str, str], *, labelled: bool) -> tuple[Question, int]:
    """A record as a question, and how many of its answers do not stand where the data say.

    Args:
        record: one question.
        columns: `question`, `context`, and maybe `id`, `answers`, `impossible`.
        labelled: whether answers are wanted.
    """
    values, place = record.values, record.place
    question, context = (text_of(record, columns[role]) for role in ("question", "context"))
    name = values.get(columns.get("id", "id"))
    given = given_answers(values, columns, place) if labelled else []
    found = [find(context, one) for one in given]
    said = values.get(columns.get("impossible", "impossible"))
    impossible = labelled and (not given or said is True or str(said).lower() in ("true", "1"))
    moved = sum(
        start is not None and one.start is not None and start != one.start
        for one, (_, start) in zip(given, found, strict=True)
    )
    if impossible:
        found, moved = [], 0
    texts, starts = tuple(text for text, _ in found), tuple(start for _, start in found)
    return Question(place if name is None else str(name), question, context, texts, starts, impossible, place), moved


def given_answers(values: Mapping[str, Any], columns: Mapping[str, str], place: str) -> list[Given]:
    """The answers of a record, in whichever way they are written; empty ones are none.

    They may be a text, with its start in another column; a list of texts; a list of {"text", "start"}; or
    {"text": […], "answer_start": […]}; each of these also as JSON, Python or pandas writes it.
    """
    value = values.get(columns.get("answers", "answers"))
    if isinstance(value, str):
        written = _written(value.strip(), place)
        value = value if written is None else written
    if isinstance(value, str):
        start = values.get("answer_start", values.get("start"))  # `start` is what `unmask predict` calls it
        value = [{"text": value, "start": start}]
    if isinstance(value, Mapping):
        texts, starts = _listed(value.get("text")), _listed(value.get("answer_start", value.get("start")))
        if len(starts) not in (0, len(texts)):
            raise UserError(f"{place}: {len(texts)} answers came with {len(starts)} starts; each needs one.")
        value = [{"text": text, "start": starts[i] if starts else None} for i, text in enumerate(texts)]
    given = [_given(one, place) for one in _listed(value)]
    return [one for one in given if one.text]


def _written(text: str, place: str) -> Any:
    """A list or an object of answers in a cell; None if it holds a text, which may begin with a bracket."""
    if text[:1] == "{":
        found = read_object(text)
        if found is None and _OBJECT.match(text):
            raise UserError(f"{place}: the answers {text[:60]!r} cannot be read; write them as JSON.")
        return found
    listed = read_list(text) if text[:1] == "[" else None
    return listed if listed is not None and all(isinstance(one, str | dict) for one in listed) else None


def _listed(value: Any) -> list[Any]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return [] if is_missing(value) else list(value) if isinstance(value, list | tuple) else [value]


def _given(one: Any, place: str) -> Given:
    text, start = one, None
    if isinstance(one, Mapping):
        text, start = one.get("text"), one.get("start", one.get("answer_start"))
    if isinstance(start, str) and start.strip().lstrip("-").isdecimal():
        start = int(start)
    if not isinstance(text, str):
        raise UserError(f"{place}: an answer must be a text, but {one!r} came.")
    return Given(text, int(start) if isinstance(start, int | float) and start >= 0 else None)


def find(context: str, given: Given) -> tuple[str, int | None]:
    """An answer as the context has it, and where: as it was said, else at the nearest place; None if it is not there.

    Spaces around an answer are left out if it is not found with them.

    >>> find("the cat sat on the mat", Given("the ", 14))
    ('the ', 15)
    """
    at = given.start or 0
    for text in (given.text, given.text.strip()):
        if text and context.startswith(text, at):
            return text, at
    for text in (given.text, given.text.strip()):
        places = [context.rfind(text, 0, at + len(text)), context.find(text, at)] if text else []
        found = [place for place in places if place >= 0]
        if found:
            return text, min(found, key=lambda place: abs(place - at))
    return given.text, None


def mostly_chinese(counts: Iterable[tuple[int, int]]) -> bool:
    """Whether texts with so many Chinese characters and letters are measured by character, not by word."""
    n_han, n_letters = map(sum, zip(*counts, strict=True)) if (counts := list(counts)) else (0, 0)
    return 2 * n_han > n_letters


def count_letters(question: Question) -> tuple[int, int]:
    """How many Chinese characters and how many letters of all kinds its answers and the head of its context have."""
    text = "".join(question.answers) + question.context[:_HEAD]
    return len(_HAN.findall(text)), len(_LETTER.findall(text))
