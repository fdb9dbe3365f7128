"""Reading documents: text, JSON lines, CSV, TSV and Parquet, packed or not, as a stream of whole documents."""

import codecs
import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from tempfile import TemporaryFile
from typing import Any, Literal, NamedTuple, TypeVar

from unmask.corpus.normalize import Form, check_form, normalize
from unmask.corpus.unpack import blocks_of
from unmask.corpus.where import Source, find_sources, optional
from unmask.errors import UserError

LARGEST_DOCUMENT = 1 << 24
"""Characters; a text file without blank lines is cut into documents of that size, so that memory has a bound."""

_GUESSES = (
    *("text", "content", "document", "body", "article", "review", "sentence", "passage", "story", "abstract"),
    *("comment", "message", "文本", "正文", "内容", "评论"),
)
"""What the column of the text may be called, the likeliest first."""

_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")

_Block = TypeVar("_Block", str, bytes)
Say = Callable[[str], None]


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

    text: str | None = None
    """The field or column that holds the text; None: guessed from the names there are."""
    encoding: str = "utf-8"
    encoding_errors: Literal["replace", "refuse"] = "replace"
    """What is done about bytes that are not of the encoding: replaced by U+FFFD and counted, or refused."""
    quotes: bool = True
    """Whether CSV and TSV quote fields that hold line ends or separators."""

    def __post_init__(self) -> None:
        if self.encoding_errors not in ("replace", "refuse"):
            raise UserError(f"Broken encodings can be replaced or refused, not {self.encoding_errors!r}.")
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise UserError(
                f"Python knows no encoding {self.encoding!r}; such as utf-8, gb18030, big5, latin-1."
            ) from None


@dataclass
class Seen:
    """What the reader met besides documents; grows while it reads."""

    invalid: int = 0
    """Places that were not of the encoding and were replaced."""
    raw_bytes: int = 0
    """Bytes read from files, still packed."""
    guessed: set[str] = field(default_factory=set)
    """Columns that were guessed and said aloud already."""


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
    with _told(source):
        if source.kind == "parquet":
            found = _read_parquet(source, reading, seen, say)
        else:
            found = readers[source.kind](_texts(source, reading, seen), source, reading, _Guess(source, seen, say))
        for text, place in found:
            yield RawDocument(text, source.name, place)


@contextmanager
def _told(source: Source) -> Iterator[None]:
    """The errors of the libraries, as one sentence."""
    try:
        yield
    except csv.Error as error:
        raise UserError(
            f"{source.name} is not CSV as it should be ({error}); if it does not quote its fields, add --no-quotes."
        ) from None
    except RecursionError:
        raise UserError(f"{source.name} holds JSON that is nested too deeply.") from None


def _texts(source: Source, reading: Reading, seen: Seen) -> Iterator[str]:
    """The text of a file in blocks, line ends made equal."""
    encoding = "utf-8-sig" if codecs.lookup(reading.encoding).name == "utf-8" else reading.encoding
    strict, lenient = (codecs.getincrementaldecoder(encoding)(errors) for errors in ("strict", "replace"))
    ends = io.IncrementalNewlineDecoder(None, translate=True)
    line = 1
    for block, is_last in _with_last(blocks_of(source.path, source.packing, source.name, _counter(seen))):
        try:
            text = strict.decode(block, is_last)
        except UnicodeDecodeError as error:
            if reading.encoding_errors == "refuse":
                at = line + error.object[: error.start].count(b"\n")
                raise UserError(
                    f"{source.name}, line {at}: byte {error.object[error.start]:#04x} is not {reading.encoding}; "
                    "give another --encoding, or --encoding-errors replace."
                ) from None
            lenient.setstate(strict.getstate())
            text = lenient.decode(block, is_last)
            strict.setstate(lenient.getstate())
            seen.invalid += max(1, text.count("\ufffd") - block.count("\ufffd".encode()))
        text = ends.decode(text, final=is_last)
        if "\0" in text:
            at = line + text.count("\n", 0, text.index("\0"))
            raise UserError(
                f"{source.name}, line {at}: there are NUL bytes, so this is a binary file and no {reading.encoding}."
            )
        line += text.count("\n")
        yield text


def _counter(seen: Seen) -> Callable[[int], None]:
    def count(n: int) -> None:
        seen.raw_bytes += n

    return count


def _with_last(blocks: Iterator[_Block]) -> Iterator[tuple[_Block, bool]]:
    """Each with whether it is the last."""
    for held in blocks:
        for block in blocks:
            yield held, False
            held = block  # noqa: PLW2901
        yield held, True


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
    for block, is_last in _with_last(texts):
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


