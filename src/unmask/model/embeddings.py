"""Embeddings: tokens, segments and positions.

Sinusoidal positions: Vaswani et al. 2017, section 3.5. Token + segment + position: Devlin et al. 2018 (BERT),
figure 2. Positions that start after the padding index: RoBERTa (Liu et al. 2019), as fairseq made it.
"""

import math
from collections.abc import Iterator

import numpy as np
from keras import ops

from unmask.backend import Tensor, adopt, on_host, rows_of
from unmask.config import ModelConfig
from unmask.model.direct import Dropout, LayerNorm, Part, Table


def sinusoidal_positions(n_positions: int, d_model: int, *, halves: bool) -> np.ndarray:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d)).

    With `halves`, all sines come first and then all cosines, as Marian's models were trained.
    """
    angles = np.arange(n_positions)[:, None] / 10000 ** (np.arange(0, d_model, 2) / d_model)
    table = np.empty((n_positions, d_model), np.float32)
    if halves:
        table[:, : d_model // 2], table[:, d_model // 2 :] = np.sin(angles), np.cos(angles)
    else:
        table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    return table


def position_ids(ids_BL: Tensor, *, after_pad: int | None, documents_BL: Tensor | None) -> Tensor:
    """The row of the position table for each token, counted from 0 in every document.

    Args:
        ids_BL: token ids.
        after_pad: RoBERTa's padding index: positions start behind it, padding keeps it and is not counted.
        documents_BL: which document a token belongs to; without it a row is one document.

    Example: with after_pad=1, ids [[0, 7, 8, 2, 1, 1]] have the positions [[2, 3, 4, 5, 1, 1]].
    """
    of = np if isinstance(ids_BL, np.ndarray) else ops  # NumPy counts some hundred tokens sooner than a backend
    ones_BL = of.ones_like(ids_BL)
    counted_BL = ones_BL if after_pad is None else of.where(of.not_equal(ids_BL, after_pad), ones_BL, 0)
    if documents_BL is None:
        nth_BL = of.cumsum(counted_BL, axis=1)
    else:
        order_L = ops.arange(ops.shape(ids_BL)[1])
        earlier_BLL = ops.logical_and(
            ops.equal(documents_BL[:, :, None], documents_BL[:, None, :]),
            order_L[:, None] >= order_L[None, :],
        )
        nth_BL = ops.sum(ops.where(earlier_BLL, counted_BL[:, None, :], 0), axis=-1)
    return nth_BL - 1 if after_pad is None else nth_BL * counted_BL + after_pad


class Embeddings(Part):
    """Token + segment + position, then LayerNorm (BERT) and dropout."""

    def __init__(self, config: ModelConfig, seeds: Iterator[int], *, name: str = "embeddings") -> None:
        super().__init__(name=name)
        self.config = config
        self.tokens = Table(config.vocab_size, config.d_model, name="tokens")
        self.segments = Table(config.n_segments, config.d_model, name="segments") if config.n_segments else None
        self.positions = Positions(config)
        self.norm = LayerNorm(config.d_model, config.norm_eps, name="norm") if config.embedding_norm else None
        self.dropout = Dropout(config.dropout, next(seeds), name="dropout")

    def build(self) -> None:
        """Makes the variables."""
        for part in (self.tokens, self.segments, self.positions, self.norm):
            if part is not None:
                part.build()

    def positions_of(self, ids_BL: Tensor, documents_BL: Tensor | None = None, *, start: Tensor | int = 0) -> Tensor:
        """The row of the position table for each token; the first stands at `start` (a decoder goes on from there)."""
        after_pad = self.config.pad_id if self.config.positions_after_pad else None
        seen = on_host(ids_BL) if documents_BL is None else None
        if seen is not None:
            return adopt(position_ids(seen, after_pad=after_pad, documents_BL=None)) + start
        return position_ids(ids_BL, after_pad=after_pad, documents_BL=documents_BL) + start

    def call(
        self,
        ids_BL: Tensor,
        segments_BL: Tensor | None = None,
        positions_BL: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        """Embeds tokens at their positions, if not given those that they have in a row of one text."""
        config = self.config
        positions_BL = self.positions_of(ids_BL) if positions_BL is None else positions_BL
        hidden_BLD = self.tokens(ids_BL)
        if config.embedding_scale:
            hidden_BLD = hidden_BLD * math.sqrt(config.d_model)
        if self.segments is not None:
            hidden_BLD = hidden_BLD + (self.segments.first() if segments_BL is None else self.segments(segments_BL))
        hidden_BLD = hidden_BLD + self.positions(positions_BL)
        if self.norm is not None:
            hidden_BLD = self.norm(hidden_BLD)
        return self.dropout(hidden_BLD, training=training)


class Positions(Part):
    """The position table: learned, or the sinusoids, which are computed and not stored."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(name="positions")
        self.config = config
        self.n_rows = config.max_positions + config.first_position
        self.learned = config.positions == "learned"

    def build(self) -> None:
        """Makes the table."""
        shape = (self.n_rows, self.config.d_model)
        if self.learned:
            self.embeddings = self.add_weight(shape=shape, initializer="zeros", name="embeddings")
        else:
            halves = self.config.positions == "sinusoidal_halves"
            self.embeddings = sinusoidal_positions(*shape, halves=halves)

    def call(self, positions_BL: Tensor) -> Tensor:
        """Looks the rows up."""
        return ops.cast(rows_of(self.embeddings, positions_BL), self.compute_dtype)
