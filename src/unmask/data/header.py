"""Whether the first row of a table names its columns."""

import re
from collections.abc import Sequence

from unmask.data.names import is_known

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?%?")
_LONGEST_NAME = 40
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")
_ENOUGH_TO_RECUR = 6
_NAME = re.compile(rf"[^\W\d][\w .:/#()-]{{0,{_LONGEST_NAME - 1}}}")


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    return _NUMBER.fullmatch(text.strip()) is not None


def are_names(cells: Sequence[str]) -> bool:
    """Whether these cells are names of columns beyond doubt: short, one of them well known."""
    named = [cell.strip() for cell in cells if cell.strip()]
    return all(_NAME.fullmatch(name) for name in named) and any(is_known(name) for name in named)


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of these rows is a header.

    It is one if it holds two well-known names. Else it is none if it holds numbers, or values that its columns hold
    again. Else it is one if it holds a well-known name, or words above columns of numbers, or single words above long
    texts, or identifiers above what is none. A column without a name says nothing.
    """
    first, rest = [cell.strip() for cell in rows[0]], [row for row in rows[1:] if len(row) == len(rows[0])]
    columns = [[row[i].strip() for row in rest] for i in range(len(first))]
    if sum(is_known(cell) for cell in first) > 1:
        return True
    again = any(cell and cell in column for cell, column in zip(first, columns, strict=True))
    if again or any(is_number(cell) for cell in first):
        return False
    if are_names(first):
        return True
    named = [(cell, column) for cell, column in zip(first, columns, strict=True) if cell]
    names = [cell for cell, _ in named]
    if not rest or not names or len(set(names)) < len(names) or max(map(len, names)) > _LONGEST_NAME:
        return False
    above_numbers = any(all(is_number(value) for value in column) for column in columns)
    are_words = all(_NAME.fullmatch(cell) and " " not in cell for cell in names)
    above_texts = any(sum(map(len, column)) > 3 * len(column) * len(cell) for cell, column in named)
    return above_numbers or (are_words and above_texts) or _are_identifiers_above_others(named)


def _are_identifiers_above_others(named: Sequence[tuple[str, list[str]]]) -> bool:
    """Whether every name is a word of ASCII that its column, of short texts or of classes, would hardly hold.

    `clean_text` is above texts without underscores, `phrase` above texts of several words, and `cls` above classes that
    recur all the time: one of the latter two may be the data of a first row by chance, but hardly both.
    """
    are_snakes, are_texts, recur = [], [], []
    for cell, column in named:
        if not (name := _IDENTIFIER.fullmatch(cell)):
            return False
        given = [value for value in column if value]
        words = [word for value in given if (word := _IDENTIFIER.fullmatch(value))]
        are_snakes.append(bool(name[1]) and not any(word[1] for word in words))
        are_texts.append(bool(given) and 10 * len(words) <= len(given))
        recur.append(len(given) >= _ENOUGH_TO_RECUR and 3 * len(set(given)) <= len(given))
    are_strange = all(map(any, zip(are_snakes, are_texts, recur, strict=True)))
    return are_strange and (any(are_snakes) or (len(named) > 1 and any(are_texts) and any(recur)))
