"""Records for a task from tables, JSON, CoNLL columns, SQuAD, lines of text and datasets, as a stream."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, starmap
from os import PathLike, fspath
from typing import Any, NamedTuple

from unmask.data import conll
from unmask.data.decode import (
    ONE_IN,
    Errors,
    Say,
    Seen,
    check_encoding,
    equal_ends,
    lines_of,
    texts_of_file,
    whole_lines_of,
)
from unmask.data.header import are_names, has_header
from unmask.data.kinds import RECORD_KINDS, WORDS_FOR_KINDS, RecordKind, guess_kind
from unmask.data.objects import json_items, json_lines, json_told
from unmask.data.parquet import parquet_rows
from unmask.data.race import one_a_question
from unmask.data.source import RECORD_ENDINGS, STDIN, Source, ending_of
from unmask.data.squad import questions
from unmask.data.tables import Row, columns_counted, csv_told, rows_of, separator_of
from unmask.data.tfds import tfds_rows
from unmask.data.where import find_sources
from unmask.data.word_rows import numbers_of_sentences, sentences_of
from unmask.errors import UserError

SAMPLE = 500
"""So many records are looked at before the rest is read."""
_HEAD = 1 << 16
_HEAD_LINES = 2000
_SEPARATOR_TOLD = re.compile(r'"?sep=([^\w\s"]|\t)"?', re.IGNORECASE)
"""The line before its header in which a table tells Excel what parts its columns."""


class Record(NamedTuple):
    """One row of a table, one sentence, one question."""

    values: dict[str, Any]
    """By the names of the columns."""
    place: str
    """Where it is from: `train.csv, line 12`."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How files are read; None: their content tells."""

    kind: RecordKind | None = None
    header: bool | None = None
    """Whether the first row of CSV and TSV names the columns; without names they are numbered from 1."""
    quotes: bool | None = None
    """Whether CSV and TSV quote fields that hold line ends, separators or quotation marks."""
    encoding: str = "utf-8"
    encoding_errors: Errors = "replace"
    """What is done about bytes that are not of the encoding: replaced by U+FFFD and counted, or refused."""

    def __post_init__(self) -> None:
        if self.kind is not None and self.kind not in RECORD_KINDS:
            raise UserError(f"There is no kind of file {self.kind!r}; choose among {', '.join(RECORD_KINDS)}.")
        check_encoding(self.encoding, self.encoding_errors)


class Records:
    """Records that are read when they are asked for, as often as they are; standard input once only.

    Args:
        source: what the user calls them.
        kind: of the file.
        names: of the columns; those in the sample, if it is not certain that there are no others.
        sample: the first records.
        read: reads all records.
        are_certain: whether no record has another column. Each object of JSON brings its own along.
    """

    def __init__(
        self,
        source: str,
        kind: str,
        names: list[str],
        sample: list[Record],
        read: Callable[[], Iterator[Record]],
        *,
        are_certain: bool,
    ) -> None:
        self.source, self.kind, self.names, self.sample = source, kind, names, sample
        self.are_certain = are_certain
        self._read = read

    def __iter__(self) -> Iterator[Record]:
        return self._read()

    @property
    def may_be_said(self) -> list[str]:
        """The columns, by whatever somebody may call them: those of CoNLL also by their numbers."""
        return list(dict.fromkeys([*self.names, *(self.sample[0].values if self.sample else ())]))

    def all_names(self) -> list[str]:
        """The columns of all records, for which they may be read through; of standard input those that are known."""
        if self.are_certain or self.source == "-":
            return self.names
        return _names_in(self)

    def columns_of(self, record: Record) -> dict[str, Any]:
        """What a record holds, each column once: the tokens of CoNLL go by their number too."""
        return {name: record.values[name] for name in self.names} if self.are_certain else record.values


