"""Tables with a word a row and a column that numbers the sentences, as NER data are often shared."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from unmask.data.names import plain

Placed = tuple[dict[str, Any], str]
"""The values of a row or a sentence by the names of their columns, and where it begins."""

_SENTENCES = (
    *("sentence_#", "sentence_id", "sentence_idx", "sentence_index", "sentence_no", "sentence_number", "sentence"),
    *("sent_id", "sent_idx", "sent", "sentence_num", "sentenceid", "句子编号", "句子序号", "句子", "句号"),
)
_WORDS = ("word", "token", "words", "tokens", "char", "character", "词", "字", "单词")
_NUMBER = re.compile(r"(?:\S+ )?\S*\d")
"""`Sentence: 12`, `12` or `doc3-12`, but no sentence itself."""
_ROWS_A_SENTENCE = 2
"""On the average at least; otherwise the column numbers rows."""


def numbers_of_sentences(names: Sequence[str], sample: Sequence[Placed]) -> str | None:
    """The column that numbers the sentences, if each row is a word of one: every row has its number, or the first."""
    column, word = _first_of(_SENTENCES, names), _first_of(_WORDS, names)
    if column is None or word is None or not sample:
        return None
    numbers = [values[column].strip() for values, _ in sample]
    are_numbers = bool(numbers[0]) and all(_NUMBER.fullmatch(number) for number in numbers if number)
    are_words = all(len(values[word].split()) <= 1 for values, _ in sample)
    n_sentences = sum(1 for _ in sentences_of(sample, column))
    return column if are_numbers and are_words and len(sample) >= _ROWS_A_SENTENCE * n_sentences else None


def sentences_of(rows: Iterable[Placed], column: str) -> Iterator[Placed]:
    """A record a sentence: its number, and of every other column the list of what its rows hold.

    A sentence goes on as long as its number is repeated or left empty.
    """
    some: list[Placed] = []
    number = ""
    for row in rows:
        other = row[0][column].strip()
        if some and other and other != number:
            yield _sentence(some, column)
            some = []
        number = other or number
        some.append(row)
    if some:
        yield _sentence(some, column)


def _sentence(rows: Sequence[Placed], column: str) -> Placed:
    first, place = rows[0]
    return {name: [values[name] for values, _ in rows] for name in first} | {column: first[column]}, place


def _first_of(likely: Sequence[str], names: Sequence[str]) -> str | None:
    known = {plain(name): name for name in names}
    return next((known[name] for name in likely if name in known), None)
