"""Blocks: what one row of a pretraining batch holds. RoBERTa (Liu et al. 2019), section 4.2.

A block is a list of pieces of the corpus. Every format uses every token exactly once an epoch: nothing is cut off,
nothing is drawn twice. A sentence longer than a block goes on in the next one. Blocks do not cross shards.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Self

import numpy as np

from unmask.data.bounds import Bounds, bounds_of, shortened
from unmask.data.masking import block_keys
from unmask.data.pairs import FOLLOWS, cut_pairs, exchanged
from unmask.data.shards import WORD, OpenShard
from unmask.errors import UserError
from unmask.text import Tokenizer

FORMATS = ("full-sentences", "doc-sentences", "segment-pair", "sentence-pair", "packed-documents")
PAIRS = ("segment-pair", "sentence-pair")


@dataclass(frozen=True)
class Layout:
    """The special tokens around pieces, as the tokenizer puts them around a text and a pair of texts."""

    first: tuple[int, ...]
    """Before a text: <s> or [CLS]."""
    between: tuple[int, ...]
    """Between the two texts of a pair: </s></s> or [SEP]."""
    last: tuple[int, ...]
    """After a text: </s> or [SEP]; one of them also parts the documents of a block."""
    pad_id: int

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self:
        """Looks at what the tokenizer puts around nothing."""
        single, pair = tokenizer.encode("").ids, tokenizer.encode("", "").ids
        if len(single) != 2 or len(pair) < 3 or pair[0] != single[0] or pair[-1] != single[1]:
            raise UserError("This tokenizer puts no special tokens around a text, as BERT and RoBERTa do.")
        return cls(tuple(single[:1]), tuple(pair[1:-1]), tuple(single[1:]), tokenizer.pad_id)

    @property
    def around_one(self) -> int:
        """How many special tokens stand around one text."""
        return len(self.first) + len(self.last)

    @property
    def around_two(self) -> int:
        """How many special tokens stand around a pair."""
        return len(self.first) + len(self.between) + len(self.last)


@dataclass(frozen=True)
class Table:
    """Blocks as pieces: block b has the pieces `begins[b] : begins[b + 1]`."""

    begins: np.ndarray
    shards: np.ndarray
    """For each piece, the number of its shard …"""
    starts: np.ndarray
    """… its first token there …"""
    stops: np.ndarray
    """… and the one behind its last."""
    follows: np.ndarray
    """For each block, whether its second piece follows the first: 1, 0, or -1 where nobody asks."""

    def __len__(self) -> int:
        return len(self.begins) - 1

    @property
    def lengths(self) -> np.ndarray:
        """The tokens of each block, without special ones."""
        total = np.concatenate([[0], np.cumsum(self.stops - self.starts)])
        return np.diff(total[self.begins])

    @property
    def pieces(self) -> np.ndarray:
        """The number of pieces of each block."""
        return np.diff(self.begins)


@dataclass(frozen=True)
class BlockBatch:
    """Some blocks as arrays, padded to one length."""

    ids_BL: np.ndarray
    segments_BL: np.ndarray
    attend_BL: np.ndarray
    documents_BL: np.ndarray
    """For packed documents, a number for each; elsewhere 0."""
    starts_BL: np.ndarray
    """True where a word begins."""
    follows_B: np.ndarray


class Blocks:
    """All blocks of a split of a corpus.

    Args:
        shards: of the corpus.
        layout: the special tokens.
        form: one of FORMATS.
        length: of a block, in tokens, special ones counted.
        seed: decides where pairs are cut and which of them are torn apart.
        turns: after so many epochs pairs are torn as before, so that static masks meet the same texts; None: never.
    """

    def __init__(
        self,
        shards: Sequence[OpenShard],
        layout: Layout,
        *,
        form: str,
        length: int,
        seed: int,
        turns: int | None = None,
    ) -> None:
        if form not in FORMATS:
            raise UserError(f"There is no input format {form!r}; choose one of {', '.join(FORMATS)}.")
        if length < layout.around_two + 8:
            raise UserError(f"Blocks of {length} tokens are too short; {layout.around_two + 8} is the least.")
        self.shards, self.layout, self.form, self.length, self.seed = shards, layout, form, length, seed
        self.turns, self.packed = turns, form == "packed-documents"
        if form in PAIRS:
            room = length - layout.around_two
            cut = [cut_pairs(bounds_of(shard), form, room, seed=seed + number) for number, shard in enumerate(shards)]
            self._pairs, self.n_blocks = cut, sum(map(len, cut))
        else:
            tables = [_CUT[form](bounds_of(shard), length, layout) for shard in shards]
            self._table = _joined(tables)
            self.n_blocks = len(self._table)
        if not self.n_blocks:
            raise UserError("This part of the corpus is empty; there is nothing to make blocks of.")
        # The last two epochs are kept: a batch may lie across their border.
        self.table = lru_cache(maxsize=2)(self._make_table)
        self.order = lru_cache(maxsize=2)(self._make_order)

    def _make_table(self, epoch: int) -> Table:
        """The blocks of an epoch; only pairs differ from one epoch to the next."""
        if self.form not in PAIRS:
            return self._table
        tables, turn = [], epoch if self.turns is None else epoch % self.turns
        for number, pairs in enumerate(self._pairs):
            pair = exchanged(pairs, seed=self.seed + number, epoch=turn)
            n_pieces = np.where(pair.second_stops > pair.second_starts, 2, 1)
            begins = np.concatenate([[0], np.cumsum(n_pieces)])
            starts, stops = np.empty(begins[-1], np.int64), np.empty(begins[-1], np.int64)
            starts[begins[:-1]], stops[begins[:-1]] = pair.first_starts, pair.first_stops
            two = n_pieces == 2
            starts[begins[:-1][two] + 1], stops[begins[:-1][two] + 1] = pair.second_starts[two], pair.second_stops[two]
            tables.append(Table(begins, np.zeros(len(starts), np.int32), starts, stops, pair.follows))
        return _joined(tables)

    def _make_order(self, epoch: int) -> np.ndarray:
        """The order in which an epoch takes the blocks."""
        keys = block_keys(self.seed ^ 0x0DE5, epoch, np.arange(self.n_blocks))
        return np.argsort(keys, kind="stable")

    def row_length(self, epoch: int, index: int) -> int:
        """The tokens of a block, special ones counted."""
        table = self.table(epoch)
        first, last = table.begins[index], table.begins[index + 1]
        return int((table.stops[first:last] - table.starts[first:last]).sum()) + self._n_special(int(last - first))

    @property
    def mean_length(self) -> float:
        """The mean length of a block, special tokens counted."""
        table = self.table(0)
        special = np.vectorize(self._n_special)(np.arange(table.pieces.max() + 1))
        return float((table.lengths + special[table.pieces]).mean())

    def _n_special(self, n_pieces: int) -> int:
        if self.packed:
            return n_pieces * self.layout.around_one
        if self.form in PAIRS:
            return self.layout.around_two if n_pieces == 2 else self.layout.around_one
        return self.layout.around_one + n_pieces - 1

    def batch(self, epoch: int, indices: Sequence[int] | np.ndarray, length: int) -> BlockBatch:
        """The blocks of these numbers, padded to `length`."""
        shape = (len(indices), length)
        ids_BL, begins_BL = np.full(shape, self.layout.pad_id, np.int32), np.zeros(shape, np.uint8)
        segments_BL, documents_BL = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        attend_BL, table = np.zeros(shape, bool), self.table(epoch)
        for row, index in enumerate(indices):
            position = 0
            for nth, piece in enumerate(range(table.begins[index], table.begins[index + 1])):
                shard, tokens = self.shards[table.shards[piece]], slice(table.starts[piece], table.stops[piece])
                before = self._before(nth)
                ids_BL[row, position : position + len(before)] = before
                start = position + len(before)
                stop = start + tokens.stop - tokens.start
                ids_BL[row, start:stop], begins_BL[row, start:stop] = shard.ids[tokens], shard.begins[tokens]
                behind = self.layout.last if self.packed else ()
                ids_BL[row, stop : stop + len(behind)] = behind
                if self.packed:
                    documents_BL[row, position : stop + len(behind)] = nth + 1
                elif self.form in PAIRS and nth == 1:
                    segments_BL[row, start : stop + len(self.layout.last)] = 1
                position = stop + len(behind)
            end = () if self.packed else self.layout.last
            ids_BL[row, position : position + len(end)] = end
            attend_BL[row, : position + len(end)] = True
        starts_BL = (begins_BL & WORD).astype(bool)
        return BlockBatch(ids_BL, segments_BL, attend_BL, documents_BL, starts_BL, table.follows[np.asarray(indices)])

    def _before(self, nth: int) -> tuple[int, ...]:
        """The special tokens before the nth piece of a block."""
        if nth == 0 or self.packed:
            return self.layout.first
        return self.layout.between if self.form in PAIRS else self.layout.last[-1:]


def _full_sentences(bounds: Bounds, length: int, layout: Layout) -> Table:
    """Sentences one after another, across documents, with a separator between two documents."""
    room = length - layout.around_one
    sentences = shortened(bounds.sentences, room)
    separators = np.searchsorted(bounds.documents, sentences, side="right")  # documents begun so far
    stops, seen = sentences[1:], separators[:-1]
    cost = stops + seen  # of all up to each sentence, with one separator a document
    firsts = _greedy(len(stops), lambda at: int(np.searchsorted(cost, sentences[at] + seen[at] + room, side="right")))
    blocks = sentences[np.asarray(firsts, np.int64)]
    starts = np.union1d(blocks, bounds.documents[:-1])
    begins = np.append(np.searchsorted(starts, blocks), len(starts))
    return _table(begins, starts, np.append(starts[1:], sentences[-1:])[: len(starts)])


def _doc_sentences(bounds: Bounds, length: int, layout: Layout) -> Table:
    """Sentences one after another, never across documents."""
    room = length - layout.around_one
    sentences = shortened(bounds.sentences, room)
    stops = sentences[1:]
    end = bounds.documents[np.searchsorted(bounds.documents, sentences[:-1], side="right")] if len(stops) else stops
    firsts = _greedy(
        len(stops), lambda at: int(np.searchsorted(stops, min(sentences[at] + room, end[at]), side="right"))
    )
    starts = sentences[np.asarray(firsts, np.int64)]
    return _table(np.arange(len(starts) + 1), starts, np.append(starts[1:], sentences[-1:])[: len(starts)])


def _packed_documents(bounds: Bounds, length: int, layout: Layout) -> Table:
    """Whole documents (or their parts, if they are longer than a block), packed by best fit, the longest first."""
    parts = _doc_sentences(bounds, length, layout)
    sizes = parts.lengths + layout.around_one
    rows = best_fit(sizes, length)
    order = np.argsort(rows, kind="stable")
    begins = np.append(np.searchsorted(rows[order], np.arange(rows.max(initial=-1) + 1)), len(order))
    return _table(begins, parts.starts[order], parts.stops[order])


def best_fit(sizes: np.ndarray, room: int) -> np.ndarray:
    """For each item the number of its bin: items from large to small, each into the fullest bin that still holds it.

    Bins are kept by the space they have left, and a number's bits tell which spaces there are, so that an item costs
    the same whatever the number of bins.
    """
    rows = np.zeros(len(sizes), np.int64)
    with_space: list[list[int]] = [[] for _ in range(room + 1)]
    spaces, n_bins = 0, 0
    for item in np.argsort(-sizes, kind="stable").tolist():
        size = int(sizes[item])
        fitting = spaces >> size
        if fitting:
            space = size + (fitting & -fitting).bit_length() - 1
            row = with_space[space].pop()
            spaces &= ~(1 << space) if not with_space[space] else -1
        else:
            space, row, n_bins = room, n_bins, n_bins + 1
        rows[item] = row
        with_space[space - size].append(row)
        spaces |= 1 << (space - size)
    return rows


_CUT: dict[str, Callable[[Bounds, int, Layout], Table]] = {
    "full-sentences": _full_sentences,
    "doc-sentences": _doc_sentences,
    "packed-documents": _packed_documents,
}


def _greedy(count: int, next_first: Callable[[int], int]) -> list[int]:
    """The first sentence of each block, given where the next block begins."""
    firsts, at = [], 0
    while at < count:
        firsts.append(at)
        at = max(next_first(at), at + 1)
    return firsts


def _table(begins: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> Table:
    shards, follows = np.zeros(len(starts), np.int32), np.full(len(begins) - 1, FOLLOWS.nobody_asks, np.int8)
    return Table(begins.astype(np.int64), shards, starts, stops, follows)


def _joined(tables: Sequence[Table]) -> Table:
    """The tables of all shards as one."""
    if not tables:
        empty = np.zeros(0, np.int64)
        return _table(np.zeros(1, np.int64), empty, empty)
    columns = {field.name: [getattr(table, field.name) for table in tables] for field in fields(Table)}
    columns["shards"] = [np.full(len(table.starts), number, np.int32) for number, table in enumerate(tables)]
    before = np.cumsum([0, *(len(table.starts) for table in tables)])
    columns["begins"] = [np.zeros(1, np.int64), *(t.begins[1:] + n for t, n in zip(tables, before, strict=False))]
    return Table(**{name: np.concatenate(parts) for name, parts in columns.items()})
