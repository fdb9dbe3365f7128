"""Pairs for next-sentence prediction: BERT (Devlin et al. 2018), section 3.1; RoBERTa (Liu et al. 2019), section 4.2.

BERT draws the second text of a torn pair from anywhere, so that it is read twice, and cuts off what is too long.
Here torn pairs exchange their second texts among each other: every token is read once an epoch, none is lost, and
exactly half of the pairs are torn (as nearly as the corpus allows). Who exchanges with whom changes every epoch, with
static masking in as many turns as there are masks.
"""

import itertools
from dataclasses import dataclass, replace

import numpy as np

from unmask.data.bounds import Bounds, shortened
from unmask.data.masking import block_keys

_PARTS = 8
"""The first text of a segment pair takes 1/8 to 7/8 of the block."""


class FOLLOWS:
    """Does the second text follow the first?"""

    yes, no, nobody_asks = 1, 0, -1


@dataclass(frozen=True)
class Pairs:
    """Pairs of texts, as token ranges of a shard."""

    first_starts: np.ndarray
    first_stops: np.ndarray
    second_starts: np.ndarray
    second_stops: np.ndarray
    documents: np.ndarray
    """The number of each pair's document."""
    kinds: np.ndarray
    """Pairs of one kind can exchange their second texts, and both still fit; 0 never exchanges."""
    follows: np.ndarray

    def __len__(self) -> int:
        return len(self.first_starts)


def cut_pairs(bounds: Bounds, form: str, room: int, *, seed: int) -> Pairs:
    """Cuts a shard into pairs, each from one document.

    Args:
        bounds: where sentences and documents begin.
        form: `sentence-pair` takes two sentences, `segment-pair` as many as fit.
        room: the tokens of a pair, without special ones.
        seed: decides how much of a segment pair the first text takes.
    """
    cut = _sentence_pairs if form == "sentence-pair" else _segment_pairs
    pairs, singles = cut(bounds, room, seed)
    pairs += _from_singles(singles, len(pairs), room)
    columns = np.asarray(pairs, np.int64).reshape(-1, 7).T
    return Pairs(*columns)


_Row = tuple[int, int, int, int, int, int, int]
"""First text, second text (start and stop each), document, kind, follows."""
_Single = tuple[int, int, int]
"""A text that is left over at the end of a document: start, stop, document."""


