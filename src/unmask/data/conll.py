"""CoNLL columns: a token and its tags a line, sentences parted by blank lines (Tjong Kim Sang and De Meulder 2003)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from unmask.data.header import are_names
from unmask.data.names import TOKENS, plain
from unmask.data.tables import columns_counted
from unmask.errors import UserError
from unmask.text.words import has_han

TAG = re.compile(r"O|[BIESLUM][-_]\S+")
"""A tag in any scheme that says where entities begin."""
_COUNTER = re.compile(r"\d+(?:([-.])\d+)?")
_SPACES = re.compile(r"[ \t]+")
"""No other blanks: U+3000 may be a token of Chinese text."""
_START_OF_DOCUMENT = "-DOCSTART-"
_ENOUGH_TO_SEE_SEGMENTS = 5
_LONGEST_WORD = 6
"""Characters that nearly all Chinese and Japanese words have at most."""
_MARKS = re.compile("[，。！？；、]")


class Sentence(NamedTuple):
    """Some tokens with their columns."""

    columns: list[list[str]]
    """For each column the values of all tokens."""
    line: int
    """The line that it begins in, from 1."""


@dataclass(frozen=True)
class Layout:
    """What stands where in a line; columns are counted from 0."""

    separator: str | None
    """None: spaces or tabs, as many as there are."""
    n_columns: int
    tokens: int = 0
    tags: int | None = None
    """None where there are only tokens."""
    has_counters: bool = False
    """Whether the first column counts the tokens of a sentence (CoNLL-U)."""
    has_segments: bool = False
    """Whether a digit behind each character tells its place in its word, as in Weibo NER (Peng and Dredze 2015)."""
    tags_are_schemed: bool = False

    def cells(self, line: str) -> list[str]:
        """The columns of one line, without the blanks around them; but a blank may be a token."""
        if self.separator is not None:
            cells = [cell.strip(" ") or cell for cell in line.rstrip("\r").split(self.separator)]
            if self.tags is not None and self.tags < len(cells):
                cells[self.tags] = cells[self.tags].strip()
            return cells
        return _SPACES.split(line.strip(" \t"))


def find_layout(lines: Sequence[str]) -> Layout:
    """How these first lines of a file are laid out."""
    filled = [line for line in lines if line.strip() and not line.startswith(_START_OF_DOCUMENT)]
    rough = Layout("\t" if 2 * sum("\t" in line for line in filled) > len(filled) else None, 0)
    counts = Counter(len(rough.cells(line)) for line in filled if not line.startswith("# ")) or Counter([1])
    n = counts.most_common(1)[0][0]
    rows = [cells for line in filled if len(cells := rough.cells(line)) == n]
    has_counters = n > 2 and all(_COUNTER.fullmatch(cells[0]) for cells in rows) and rows[0][0].startswith("1")
    # A separator at the end of every line, or a note in a few, makes no column of tags.
    last = max(
        (column for column in range(n) if 2 * sum(bool(row[column].strip()) for row in rows) > len(rows)), default=0
    )
    tags = {(10, True): 3, (4, True): 2}.get((n, has_counters), last)  # CoNLL-U, GermEval
    has_tags = tags > has_counters
    layout = Layout(
        rough.separator,
        n,
        tokens=int(has_counters),
        tags=tags if has_tags else None,
        has_counters=has_counters,
        tags_are_schemed=has_tags
        and all(TAG.fullmatch(row[tags]) for row in rows if row[tags].strip() and row[0] != "#"),
    )
    return Layout(**{**vars(layout), "has_segments": n > 1 and _have_segments(lines, layout)})


def _have_segments(lines: Sequence[str], layout: Layout) -> bool:
    """Whether the digits behind tokens go on as places in words do, but for one in a hundred: people made them."""
    place, n, n_odd = -1, 0, 0
    for line in lines:
        cells = layout.cells(line)
        if len(cells) != layout.n_columns or not line.strip():
            place = -1
            continue
        token, place = _without_segment(cells[layout.tokens], place)
        n, n_odd = n + 1, n_odd + (not token)
    return n >= _ENOUGH_TO_SEE_SEGMENTS and 100 * n_odd <= n


def _without_segment(token: str, before: int) -> tuple[str, int]:
    """`字0` → 字, 0; nothing if the place in the word is neither the next one nor the first."""
    for place in (before + 1, 0):
        if token.endswith(str(place)) and len(token) > len(str(place)):
            return token.removesuffix(str(place)), place
    return "", before


def sentences(lines: Iterable[str], layout: Layout, name: str) -> Iterator[Sentence]:
    """The sentences of a file.

    Args:
        lines: of the file, without line ends.
        layout: where columns are.
        name: what the user calls the file.
    """
    rows: list[list[str]] = []
    needed, begin = [column for column in (layout.tokens, layout.tags) if column is not None], 0
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith(_START_OF_DOCUMENT):
            if rows:
                yield _sentence(rows, layout, begin)
            rows = []
            continue
        cells = layout.cells(line)
        if _is_left_out(cells, layout):
            continue
        if len(cells) != layout.n_columns or not all(cells[column] for column in needed):
            there = columns_counted(sum(map(bool, cells)))
            raise UserError(f"{name}, line {number} has {there}, but the file has {layout.n_columns}: {line[:60]!r}.")
        begin = begin if rows else number
        rows.append(cells)
    if rows:
        yield _sentence(rows, layout, begin)


def _is_left_out(cells: list[str], layout: Layout) -> bool:
    """Comments, and the words of CoNLL-U that are no tokens: `3-4` (in one word) and `8.1` (not written)."""
    if layout.has_counters and (found := _COUNTER.fullmatch(cells[0])):
        return found[1] is not None
    if not cells[0].startswith("#"):
        return False
    if len(cells) != layout.n_columns:
        return cells[0] == "#" or cells[0].startswith("# ") or layout.has_counters
    return cells[0] == "#" and layout.tags_are_schemed and not TAG.fullmatch(cells[-1])


def _sentence(rows: list[list[str]], layout: Layout, line: int) -> Sentence:
    columns = [list(column) for column in zip(*rows, strict=True)]
    if layout.has_segments:
        place, tokens = -1, []
        for token in columns[layout.tokens]:
            character, place = _without_segment(token, place)
            tokens.append(character or token.rstrip("0123456789") or token)
        columns[layout.tokens] = tokens
    return Sentence(columns, line)


def values_of(sentence: Sentence, layout: Layout) -> dict[str, Any]:
    """A sentence as a record: `tokens`, `tags`, all `columns`, and each column by its number, from 1."""
    values: dict[str, Any] = {"tokens": sentence.columns[layout.tokens]}
    if layout.tags is not None:
        values["tags"] = sentence.columns[layout.tags]
    values["columns"] = sentence.columns
    return values | {str(number): column for number, column in enumerate(sentence.columns, 1)}


def names_of(layout: Layout) -> list[str]:
    """The columns of such records, each once: `tokens`, `tags`, and the others by their numbers, from 1."""
    others = (number for number in range(layout.n_columns) if number not in (layout.tokens, layout.tags))
    return ["tokens", *([] if layout.tags is None else ["tags"]), *(str(number + 1) for number in others)]


def look_like_conll(lines: Sequence[str]) -> bool:
    """Whether lines are tokens with tags: as many columns in each, few different values in the last.

    Without blank lines between sentences the tags must be of a scheme; with both, some lines may be broken: `sentences`
    names them. Tags of no scheme may as well be the labels of texts.
    """
    filled = [line for line in lines if line.strip() and not line.startswith(("# ", _START_OF_DOCUMENT))]
    if not filled:
        return False
    layout = find_layout(lines)
    rows = [cells for line in filled if len(cells := layout.cells(line)) == layout.n_columns]
    if layout.tags is None or any(" " in cells[layout.tokens].strip() for cells in rows):
        return False
    tags = [cells[layout.tags] for cells in rows]
    breaks = sum(1 for line, after in pairwise(lines) if not line.strip() and after.strip())
    if len(rows) < len(filled):
        # Prose may have lines that end in E-mail or I-95, but not most, and none of them in O.
        return breaks > 0 and "O" in tags and 2 * sum(bool(TAG.fullmatch(tag)) for tag in tags) > len(filled)
    if layout.tags_are_schemed:
        return len(rows) > 1
    few = breaks > 0 and breaks * 2 < len(rows) and len(set(tags)) * 3 <= len(rows) and len(rows) >= 6
    return few and not _are_texts([cells[layout.tokens] for cells in rows]) and not _is_header(rows[0], *tags)


def _are_texts(tokens: Sequence[str]) -> bool:
    """Whether most are Chinese clauses rather than words: no blanks tell, as they do in other languages."""
    return 2 * sum(has_han(t) and len(t) > (1 if _MARKS.search(t) else _LONGEST_WORD) for t in tokens) > len(tokens)


def _is_header(cells: Sequence[str], tag: str, *tags: str) -> bool:
    """Whether a line names the columns of a table; above tokens one would name tokens, or stand over schemed tags."""
    above_tokens = any(plain(cell) in TOKENS for cell in cells) or all(map(TAG.fullmatch, tags))
    return are_names(cells) and tag not in tags and not above_tokens
