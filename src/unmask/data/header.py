"""Whether the first row of a table names its columns."""

import re
from collections.abc import Sequence

from unmask.data.names import is_known

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?%?")
_LONGEST_NAME = 40
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
    texts.
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
    if not rest or len(set(first)) < len(first) or max(map(len, first)) > _LONGEST_NAME:
        return False
    above_numbers = any(all(is_number(value) for value in column) for column in columns)
    are_words = all(_NAME.fullmatch(cell) and " " not in cell for cell in first)
    texts = zip(first, columns, strict=True)
    above_texts = any(sum(map(len, column)) > 3 * len(column) * len(cell) for cell, column in texts)
    return above_numbers or (are_words and above_texts)