def read_records(
    source: str | PathLike[str], reading: Reading | None = None, *, say: Callable[[str], None] | None = None
) -> Records:
    """The records of a file or a dataset; its beginning is read at once, so that what cannot be read is refused now.

    Args:
        source: a file, a folder or a glob of files with the same columns, each perhaps gzip or zstd; `-` for standard
            input; `hf:owner/name[:config][:split]`; `tfds:name[/config][:split]`.
        reading: how.
        say: is told what was found out.
    """
    reading, once = reading or Reading(), _once(say)
    if (name := fspath(source)).startswith("tfds:"):
        return _opened_dataset(name)
    files = _Files(find_sources([source], endings=RECORD_ENDINGS, say=once), reading, once)
    kind, names, sample = files.look()
    are_certain = files.names is not None or (len(files.sources) == 1 and kind not in ("json", "jsonl"))
    return Records(name, kind, names, sample, files.records, are_certain=are_certain)


def _once(say: Say | None) -> Say:
    """Says no sentence twice: what is read again is found out again."""
    said: set[str] = set()

    def once(sentence: str) -> None:
        if say is not None and sentence not in said:
            said.add(sentence)
            say(sentence)

    return once


def _opened_dataset(name: str) -> Records:
    def read() -> Iterator[Record]:
        return (Record(row, f"{name}, row {number}") for number, row in enumerate(tfds_rows(name), 1))

    sample = list(islice(read(), SAMPLE))
    if not sample:
        raise UserError(f"{name} has no rows.")
    return Records(name, "tfds", list(sample[0].values), sample, read, are_certain=True)


class _Begun(NamedTuple):
    """A file that was begun to read."""

    kind: RecordKind
    source: Source
    lines: list[str]
    """Its first lines."""
    texts: Iterator[str]
    """All of it, with the line ends that it has."""


class _Opened(NamedTuple):
    """A file of which is known how it is read."""

    kind: RecordKind
    names: list[str] | None
    """None: the records bring their names along."""
    records: Iterator[Record]


class _Files:
    """Files with the same columns, one after another."""

    def __init__(self, sources: Sequence[Source], reading: Reading, say: Say) -> None:
        self.sources, self.reading, self.say = sources, reading, say
        self.names: list[str] | None = None
        self.stream: Iterator[Record] | None = None
        """What is left of standard input."""
        self._kinds_said: set[RecordKind] = set()

    def look(self) -> tuple[RecordKind, list[str], list[Record]]:
        """The kind, the columns and the first records."""
        source = self.sources[0]
        seen = Seen()
        opened = _open(source, self.reading, seen, self.say, self._say_kind)
        sample = list(islice(opened.records, SAMPLE))
        if not sample:
            what = "is empty; there is nothing to read"
            if opened.names and opened.kind in ("csv", "tsv"):
                what = f"has a header and no rows: {', '.join(opened.names)}"
            raise UserError(f"{source.name} {what}.")
        self._refuse_garbage(sample, seen)
        if source.path == STDIN:
            self.stream = chain(sample, self._rest_of(opened, source, seen))
        self.names = opened.names
        return opened.kind, opened.names or _names_in(sample), sample

    def _say_kind(self, source: Source, kind: RecordKind) -> None:
        """Says of which kind a file is, once for all files of that kind: a folder may hold thousands."""
        if kind not in self._kinds_said:
            self._kinds_said.add(kind)
            is_first = len(self.sources) > 1 and source is self.sources[0]
            first = f", the first of {len(self.sources)} files," if is_first else ""
            self.say(f"{source.name}{first} is read as {WORDS_FOR_KINDS[kind]} (another kind: --kind).")

    def _refuse_garbage(self, sample: Sequence[Record], seen: Seen) -> None:
        """A byte that is wrong here and there may be replaced; a file in another encoding would be no text at all."""
        values = [value for record in sample for value in record.values.values()]
        lists = [value for value in values if isinstance(value, list)]
        texts = [text for text in chain(values, *lists) if isinstance(text, str)]
        n_broken, n = (sum(count) for count in ((text.count("\ufffd") for text in texts), map(len, texts)))
        if seen.invalid and n_broken * ONE_IN > n:
            raise UserError(
                f"{self.sources[0].name} is not {self.reading.encoding}: it cannot be read at {n_broken} places in its "
                f"first {len(sample)} records; give its --encoding, such as gb18030, big5, utf-16 or latin-1."
            )

    def records(self) -> Iterator[Record]:
        """All records."""
        if self.sources[0].path == STDIN:
            if self.stream is None:
                raise UserError("Standard input can be read once only, but is needed again; write it to a file.")
            stream, self.stream = self.stream, None
            return stream
        return self._from_disk()

    def _from_disk(self) -> Iterator[Record]:
        for source in self.sources:
            seen = Seen()
            opened = _open(source, self.reading, seen, self.say, self._say_kind)
            if opened.names != self.names:
                raise UserError(
                    f"{source.name} has the columns {', '.join(opened.names or [])}, but {self.sources[0].name} has "
                    f"{', '.join(self.names or [])}; files that are read as one must have the same."
                )
            yield from self._rest_of(opened, source, seen)

    def _rest_of(self, opened: _Opened, source: Source, seen: Seen) -> Iterator[Record]:
        """The records that were not read yet; at their end is said what was wrong with the file."""
        yield from opened.records
        if seen.invalid:
            places = "place is" if seen.invalid == 1 else "places are"
            self.say(
                f"{source.name}: {seen.invalid} {places} not {self.reading.encoding} and read as U+FFFD "
                "(another one: --encoding)."
            )


