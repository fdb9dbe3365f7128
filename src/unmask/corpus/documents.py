"""Reading documents: text, JSON lines, CSV, TSV and Parquet, packed or not, as a stream of whole documents."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from os import PathLike
from typing import NamedTuple, get_args

from unmask.corpus.normalize import Form, check_form, normalize
from unmask.data.decode import (
    Errors,
    Say,
    Seen,
    check_encoding,
    equal_ends,
    lines_of,
    texts_of_file,
    whole_lines_of,
    with_last,
)
from unmask.data.objects import json_lines, json_told
from unmask.data.parquet import holds_texts, opened_parquet, parquet_batches, texts_of_column
from unmask.data.source import Kind, Source
from unmask.data.tables import columns_counted, csv_told, rows_of, separator_of
from unmask.data.where import find_sources
from unmask.errors import UserError

LARGEST_DOCUMENT = 1 << 24
"""Characters; a text file without blank lines is cut into documents of that size, so that memory has a bound."""

_GUESSES = (
    *("text", "content", "document", "body", "article", "review", "sentence", "passage", "story", "abstract"),
    *("comment", "message", "文本", "正文", "内容", "评论"),
)
"""What the column of the text may be called, the likeliest first."""

_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")


class RawDocument(NamedTuple):
    """One document as it was read."""

    text: str
    source: str
    """The file."""
    place: str
    """Where in it: `line 12` or `row 7`, from 1."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How files are read."""

    kind: Kind | None = None
    """What all of them are; None: what the endings of their names say, and for standard input its first bytes."""
    text: str | None = None
    """The field or column that holds the text; None: guessed from the names there are."""
    encoding: str = "utf-8"
    encoding_errors: Errors = "replace"
    """What is done about bytes that are not of the encoding: replaced by U+FFFD and counted, or refused."""
    quotes: bool = True
    """Whether CSV and TSV quote fields that hold line ends or separators."""

    def __post_init__(self) -> None:
        check_encoding(self.encoding, self.encoding_errors)
        if self.kind not in (None, *get_args(Kind)):
            raise UserError(f"Files are of the kind {', '.join(get_args(Kind))}, not {self.kind!r}.")


def read_documents(
    sources: Sequence[str | PathLike[str]],
    reading: Reading | None = None,
    *,
    seen: Seen | None = None,
    say: Say | None = None,
) -> Iterator[RawDocument]:
    """The documents of files, one after another, never more than one in memory.

    Args:
        sources: files, folders, globs, `-` for standard input, or `hf:owner/name[:config][:split]`.
        reading: how.
        seen: is told of broken places and of bytes read.
        say: is told of guesses.
    """
    reading, seen = reading or Reading(), seen or Seen()
    for source in find_sources(sources, say=say):
        yield from read_source(source, reading, seen, say)


def texts_of(
    sources: Sequence[str | PathLike[str]], reading: Reading | None = None, *, form: Form = "nfc"
) -> Callable[[], Iterator[str]]:
    """The normalized texts of files, as often as they are asked for: what the training of a tokenizer wants.

    Files are looked for now, so that a missing one is refused before anything begins. Standard input, which can be
    read once only, is refused.
    """
    check_form(form)
    found = find_sources(sources)
    if any(source.name == "-" for source in found):
        raise UserError("Standard input can be read once only, but is needed several times; write it to a file.")

    def texts() -> Iterator[str]:
        for source in found:
            for document in read_source(source, reading or Reading(), Seen()):
                if text := normalize(document.text, form):
                    yield text

    return texts


def read_source(source: Source, reading: Reading, seen: Seen, say: Say | None = None) -> Iterator[RawDocument]:
    """The documents of one file."""
    readers = {"text": _read_text, "jsonl": _read_json_lines, "csv": _read_table, "tsv": _read_table}
    source = _by_first_bytes(source)
    source = replace(source, kind=reading.kind or source.kind)
    with csv_told(source), json_told(source):
        if source.kind == "parquet":
            found = _read_parquet(source, reading, seen, say)
        else:
            texts = equal_ends(texts_of_file(source, reading.encoding, reading.encoding_errors, seen))
            if source.name == "-" and reading.kind is None:
                source, texts = _with_kind(source, texts, say)
            found = readers[source.kind](texts, source, reading, _Guess(source, seen, say))
        for text, place in found:
            yield RawDocument(text, source.name, place)


def _by_first_bytes(source: Source) -> Source:
    """Standard input has no name to tell how it is packed, or that it is Parquet; its copy's first bytes do."""
    if source.name != "-" or not source.path.is_file():
        return source
    with source.path.open("rb") as file:
        head = file.read(4)
    if head == b"PAR1":
        return replace(source, kind="parquet")
    return replace(source, packing="gz" if head[:2] == b"\x1f\x8b" else "zst" if head == b"\x28\xb5\x2f\xfd" else "")


def _with_kind(source: Source, texts: Iterator[str], say: Say | None) -> tuple[Source, Iterator[str]]:
    """Standard input has no name to tell its kind; its first line tells whether it is JSON lines. No text is lost."""
    held = first = ""
    for block in texts:
        held += block
        first, end, _ = held.lstrip().partition("\n")
        if end or len(held) >= LARGEST_DOCUMENT:
            break
    told = ""
    if _is_object(first):
        source = replace(source, kind="jsonl")
        told = "Standard input is read as JSON lines, since its first line is one (as text: --kind text)."
    elif name := _named_column(first):
        told = f"Standard input is read as text; if {name!r} is a column of a table, say --kind csv or --kind tsv."
    if told and say is not None:
        say(told)
    return source, chain([held], texts)


