"""Whether the first row of a table names its columns."""

import re
from collections.abc import Sequence

from unmask.data.names import is_known

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?%?")
_NAME = re.compile(r"[^\W\d][\w .:/#()-]{0,39}")


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    return _NUMBER.fullmatch(text.strip()) is not None


def are_names(cells: Sequence[str]) -> bool:
    """Whether these cells are names of columns beyond doubt: short, one of them well known."""
    named = [cell.strip() for cell in cells if cell.strip()]
    return all(_NAME.fullmatch(name) for name in named) and any(is_known(name) for name in named)


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of these rows is a header.

    It is none if it holds numbers, or values that its columns hold again. It is one if it holds well-known names, or
    words above columns of numbers, or short words above long texts.
    """
    first, rest = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    columns = [[row[i].strip() for row in rest] for i in range(len(first))]
    cells = [cell.strip() for cell in first]
    if any(is_number(cell) for cell in cells):
        return False
    if any(cell and cell in column for cell, column in zip(cells, columns, strict=True)):
        return False
    if are_names(cells):
        return True
    if not rest or len(set(cells)) < len(cells) or not all(_NAME.fullmatch(cell) for cell in cells):
        return False
    if any(all(is_number(value) for value in column) for column in columns):
        return True
    return any(sum(map(len, column)) > 3 * len(column) * len(cell) for cell, column in zip(cells, columns, strict=True))