def _lines(texts: Iterable[str]) -> Iterator[str]:
    """Lines at line feeds only: U+2028 may stand inside a JSON string."""
    held: list[str] = []
    for block in texts:
        if "\n" not in block:
            held.append(block)
            continue
        lines = ("".join(held) + block).split("\n")
        held = [lines.pop()]
        yield from lines
    if last := "".join(held):
        yield last


def _read_json_lines(
    texts: Iterator[str], source: Source, reading: Reading, guess: _Guess
) -> Iterator[tuple[str, str]]:
    column = None
    for number, line in enumerate(_lines(texts), 1):
        if not line or line.isspace():
            continue
        entry = _json_object(line, source, number)
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


def _json_object(line: str, source: Source, number: int) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError as error:
        hint = "; the file must hold one object a line" if line.lstrip()[0] in "[{" and number == 1 else ""
        raise UserError(f"{source.name}, line {number} is not valid JSON ({error}){hint}.") from None
    if not isinstance(entry, dict):
        raise UserError(f"{source.name}, line {number} must hold a JSON object, but holds a {type(entry).__name__}.")
    return entry


def _read_table(texts: Iterator[str], source: Source, reading: Reading, guess: _Guess) -> Iterator[tuple[str, str]]:
    """CSV and TSV; a field may hold line ends and be as long as it likes."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    lines = _lines(texts)
    header = next(lines, "")
    separator = "\t" if source.kind == "tsv" else max(",;\t", key=header.count)
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if reading.quotes else csv.QUOTE_NONE
    with_ends = (line + "\n" for line in _chain(header, lines))
    rows = csv.reader(with_ends, delimiter=separator, quoting=quoting, strict=reading.quotes)
    names = next(rows, [])
    column = names.index(guess.column(reading.text, names))
    before = rows.line_num
    for row in rows:
        if len(row) > column:
            yield row[column], f"line {before + 1}"
        elif row:
            raise UserError(
                f"{source.name}, line {before + 1} has {len(row)} columns; the text is in column {column + 1}."
            )
        before = rows.line_num


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _read_parquet(source: Source, reading: Reading, seen: Seen, say: Say | None) -> Iterator[tuple[str, str]]:
    """Parquet, a few rows of the text's column at a time."""
    pyarrow, parquet = optional("pyarrow", "data"), optional("pyarrow.parquet", "data")
    with TemporaryFile() if source.packing else source.path.open("rb") as file:
        if source.packing:  # Parquet is read from its end, a packed stream from its beginning
            for block in blocks_of(source.path, source.packing, source.name, _counter(seen)):
                file.write(block)
        try:
            table = parquet.ParquetFile(file)
        except (pyarrow.ArrowInvalid, OSError) as error:
            raise UserError(f"{source.name} is not Parquet or damaged ({str(error).splitlines()[0]}).") from None
        column = _Guess(source, seen, say).column(reading.text, table.schema_arrow.names)
        kind = table.schema_arrow.field(column).type
        if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind) or _is_bytes(pyarrow, kind)):
            raise UserError(f"{source.name}: the column {column!r} must hold texts, not {kind}.")
        size, row = source.path.stat().st_size if not source.packing else 0, 0
        for batch in table.iter_batches(batch_size=1024, columns=[column]):
            seen.raw_bytes += round(size * len(batch) / max(table.metadata.num_rows, 1))
            for raw in batch.column(0).cast(pyarrow.large_binary()).to_pylist():
                row += 1
                yield _decoded(raw, source, reading, seen, row), f"row {row}"


def _is_bytes(pyarrow: Any, kind: Any) -> bool:
    return bool(pyarrow.types.is_binary(kind) or pyarrow.types.is_large_binary(kind))


def _decoded(raw: bytes | None, source: Source, reading: Reading, seen: Seen, row: int) -> str:
    if raw is None:
        return ""
    try:
        return raw.decode(reading.encoding)
    except UnicodeDecodeError as error:
        if reading.encoding_errors == "refuse":
            raise UserError(
                f"{source.name}, row {row}: byte {raw[error.start]:#04x} is not {reading.encoding}; "
                "give another --encoding, or --encoding-errors replace."
            ) from None
    text = raw.decode(reading.encoding, "replace")
    seen.invalid += max(1, text.count("\ufffd") - raw.count("\ufffd".encode()))
    return text
