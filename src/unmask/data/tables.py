"""Tables in text: the rows of CSV and TSV as a stream, whether their fields are quoted or not."""

import csv
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Literal, NamedTuple

from unmask.data.source import Source
from unmask.errors import UserError

_LINES_TO_JUDGE = 1000
"""So many lines are looked at to find out whether a table quotes its fields."""
_ENDS = "\r\n"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


class Row(NamedTuple):
    """One row of a CSV or TSV file."""

    cells: list[str]
    line: int
    """The line that it begins in, from 1."""


def columns_counted(n: int) -> str:
    """So many columns, in words."""
    return f"{n} column" if n == 1 else f"{n} columns"


@contextmanager
def csv_told(source: Source) -> Iterator[None]:
    """What Python's csv module finds wrong, as one sentence."""
    try:
        yield
    except csv.Error as error:
        raise UserError(
            f"{source.name} is not CSV as it should be ({error}); if it does not quote its fields, add --no-quotes."
        ) from None


def separator_of(lines: Sequence[str]) -> str:
    """What parts the columns of a CSV file: the mark that its lines have as often as the first one."""
    unquoted = [_QUOTED.sub("", line) for line in lines] or [""]

    def fit(mark: str) -> tuple[int, int]:
        n = unquoted[0].count(mark)
        return (sum(line.count(mark) == n for line in unquoted) if n else 0, n)

    return max(",;\t|", key=fit)


def rows_of(
    lines: Iterator[str],
    separator: str,
    *,
    quotes: bool | None,
    say: Callable[[bool], None] | None = None,
) -> Iterator[Row]:
    """Rows with their lines; a field may hold line ends and be as long as it likes. Blank lines are no rows.

    Args:
        lines: of the file, with their ends, which are kept inside quotes.
        separator: between two fields.
        quotes: whether fields that hold line ends, separators or quotation marks are quoted; None: as soon as a
            field begins with a quotation mark, the lines that follow tell.
        say: is told what they told.
    """
    line, n_columns = 0, 0
    if quotes is None:
        for text in lines:
            if text.startswith('"') or f'{separator}"' in text:
                window = [text, *islice(lines, _LINES_TO_JUDGE - 1)]
                quotes = _are_quoted(window, separator, n_columns, whole=len(window) < _LINES_TO_JUDGE)
                lines = chain(window, lines)
                if say is not None:
                    say(quotes)
                break
            line += 1
            if cut := text.rstrip(_ENDS):
                cells = cut.split(separator)
                n_columns = n_columns or len(cells)
                yield Row(cells, line)
    yield from _parsed(lines, separator, quotes=bool(quotes), before=line)


def _parsed(lines: Iterable[str], separator: str, *, quotes: bool, before: int = 0) -> Iterator[Row]:
    """Rows of the lines that come after so many others."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    reader = csv.reader(lines, delimiter=separator, quoting=quoting, strict=quotes)
    line = before + 1
    try:
        for cells in reader:
            if cells:
                yield Row(cells, line)
            line = before + reader.line_num + 1
    except csv.Error as error:
        # A quotation mark that nothing closes is noticed at the end of the file, far from where it stands.
        raise csv.Error(f"{error}, in the row that begins in line {line}") from None


def _are_quoted(window: list[str], separator: str, n_columns: int, *, whole: bool) -> bool:
    """Whether quotation marks at the beginning of fields quote them, or are text.

    GLUE's tables have fields such as `"Great" film`, and some that begin with a mark which never ends: read as quotes,
    they would swallow lines. Such a table has as many columns in every line if it is cut at the separators alone. So
    has a table of one column always: there marks are text only if nothing can be read that they quote.
    """
    plain = [cut.split(separator) for line in window if (cut := line.rstrip(_ENDS))]
    n_columns = n_columns or len(plain[0])
    fits_plain = all(len(cells) == n_columns for cells in plain)
    quoted: list[Row] = []
    try:
        quoted.extend(_parsed(window, separator, quotes=True))
    except csv.Error as error:
        is_cut = not whole and "end of data" in str(error)
        if fits_plain and n_columns == 1:
            # A field is cut by the window's end only if it is not a mark that is never closed.
            return is_cut and bool(quoted) and 2 * quoted[-1].line > len(window)
        return not fits_plain and (is_cut or separator != "\t")
    if not fits_plain or separator != "\t":
        n_quoted = len(quoted[0].cells)
        fits_quoted = all(len(row.cells) == n_quoted for row in quoted)
        return fits_quoted or not fits_plain
    if len(quoted) < len(plain):
        return n_columns == 1
    marked = [[bool(_QUOTED.fullmatch(cell)) for cell in cells] for cells in plain]
    doubled = any(
        mark and '""' in cell[1:-1]
        for cells, marks in zip(plain, marked, strict=True)
        for cell, mark in zip(cells, marks, strict=True)
    )
    return doubled or any(all(column) for column in zip(*marked, strict=True))