def _names_in(sample: Iterable[Record]) -> list[str]:
    return list(dict.fromkeys(name for record in sample for name in record.values))


def _open(
    source: Source, reading: Reading, seen: Seen, say: Say, say_kind: Callable[[Source, RecordKind], None]
) -> _Opened:
    """Finds out of which kind a file is and how it is laid out, from its beginning."""
    ending, _ = ending_of(source.path)
    if "parquet" in (reading.kind, ending.removeprefix(".") if reading.kind is None else None):
        rows = parquet_rows(source, reading.encoding, reading.encoding_errors, seen)
        return _Opened("parquet", None, (Record(row, f"{source.name}, row {number}") for row, number in rows))
    texts = texts_of_file(source, reading.encoding, reading.encoding_errors, seen)
    head, lines = _head_of(texts)
    kind = reading.kind
    if kind is None:
        kind, by_content = guess_kind(ending if source.path != STDIN else "", lines)
        if by_content:
            say_kind(source, kind)
    begun = _Begun(kind, source, lines, chain(head, texts))
    with csv_told(source):
        if kind in ("csv", "tsv"):
            names, records = _open_table(begun, reading, say)
        elif kind == "conll":
            names, records = _open_conll(begun, say)
        else:
            readers = {"jsonl": _read_jsonl, "json": _read_json, "squad": _read_squad, "labels": _read_labels}
            names, records = None, readers.get(kind, _read_lines)(source, equal_ends(begun.texts))
    return _Opened(kind, names, _told(records, source))


def _told(records: Iterator[Record], source: Source) -> Iterator[Record]:
    with csv_told(source), json_told(source):
        yield from records


def _head_of(texts: Iterator[str]) -> tuple[list[str], list[str]]:
    """The first blocks of a file, and the first lines in them; one that is cut only if there is no other."""
    head: list[str] = []
    for block in texts:
        head.append(block)
        if sum(map(len, head)) >= _HEAD:
            break
    else:
        return head, list(islice(lines_of(equal_ends(head)), _HEAD_LINES))
    lines = list(islice(lines_of(equal_ends(head)), _HEAD_LINES + 1))
    return head, lines[: max(1, len(lines) - 1)]


def _read_jsonl(source: Source, texts: Iterator[str]) -> Iterator[Record]:
    for entry, number in json_lines(lines_of(texts), source):
        place = f"{source.name}, line {number}"
        yield from (Record(values, place) for values in one_a_question(entry, place))


def _read_json(source: Source, texts: Iterator[str]) -> Iterator[Record]:
    for entry, number in json_items(texts, source):
        place = f"{source.name}, item {number}"
        yield from (Record(values, place) for values in one_a_question(entry, place))


def _read_squad(source: Source, texts: Iterator[str]) -> Iterator[Record]:
    text = "".join(texts)
    if text.strip():
        for values, number in questions(text, source.name):
            yield Record(values, f"{source.name}, question {number}")


def _read_lines(source: Source, texts: Iterator[str]) -> Iterator[Record]:
    for number, line in enumerate(lines_of(texts), 1):
        if line.strip():
            yield Record({"text": line}, f"{source.name}, line {number}")


