"""Windows over a long text: where they lie, which one sees a token best, and the special tokens around each.

The sliding window of Devlin et al. 2018's code for SQuAD, with its maximum context for each token.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from unmask.errors import UserError
from unmask.tasks.units import Sequence
from unmask.text import Tokenizer

_PROBES = ("a", "0", "一", ".")


def cut(n: int, room: int, overlap: int) -> list[tuple[int, int]]:
    """Windows over `n` tokens, first token and end of each; together they hold every token.

    Two neighbours share `overlap` tokens, the last two maybe more, so that the last is as full as the others. Hence
    whatever is no longer than `overlap` + 1 tokens lies wholly in one of them.

    >>> cut(10, 6, 3)
    [(0, 6), (3, 9), (4, 10)]
    """
    if not 0 <= overlap < room:
        raise UserError(f"Windows with room for {room} tokens of text cannot share {overlap}; take longer ones.")
    if n <= room:
        return [(0, n)]
    starts = [*range(0, n - room, room - overlap), n - room]
    return [(start, start + room) for start in starts]


def best_window(n: int, windows: list[tuple[int, int]]) -> np.ndarray:
    """For each of `n` tokens the number of the window where it has most context on its poorer side.

    The ends of the text are no ends of context. Of two windows that are as good the earlier is taken.
    """
    places, best, most = np.arange(n), np.zeros(n, np.int64), np.full(n, -1)
    for number, (start, end) in enumerate(windows):
        before = places - start if start else np.full(n, n)
        after = end - 1 - places if end < n else np.full(n, n)
        context = np.where((places >= start) & (places < end), np.minimum(before, after), -1)
        best[context > most] = number
        most = np.maximum(most, context)
    return best


@dataclass(frozen=True)
class Frame:
    """The special tokens that a tokenizer puts around one text, or around and between the two of a pair."""

    special: tuple[list[int], ...]
    """Ids before the first text, between the texts, after the last."""
    segments: tuple[list[int], ...]
    """And their segments."""
    text_segments: tuple[int, ...]
    """The segment of each text."""

    @property
    def size(self) -> int:
        """How many special tokens there are."""
        return sum(map(len, self.special))

    def around(self, *texts: list[int]) -> Sequence:
        """These texts, given as ids, with the special tokens."""
        ids, segments = list(self.special[0]), list(self.segments[0])
        for number, text in enumerate(texts):
            ids += [*text, *self.special[number + 1]]
            segments += [*[self.text_segments[number]] * len(text), *self.segments[number + 1]]
        return Sequence(ids, segments)

    def start_of(self, *texts: list[int]) -> int:
        """Where the text that follows these stands in the sequence."""
        return sum(map(len, self.special[: len(texts) + 1])) + sum(map(len, texts))


def frame_of(tokenizer: Tokenizer, n_texts: int) -> Frame:
    """The special tokens around one text or a pair, as the tokenizer itself puts them around a short one."""
    for probe in _PROBES:
        encoding = tokenizer.encode(probe, probe if n_texts == 2 else None)
        inside = [[i for i, text in enumerate(encoding.texts) if text == number] for number in range(n_texts)]
        if all(inside):
            ends = [(0, 0), *((places[0], places[-1] + 1) for places in inside), (len(encoding.ids), 0)]
            gaps = [slice(left[1], right[0]) for left, right in pairwise(ends)]
            return Frame(
                tuple(encoding.ids[gap] for gap in gaps),
                tuple(encoding.segments[gap] for gap in gaps),
                tuple(encoding.segments[places[0]] for places in inside),
            )
    raise UserError(f"This tokenizer has no token for any of {' '.join(_PROBES)}; it cannot read a text.")
