"""Highlighted parts of a text: cut at every edge of a mark; long texts shortened to what stands around the marks."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

Kind = Literal["gold", "predicted", "right"]
_JOINERS = "\u200d\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


class Mark(NamedTuple):
    """Characters `start` to `end` (exclusive) of a text, and what they are."""

    start: int
    end: int
    kind: Kind
    label: str = ""


class Piece(NamedTuple):
    """A stretch of text that the same marks cover."""

    text: str
    kinds: tuple[str, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()
    """Kind and label of each mark that ends here."""
    gap: bool = False
    """Something was left out here; the piece has no text."""


def pieces(text: str, marks: Iterable[Mark], keep: Sequence[tuple[int, int]] | None = None) -> list[Piece]:
    """The text cut where a mark begins or ends; put together again it is the text.

    Args:
        text: the text.
        marks: in any order; they may overlap. What lies outside of the text is left out.
        keep: the parts of the text that are wanted, in order; None: all of it.
    """
    inside = [Mark(max(0, start), min(end, len(text)), kind, label) for start, end, kind, label in marks]
    inside = [mark for mark in inside if mark.start < mark.end]
    edges = sorted({edge for mark in inside for edge in (mark.start, mark.end)})
    result, last = [], 0
    for start, end in [(0, len(text))] if keep is None else keep:
        if start > last:
            result.append(Piece("", gap=True))
        cuts = [start, *(edge for edge in edges if start < edge < end), end]
        result += [_piece(text, *cut, inside) for cut in pairwise(cuts) if cut[0] < cut[1]]
        last = end
    return [*result, Piece("", gap=True)] if last < len(text) else result


def _piece(text: str, start: int, end: int, marks: Sequence[Mark]) -> Piece:
    here = [mark for mark in marks if mark.start <= start and end <= mark.end]
    kinds = tuple(dict.fromkeys(mark.kind for mark in here))
    tags = tuple((str(mark.kind), mark.label) for mark in here if mark.end == end and mark.label)
    return Piece(text[start:end], kinds, tags)


def extract(text: str, marks: Iterable[Mark], *, around: int = 120, room: int = 600) -> list[tuple[int, int]]:
    """The parts of a long text that are worth showing; a text that fits in the room is one part.

    Args:
        text: the text.
        marks: the parts show both ends of each mark, as far as there is room for them.
        around: characters that are kept on either side.
        room: characters at most, but for a few by which words stay whole.
    """
    if len(text) <= room:
        return [(0, len(text))] if text else []
    edges = sorted({edge for mark in marks for edge in (mark.start, mark.end) if 0 <= edge <= len(text)})
    if not edges:
        wanted = [(0, room * 2 // 3), (len(text) - room // 3, len(text))]
    else:
        wanted = [(max(0, edge - around), min(len(text), edge + around)) for edge in edges[: max(1, room // around)]]
    whole = [(_whole(text, start, -1), _whole(text, end, 1)) for start, end in wanted]
    return list(_merged(whole))


def _merged(parts: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    start, end = parts[0]
    for next_start, next_end in parts:
        if next_start > end + 1:
            yield start, end
            start = next_start
        end = max(end, next_end)
    yield start, end


def _whole(text: str, cut: int, step: int) -> int:
    """Moves a cut to the next space if one is near, else to where no character is torn from its accents."""
    near = range(cut, cut + 20 * step, step)
    for place in near:
        if place in (0, len(text)) or text[place].isspace():
            return place
    for place in near:
        if text[place] not in _JOINERS and text[place - 1] != "\u200d" and not unicodedata.combining(text[place]):
            return place
    return cut