def _read_labels(source: Source, texts: Iterator[str]) -> Iterator[Record]:
    """`label text`, and fastText's `__label__one __label__two text`."""
    mark = "__label__"
    for number, line in enumerate(lines_of(texts), 1):
        if not line.strip():
            continue
        first, *rest = line.split(maxsplit=1)
        labels, text = [first], rest[0] if rest else ""
        while first.startswith(mark) and text.startswith(mark):
            label, *rest = text.split(maxsplit=1)
            labels.append(label)
            text = rest[0] if rest else ""
        if not text.strip():
            raise UserError(f"{source.name}, line {number} has a label and no text: {line[:60]!r}.")
        labels = [label.removeprefix(mark) for label in labels]
        label_value = labels if len(labels) > 1 else labels[0]
        yield Record({"label": label_value, "text": text.strip()}, f"{source.name}, line {number}")


def _open_conll(begun: _Begun, say: Say) -> tuple[list[str] | None, Iterator[Record]]:
    layout, name = conll.find_layout(begun.lines), begun.source.name
    if layout.has_segments:
        say(f"{name}: the digits behind its characters, which number those of a word, are left out.")
    if layout.has_counters and layout.tags is not None:
        say(
            f"{name}: its first column counts; tokens are column 2, tags column {layout.tags + 1} (other ones: --tags)."
        )
    found = conll.sentences(lines_of(equal_ends(begun.texts)), layout, name)
    records = (Record(conll.values_of(sentence, layout), f"{name}, line {sentence.line}") for sentence in found)
    return conll.names_of(layout), records


def _open_table(begun: _Begun, reading: Reading, say: Say) -> tuple[list[str] | None, Iterator[Record]]:
    name, lines = begun.source.name, whole_lines_of(begun.texts)
    separator = "\t" if begun.kind == "tsv" else separator_of(begun.lines[:20])
    if told := _SEPARATOR_TOLD.fullmatch(begun.lines[0] if begun.lines else ""):
        separator = told[1]
        lines = chain(["\n"], islice(lines, 1, None))  # a blank line, so that the others keep their numbers

    def say_quotes(are_quotes: bool) -> None:
        if not are_quotes:
            say(f"{name} does not quote its fields: quotation marks are text (otherwise: --quotes).")

    rows = rows_of(lines, separator, quotes=reading.quotes, say=say_quotes)
    first = list(islice(rows, SAMPLE // 2))
    if not first:
        return None, iter(())
    width = len(first[0].cells)
    header = has_header([row.cells for row in first]) if reading.header is None else reading.header
    if reading.header is None and not header:
        say(f"{name} has no header, so its columns are numbered from 1 to {width} (otherwise: --header).")
    elif reading.header is None and not are_names(first[0].cells):
        named = ", ".join(filter(None, first[0].cells))
        say(f"{name}: its first line is read as a header: {named} (otherwise: --no-header).")
    names = _checked_names(first[0].cells, name) if header else [str(number) for number in range(1, width + 1)]
    records = _records_of(chain(first[header:], rows), names, name)
    numbers = numbers_of_sentences(names, list(_records_of(first[header:], names, name)))
    if numbers is None:
        return names, records
    say(f"{name} has a word a row; rows are joined to sentences by {numbers!r}.")
    return names, starmap(Record, sentences_of(records, numbers))


def _records_of(rows: Iterable[Row], names: Sequence[str], file: str) -> Iterator[Record]:
    for row in rows:
        place = f"{file}, line {row.line}"
        if len(row.cells) != len(names):
            raise UserError(
                f"{place} has {columns_counted(len(row.cells))}, but the first line has {len(names)}: "
                f"{' | '.join(row.cells)[:60]!r}."
            )
        yield Record(dict(zip(names, row.cells, strict=True)), place)


def _checked_names(cells: Sequence[str], file: str) -> list[str]:
    """The names in a header, each once; a column without a name, such as pandas' index, gets its number."""
    names = [cell.strip() or str(number) for number, cell in enumerate(cells, 1)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"{file} has two columns named {twice!r}; rename one of them.")
    return names
