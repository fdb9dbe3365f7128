"""JSON objects as a stream: one a line, or those of one list; what is no JSON is refused with its place."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from unmask.data.source import Source
from unmask.errors import UserError

_BLANKS = re.compile(r"[ \t\n\r]*")


@contextmanager
def json_told(source: Source) -> Iterator[None]:
    """JSON that Python's parser has no room for, as one sentence."""
    try:
        yield
    except RecursionError:
        raise UserError(f"{source.name} holds JSON that is nested too deeply.") from None


def json_lines(lines: Iterable[str], source: Source) -> Iterator[tuple[dict[str, Any], int]]:
    """The object of each line that is not blank, with its number."""
    for number, line in enumerate(lines, 1):
        if line and not line.isspace():
            yield _object(line, source, number), number


def _object(line: str, source: Source, number: int) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError as error:
        hint = "; the file must hold one object a line" if line.lstrip()[0] in "[{" and number == 1 else ""
        raise UserError(f"{source.name}, line {number} is not valid JSON ({error}){hint}.") from None
    if not isinstance(entry, dict):
        raise UserError(f"{source.name}, line {number} must hold a JSON object, but holds a {type(entry).__name__}.")
    return entry


def json_items(texts: Iterable[str], source: Source) -> Iterator[tuple[dict[str, Any], int]]:
    """The objects of a file that is one JSON list, with their numbers from 1; never the whole list in memory."""
    text, number = _Text(texts), 0
    if not text.passes("["):
        raise UserError(f"{source.name} must hold a JSON list, but begins with {text.mark()!r}.")
    if text.passes("]"):
        return
    while True:
        number += 1
        try:
            item = text.value()
        except ValueError as error:
            said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise UserError(f"{source.name}, item {number} of the list is not valid JSON ({said}).") from None
        if not isinstance(item, dict):
            raise UserError(
                f"{source.name}, item {number} of the list must be a JSON object, but is a {type(item).__name__}."
            )
        yield item, number
        if text.passes("]"):
            break
        if not text.passes(","):
            found = repr(text.mark()) if text.mark() else "the file ends"
            raise UserError(f"{source.name}: after item {number} of the list a comma or ] must follow, but {found}.")
    if text.mark():
        raise UserError(f"{source.name}: the list ends after item {number}, but {text.mark()!r} follows.")


class _Text:
    """Text that is read on as far as it is needed; what has been passed is dropped."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._blocks = iter(texts)
        self._decoder = json.JSONDecoder()
        self._text, self._place = "", 0

    def mark(self) -> str:
        """The next character that is not blank; nothing at the end."""
        while True:
            self._place = _BLANKS.match(self._text, self._place).end()  # type: ignore[union-attr]
            if self._place < len(self._text):
                return self._text[self._place]
            if not self._reads_on():
                return ""

    def passes(self, mark: str) -> bool:
        """Goes behind the mark, if it is the next one."""
        is_next = self.mark() == mark
        self._place += is_next
        return is_next

    def value(self) -> Any:
        """The value that begins at the next mark; ValueError if it is none."""
        self.mark()
        while True:
            try:
                value, self._place = self._decoder.raw_decode(self._text, self._place)
            except ValueError:
                if not self._reads_on():
                    raise
            else:
                return value

    def _reads_on(self) -> bool:
        """Doubles what is held, so that a long value is not parsed too often; False at the end."""
        held = [self._text[self._place :]]
        wanted, size = max(1, len(held[0])), 0
        for block in self._blocks:
            held.append(block)
            size += len(block)
            if size >= wanted:
                break
        self._text, self._place = "".join(held), 0
        return size > 0