def _sentence_pairs(bounds: Bounds, room: int, seed: int) -> tuple[list[_Row], list[_Single]]:
    del seed  # a sentence is a sentence
    pairs: list[_Row] = []
    singles: list[_Single] = []
    for document, sentences in enumerate(_sentences_by_document(bounds)):
        cuts = shortened(sentences, room // 2).tolist()
        for at in range(0, len(cuts) - 2, 2):
            pairs.append((cuts[at], cuts[at + 1], cuts[at + 1], cuts[at + 2], document, 1, FOLLOWS.yes))
        if len(cuts) % 2 == 0:
            singles.append((cuts[-2], cuts[-1], document))
    return pairs, singles


def _segment_pairs(bounds: Bounds, room: int, seed: int) -> tuple[list[_Row], list[_Single]]:
    pairs: list[_Row] = []
    singles: list[_Single] = []
    for document, sentences in enumerate(_sentences_by_document(bounds)):
        at, end = sentences[0], sentences[-1]
        while at < end:
            kind = 1 + int(block_keys(seed, 0, np.asarray([at]))[0] % np.uint64(_PARTS - 1))
            part = room * kind // _PARTS
            middle = _last_bound(sentences, at, at + part)
            stop = _last_bound(sentences, middle, middle + room - part)
            if middle < end:
                pairs.append((int(at), int(middle), int(middle), int(stop), document, kind, FOLLOWS.yes))
            else:
                _leave_over(sentences, int(at), int(end), document, room, pairs, singles)
            at = stop
    return pairs, singles


def _leave_over(
    sentences: np.ndarray, at: int, end: int, document: int, room: int, pairs: list[_Row], singles: list[_Single]
) -> None:
    """The end of a document that fits into one text: parted between two sentences if it has two."""
    inside = sentences[(sentences > at) & (sentences < end)]
    if not len(inside):
        singles.append((at, end, document))
        return
    middle = int(inside[np.argmin(np.abs(inside - (at + end) / 2))])
    kind = -(-(middle - at) * _PARTS // room)
    fits = kind < _PARTS and end - middle <= room - room * kind // _PARTS and middle - at <= room * kind // _PARTS
    pairs.append((at, middle, middle, end, document, kind if fits else 0, FOLLOWS.yes))


def _from_singles(singles: list[_Single], n_pairs: int, room: int) -> list[_Row]:
    """Texts without a second one meet each other, as torn pairs; some are halved where too many would be torn."""
    order = sorted(singles, key=lambda single: (single[1] - single[0], single[0]))
    n_halved = max(0, -(-(len(order) - 2 * n_pairs) // 3))
    pairs = [_halved(single) for single in order[len(order) - n_halved :]]
    order = order[: len(order) - n_halved]
    low, high = 0, len(order) - 1
    while low < high:
        (start, stop, document), (other_start, other_stop, _) = order[low], order[high]
        if stop - start + other_stop - other_start > room:  # even the shortest does not fit beside it
            pairs.append(_halved(order[high]))
        else:
            pairs.append((start, stop, other_start, other_stop, document, 0, FOLLOWS.no))
            low += 1
        high -= 1
    return [*pairs, _halved(order[low])] if low == high else pairs


def _halved(single: _Single) -> _Row:
    start, stop, document = single
    middle = (start + stop + 1) // 2
    return start, middle, middle, stop, document, 0, FOLLOWS.yes if middle < stop else FOLLOWS.nobody_asks


def exchanged(pairs: Pairs, *, seed: int, epoch: int) -> Pairs:
    """The pairs of an epoch: so many are torn that half of all are, and these exchange their second texts."""
    n_asked = int((pairs.follows != FOLLOWS.nobody_asks).sum())
    n_torn = max(0, n_asked // 2 - int((pairs.follows == FOLLOWS.no).sum()))
    keys = block_keys(seed ^ 0x7045, epoch, np.arange(len(pairs)))
    able = np.flatnonzero(pairs.kinds > 0)
    torn = able[np.argsort(keys[able], kind="stable")][:n_torn]
    second_starts, second_stops = pairs.second_starts.copy(), pairs.second_stops.copy()
    follows = pairs.follows.copy()
    for kind in np.unique(pairs.kinds[torn]):
        group = torn[pairs.kinds[torn] == kind]
        if len(group) < 2:
            continue
        # Sorted by document and moved on by the size of the largest one, no second text comes from its own document.
        # Documents stand in an order of their own each epoch, so the partners change.
        document = pairs.documents[group]
        group = group[np.lexsort((keys[group], block_keys(seed ^ 0xD0C5, epoch, document)))]
        largest = int(np.unique(document, return_counts=True)[1].max())
        partner = np.roll(group, largest % len(group) or 1)
        second_starts[group], second_stops[group] = pairs.second_starts[partner], pairs.second_stops[partner]
        follows[group] = FOLLOWS.no
    return replace(pairs, second_starts=second_starts, second_stops=second_stops, follows=follows.astype(np.int8))


def _sentences_by_document(bounds: Bounds) -> list[np.ndarray]:
    """For each document the bounds of its sentences, its end included."""
    at = np.searchsorted(bounds.sentences, bounds.documents)
    return [bounds.sentences[first : last + 1] for first, last in itertools.pairwise(at)]


def _last_bound(sentences: np.ndarray, at: int, limit: int) -> int:
    """The last end of a sentence up to `limit`; within a sentence, if the first one is longer than that."""
    bound = int(sentences[np.searchsorted(sentences, limit, side="right") - 1])
    return bound if bound > at else int(min(limit, sentences[-1]))
