"""Pieces of a long document: what is tokenized at a time, so that a book of fifty megabytes needs no more memory."""

import re
from collections.abc import Iterator

from unmask.data.shards import SENTENCE, WORD
from unmask.text.sentences import find_starts

LARGEST_PIECE = 1 << 16
_WINDOW = 1 << 12
_SPACE = re.compile(r"\s+")


def pieces_of(text: str, largest: int = LARGEST_PIECE) -> Iterator[tuple[str, int]]:
    """Pieces that give the text when joined, each with what may begin at its start: WORD | SENTENCE, WORD or nothing.

    A piece ends before a sentence if one begins near its end, else between words, else anywhere. A space belongs to
    the word after it, as byte-level BPE has it; a line end to the line that it ends.
    """
    start, bits = 0, WORD | SENTENCE
    while len(text) - start > largest:
        end, next_bits = _cut(text, start, start + largest)
        yield text[start:end], bits
        start, bits = end, next_bits
    yield text[start:], bits


def _cut(text: str, start: int, limit: int) -> tuple[int, int]:
    first = max(start + 1, limit - _WINDOW)
    window = text[first:limit]
    sentences = [begin for begin in find_starts(window) if begin]
    if sentences:
        return _before_space(text, first + sentences[-1]), WORD | SENTENCE
    spaces = [match.end() for match in _SPACE.finditer(window) if match.end() < len(window)]
    if spaces:
        return _before_space(text, first + spaces[-1]), WORD
    return limit, 0


def _before_space(text: str, at: int) -> int:
    return at - 1 if text[at - 1] == " " else at
