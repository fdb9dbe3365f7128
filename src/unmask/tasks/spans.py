"""From characters to tokens and back: which tokens cover a span, which token speaks for a word.

Tokenizers place their tokens differently: with the space before a word or without it, several tokens on one character
(the bytes of an emoji), one token on several words (an unknown run), no token on a character at all (a control
character that BERT drops). Everything here holds for all of them.
"""

import unicodedata
from collections.abc import Sequence

import numpy as np

Span = tuple[int, int]
"""First character and end, or first word and end."""

_IS_SOLID = np.array([not chr(code).isspace() for code in range(0x3002)])  # beyond there is no white space


def solid(text: str, offsets: Sequence[Span]) -> np.ndarray:
    """Offsets of tokens without the white space at their ends; a token of white space alone becomes empty.

    Combining marks that no token is on, since BERT takes accents off, belong to the token before them.

    Args:
        text: what was encoded.
        offsets: of its tokens, in characters.

    Returns:
        offsets_N2, empty where first and end are equal.
    """
    offsets_N2 = np.array(offsets, np.int64).reshape(-1, 2)
    if not len(offsets_N2) or not text:
        return offsets_N2
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    is_solid = _IS_SOLID[np.minimum(codes, len(_IS_SOLID) - 1)]
    places = np.arange(len(codes))
    following = np.minimum.accumulate(np.where(is_solid, places, len(codes))[::-1])[::-1]
    preceding = np.maximum.accumulate(np.where(is_solid, places, -1))
    starts, ends = offsets_N2.T
    first = np.append(following, len(codes))[starts]
    end = np.where(ends > 0, preceding[ends - 1], -1) + 1
    found_N2 = np.stack([np.where(first < end, first, starts), np.where(first < end, end, starts)], axis=1)
    if not text.isascii():
        _take_marks(text, found_N2)
    return found_N2


def _take_marks(text: str, offsets_N2: np.ndarray) -> None:
    """Moves the end of each token over the combining marks between it and the next."""
    full = np.flatnonzero(offsets_N2[:, 1] > offsets_N2[:, 0])
    ends = offsets_N2[full, 1]
    limits = np.append(offsets_N2[full[1:], 0], len(text))
    for token, end, limit in zip(*(values[ends < limits].tolist() for values in (full, ends, limits)), strict=True):
        marked = end
        while marked < limit and unicodedata.combining(text[marked]):
            marked += 1
        offsets_N2[token, 1] = marked


def outermost(offsets_N2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which tokens a span may begin with and which it may end with, so that each span of characters has one way.

    Of several tokens on one character a span begins with the first and ends with the last; empty tokens do neither.
    """
    starts, ends = offsets_N2.T
    full = ends > starts
    before = np.maximum.accumulate(np.where(full, starts, -1))
    after = np.minimum.accumulate(np.where(full, ends, np.iinfo(np.int64).max)[::-1])[::-1]
    begins = full & (starts > np.append(-1, before[:-1]))
    finishes = full & (ends < np.append(after[1:], np.iinfo(np.int64).max))
    return begins, finishes


def cover(offsets_N2: np.ndarray, start: int, end: int) -> Span | None:
    """The fewest neighbouring tokens that cover a span of characters: the first and the last; None if none does.

    >>> cover(np.array([[0, 5], [6, 6], [6, 9], [9, 12]]), 7, 10)
    (2, 3)
    """
    starts, ends = offsets_N2.T
    hits = np.flatnonzero((starts < end) & (ends > start) & (ends > starts))
    if not len(hits):
        return None
    begins, finishes = outermost(offsets_N2)
    return int(np.flatnonzero(begins[: hits[0] + 1])[-1]), int(hits[-1] + np.argmax(finishes[hits[-1] :]))


def speakers(words: Sequence[Span], offsets_N2: np.ndarray) -> list[int | None]:
    """For each word the token whose label is the word's: the first one on it that speaks for no word before.

    Where no such token is left, the word shares the last one on it with the words before it. None: no token is on it.

    >>> speakers([(0, 2), (2, 3), (3, 4), (5, 6)], np.array([[0, 1], [1, 3], [3, 4], [4, 5]]))
    [0, 1, 2, None]
    """
    starts, ends = offsets_N2[:, 0].tolist(), offsets_N2[:, 1].tolist()
    found: list[int | None] = []
    first, taken = 0, -1
    for start, end in words:
        while first < len(starts) and ends[first] <= start:
            first += 1
        speaker, token = None, first
        while token < len(starts) and starts[token] < end:
            if starts[token] < ends[token] and ends[token] > start:
                speaker = token
                if token > taken:
                    break
            token += 1
        if speaker is not None:
            taken = speaker = max(taken, speaker)
        found.append(speaker)
    return found


def groups(speaking: Sequence[int | None]) -> tuple[list[int], list[Span]]:
    """Words that share a token: the tokens in order, and for each its first word and the end of its words."""
    tokens: list[int] = []
    spans: list[Span] = []
    for word, token in enumerate(speaking):
        if token is None:
            continue
        if tokens and tokens[-1] == token:
            spans[-1] = (spans[-1][0], word + 1)
        else:
            tokens.append(token)
            spans.append((word, word + 1))
    return tokens, spans