def _named_column(line: str) -> str | None:
    """The column of texts in what may be the first line of a table."""
    cells = [cell.strip(' "') for cell in line.split(separator_of([line]))]
    return next((cell for cell in cells if cell.lower() in _GUESSES), None) if len(cells) > 1 else None


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


class _Guess:
    """Chooses the column of the text among those there are."""

    def __init__(self, source: Source, seen: Seen, say: Say | None) -> None:
        self.source, self.seen, self.say = source, seen, say

    def column(self, wanted: str | None, names: Sequence[str], where: str = "") -> str:
        if wanted is not None:
            if wanted in names:
                return wanted
            raise UserError(f"{self.source.name}{where} has no column {wanted!r}, only {', '.join(names) or 'none'}.")
        lowered = {name.strip().lower(): name for name in reversed(names)}
        found = next((lowered[guess] for guess in _GUESSES if guess in lowered), None)
        if found is None and len(names) == 1:
            found = names[0]
        if found is None:
            raise UserError(
                f"{self.source.name}{where}: which column holds the text? "
                f"Say --text with one of {', '.join(names) or 'none'}."
            )
        if self.say is not None and found not in self.seen.guessed:
            self.seen.guessed.add(found)
            self.say(f"{self.source.name}: the text is taken from the column {found!r} (another one: --text).")
        return found


def _read_text(texts: Iterator[str], _: Source, __: Reading, ___: _Guess) -> Iterator[tuple[str, str]]:
    """Documents parted by blank lines."""
    held: list[str] = []
    size, enough, line = 0, 0, 1
    for block, is_last in with_last(texts):
        held.append(block)
        size += len(block)
        if size < enough and not is_last:
            continue
        text, start = "".join(held), 0
        for blank in _BLANK_LINES.finditer(text):
            if document := text[start : blank.start()].strip():
                yield document, f"line {line + _blank_before(text, start)}"
            line += text.count("\n", start, blank.end())
            start = blank.end()
        rest = text[start:]
        while (is_last and rest.strip()) or len(rest) >= LARGEST_DOCUMENT:
            cut = _end_of_words(rest) if len(rest) >= LARGEST_DOCUMENT else len(rest)
            yield rest[:cut].strip(), f"line {line + _blank_before(rest, 0)}"
            line, rest = line + rest.count("\n", 0, cut), rest[cut:]
        # A long document is looked through again only after it has doubled.
        held, size, enough = [rest], len(rest), min(2 * len(rest), LARGEST_DOCUMENT)


def _end_of_words(text: str) -> int:
    """Where a text that is too long is cut: at its last line end or space before the limit, if it has one."""
    ends = (text.rfind(mark, LARGEST_DOCUMENT // 2, LARGEST_DOCUMENT) for mark in ("\n", " "))
    return next((end + 1 for end in ends if end > 0), LARGEST_DOCUMENT)


def _blank_before(text: str, start: int) -> int:
    """The line ends between a place and the next letter: a file may begin with blank lines."""
    end = start
    while end < len(text) and text[end].isspace():
        end += 1
    return text.count("\n", start, end)


def _read_json_lines(
    texts: Iterator[str], source: Source, reading: Reading, guess: _Guess
) -> Iterator[tuple[str, str]]:
    column = None
    for entry, number in json_lines(lines_of(texts), source):
        if column is None:
            column = guess.column(reading.text, list(entry), f", line {number},")
        if column not in entry:
            raise UserError(
                f"{source.name}, line {number}: there is no field {column!r}, only {', '.join(entry) or 'none'}."
            )
        text = entry[column]
        if not isinstance(text, str | None):
            raise UserError(
                f"{source.name}, line {number}: the field {column!r} must hold a text, not a {type(text).__name__}."
            )
        yield text or "", f"line {number}"


def _read_table(texts: Iterator[str], source: Source, reading: Reading, guess: _Guess) -> Iterator[tuple[str, str]]:
    """CSV and TSV."""
    lines = whole_lines_of(texts)
    header = next(lines, "")
    separator = "\t" if source.kind == "tsv" else separator_of([header])
    rows = rows_of(chain([header], lines), separator, quotes=reading.quotes)
    names = next(rows, None)
    if names is None:  # an empty file is no document, as an empty .txt is none
        return
    column = names.cells.index(guess.column(reading.text, names.cells))
    for row in rows:
        if len(row.cells) <= column:
            there = columns_counted(len(row.cells))
            raise UserError(f"{source.name}, line {row.line} has {there}; the text is in column {column + 1}.")
        yield row.cells[column], f"line {row.line}"


def _read_parquet(source: Source, reading: Reading, seen: Seen, say: Say | None) -> Iterator[tuple[str, str]]:
    """Parquet, the text's column alone."""
    with opened_parquet(source, seen) as table:
        column = _Guess(source, seen, say).column(reading.text, table.schema_arrow.names)
        kind = table.schema_arrow.field(column).type
        if not holds_texts(kind):
            raise UserError(f"{source.name}: the column {column!r} must hold texts, not {kind}.")
        row = 0
        for batch in parquet_batches(table, [column], source, seen):
            texts = texts_of_column(batch.column(0), source, reading.encoding, reading.encoding_errors, seen, row)
            for text in texts:
                row += 1
                yield text or "", f"row {row}"
