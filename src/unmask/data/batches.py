"""Batches of pretraining: which blocks a step takes, masked, in pieces that fit the machine.

A batch is a pure function of its step's number. So work can be shared out to any number of threads, and a run that
was interrupted goes on with the very batches it would have had.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from unmask.data.blocks import Blocks
from unmask.data.masking import Masking, mask_blocks

Arrays = Mapping[str, np.ndarray]
"""What a model reads, and what it shall predict: ids_BL, segments_BL, attend_BL, documents_BL, predict_BP, targets_BP,
counts_BP (1 where a prediction counts), follows_B and asked_B (1 where there is a next sentence to predict)."""

_LENGTH_STEP = 32
"""Rows are padded to a multiple of this, so that compiling backends meet few shapes."""


@dataclass(frozen=True)
class StepBatch:
    """All that one update of the weights learns from, in one or more pieces."""

    pieces: list[Arrays]
    n_tokens: int
    """Without padding."""
    n_predicted: int
    n_pairs: int


@dataclass(frozen=True, kw_only=True)
class Batches:
    """Batches of a corpus, by number.

    A run is one endless row of blocks, epoch after epoch; a step takes the next `size` of them, across the border of
    two epochs too, so that no block is left out.
    """

    blocks: Blocks
    masking: Masking
    size: int
    """Blocks a step."""
    piece_tokens: int
    """Tokens, with padding, that the machine computes at once."""
    seed: int
    fixed_shapes: bool
    """Whether pieces are filled up with empty rows, as compiling backends want."""

    def step(self, number: int) -> StepBatch:
        """The batch of a step, counted from 0."""
        samples = np.arange(number * self.size, (number + 1) * self.size)
        epochs, nth = np.divmod(samples, self.blocks.n_blocks)
        return self.of(epochs, np.concatenate([self.blocks.order(e)[nth[epochs == e]] for e in np.unique(epochs)]))

    def in_order(self, limit: int) -> Iterator[StepBatch]:
        """Every block once, at most `limit` of them, spread over all, always with the same masks: for evaluation."""
        count = min(limit, self.blocks.n_blocks)
        indices = np.arange(count) * self.blocks.n_blocks // count
        for first in range(0, count, self.size):
            chosen = indices[first : first + self.size]
            yield self.of(np.zeros(len(chosen), np.int64), chosen)

    def of(self, epochs: np.ndarray, indices: np.ndarray) -> StepBatch:
        """These blocks, masked, from long to short, so that rows of like length are together."""
        lengths = np.asarray([self.blocks.row_length(e, i) for e, i in zip(epochs, indices, strict=True)])
        padded = np.minimum(-(-lengths // _LENGTH_STEP) * _LENGTH_STEP, self.blocks.length)
        order, first, pieces = np.argsort(-lengths, kind="stable"), 0, []
        while first < len(order):
            length = int(padded[order[first]])
            most, left = max(1, self.piece_tokens // length), len(order) - first
            per_piece = -(-left // -(-left // most))  # equally many each: a last piece of one row would be slow
            chosen = order[first : first + per_piece]
            n_rows = self._rounded(len(chosen), most) if self.fixed_shapes else len(chosen)
            pieces.append(self._piece(epochs[chosen], indices[chosen], length, n_rows))
            first += per_piece
        n_predicted = sum(int(piece["counts_BP"].sum()) for piece in pieces)
        n_pairs = sum(int(piece["asked_B"].sum()) for piece in pieces)
        return StepBatch(pieces, int(lengths.sum()), n_predicted, n_pairs)

    @staticmethod
    def _rounded(n_rows: int, most: int) -> int:
        """A quarter, a half, three quarters or all of the most: few shapes, and few empty rows."""
        quarter = max(1, most // 4)
        return min(most, -(-n_rows // quarter) * quarter)

    def _piece(self, epochs: np.ndarray, indices: np.ndarray, length: int, n_rows: int) -> Arrays:
        parts = [self._of_one_epoch(epoch, indices[epochs == epoch], length) for epoch in np.unique(epochs).tolist()]
        piece = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        missing = n_rows - len(indices)
        if missing:
            fill = {name: np.zeros((missing, *array.shape[1:]), array.dtype) for name, array in piece.items()}
            fill["ids_BL"] += self.blocks.layout.pad_id
            piece = {name: np.concatenate([array, fill[name]]) for name, array in piece.items()}
        return piece

    def _of_one_epoch(self, epoch: int, indices: np.ndarray, length: int) -> dict[str, np.ndarray]:
        batch = self.blocks.batch(epoch, indices, length)
        masked = mask_blocks(
            batch.ids_BL, indices, self.masking, seed=self.seed, epoch=epoch, starts_BL=batch.starts_BL
        )
        most = max(1, int(np.floor(self.masking.share * length + 0.5)))
        wide = ((0, 0), (0, most - masked.predict_BP.shape[1]))
        return {
            "ids_BL": masked.ids_BL,
            "segments_BL": batch.segments_BL,
            "attend_BL": batch.attend_BL,
            "documents_BL": batch.documents_BL,
            "predict_BP": np.pad(masked.predict_BP, wide),
            "targets_BP": np.pad(masked.targets_BP, wide),
            "counts_BP": np.pad(masked.counts_BP, wide).astype(np.float32),
            "follows_B": np.maximum(batch.follows_B, 0).astype(np.int32),
            "asked_B": (batch.follows_B >= 0).astype(np.float32),
        }


def ahead(batches: Batches, steps: Sequence[int] | range, *, workers: int) -> Iterator[StepBatch]:
    """The batches of these steps, in order, made by `workers` threads while the model computes.

    NumPy works without Python's lock, and a batch needs no other one, so threads suffice and nothing is copied.
    """
    if workers < 1:
        yield from map(batches.step, steps)
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="batches")
    waiting: deque[Future[StepBatch]] = deque()
    try:
        for step in steps:
            waiting.append(pool.submit(batches.step, step))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
