"""The text of a file: bytes decoded and cut into lines; broken and binary files are refused."""

import codecs
import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from unmask.data.source import Source
from unmask.data.unpack import blocks_of
from unmask.errors import UserError

Errors = Literal["replace", "refuse"]
Say = Callable[[str], None]
ONE_IN = 50
"""If more than one character in so many cannot be decoded, the encoding is another one."""
_Block = TypeVar("_Block", str, bytes)


@dataclass
class Seen:
    """What a reader met besides what it gives; grows while it reads."""

    invalid: int = 0
    """Places that were not of the encoding and were replaced."""
    raw_bytes: int = 0
    """Bytes read from files, still packed."""
    guessed: set[str] = field(default_factory=set)
    """Columns that were guessed and said aloud already."""

    def count_bytes(self, n: int) -> None:
        """Some more bytes were read."""
        self.raw_bytes += n


def check_encoding(encoding: str, errors: str) -> None:
    """Refuses what Python cannot decode."""
    if errors not in ("replace", "refuse"):
        raise UserError(f"Broken encodings can be replaced or refused, not {errors!r}.")
    try:
        b"a".decode(encoding, "replace")  # which refuses base64 and other codecs that are not of texts
    except (LookupError, UnicodeError):
        raise UserError(f"Python knows no encoding {encoding!r}; such as utf-8, gb18030, big5, latin-1.") from None


def texts_of_file(source: Source, encoding: str, errors: Errors, seen: Seen) -> Iterator[str]:
    """The text of a file in blocks, line ends as they are; no block ends within one."""
    strict, lenient = (codecs.getincrementaldecoder(encoding)(how) for how in ("strict", "replace"))
    ends = io.IncrementalNewlineDecoder(None, translate=False)
    line, is_begun = 1, False
    for block, is_last in with_last(blocks_of(source.path, source.packing, source.name, seen.count_bytes)):
        if line == 1:
            _refuse_other_formats(block, source.name, encoding)
        state = strict.getstate()  # as a decoder of GB18030 forgets the bytes that it holds when it raises
        with _told_if_unmarked(source.name, encoding):
            try:
                text = strict.decode(block, is_last)
            except UnicodeDecodeError as error:
                if errors == "refuse":
                    at = line + error.object[: error.start].count(b"\n")
                    raise UserError(
                        f"{source.name}, line {at}: byte {error.object[error.start]:#04x} is not {encoding}; "
                        "give another --encoding, or --encoding-errors replace."
                    ) from None
                lenient.setstate(state)
                text = lenient.decode(block, is_last)
                strict.setstate(lenient.getstate())
                seen.invalid += max(1, text.count("\ufffd") - block.count("\ufffd".encode()))
        if text and not is_begun:
            text, is_begun = text.removeprefix("\ufeff"), True
        text = ends.decode(text, final=is_last)
        if "\0" in text:
            at = line + _n_ends(text[: text.index("\0")])
            raise UserError(
                f"{source.name}, line {at}: there are NUL bytes, so this is a binary file and no {encoding}."
            )
        line += _n_ends(text)
        yield text


@contextmanager
def _told_if_unmarked(name: str, encoding: str) -> Iterator[None]:
    """UTF-16 and UTF-32 begin with a mark; without it nothing of the file can be read."""
    try:
        yield
    except UnicodeError as error:
        raise UserError(f"{name} is not {encoding} ({error}); give another --encoding.") from None


def _n_ends(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def equal_ends(texts: Iterable[str]) -> Iterator[str]:
    """The same blocks with a line feed for each line end."""
    return (block.replace("\r\n", "\n").replace("\r", "\n") for block in texts)


def _refuse_other_formats(block: bytes, name: str, encoding: str) -> None:
    """What spreadsheets save, and what is packed without saying so, by its first bytes."""
    for packing, mark in ((".gz", b"\x1f\x8b"), (".zst", b"\x28\xb5\x2f\xfd")):
        if block.startswith(mark):
            raise UserError(f"{name} is packed, but its name does not say so; let it end in {packing}.")
    if block.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise UserError(f"{name} is a workbook or another packed file, not text; save it as CSV (UTF-8) first.")
    is_marked = block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if is_marked and codecs.lookup(encoding).name in ("utf-8", "utf-8-sig"):
        raise UserError(f"{name} is not utf-8 but, by its first bytes, utf-16; give --encoding utf-16.")


def are_texts(raws: Iterable[bytes], encoding: str) -> bool:
    """Whether bytes are texts of an encoding, broken here and there at most, and not an image, say."""
    n, n_broken = 0, 0
    for raw in raws:
        text = raw.decode(encoding, "replace")
        n += len(text)
        n_broken += text.count("\ufffd") - raw.count("\ufffd".encode()) + text.count("\0")
    return n_broken * ONE_IN <= n


def decoded(raw: bytes, encoding: str, errors: Errors, seen: Seen, place: str) -> str:
    """The text of one value that came as bytes."""
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        if errors == "refuse":
            raise UserError(
                f"{place}: byte {raw[error.start]:#04x} is not {encoding}; "
                "give another --encoding, or --encoding-errors replace."
            ) from None
    text = raw.decode(encoding, "replace")
    seen.invalid += max(1, text.count("\ufffd") - raw.count("\ufffd".encode()))
    return text


def with_last(blocks: Iterator[_Block]) -> Iterator[tuple[_Block, bool]]:
    """Each with whether it is the last."""
    for held in blocks:
        for block in blocks:
            yield held, False
            held = block  # noqa: PLW2901
        yield held, True


def lines_of(texts: Iterable[str]) -> Iterator[str]:
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


def whole_lines_of(texts: Iterable[str]) -> Iterator[str]:
    """Lines with their ends, of whatever kind: in a quoted field of CSV they are text."""
    held: list[str] = []
    for block in texts:
        if "\n" not in block and "\r" not in block:
            held.append(block)
            continue
        lines = list(io.StringIO("".join(held) + block, newline=""))
        held = [lines.pop()] if not lines[-1].endswith(("\n", "\r")) else []
        yield from lines
    if last := "".join(held):
        yield last
