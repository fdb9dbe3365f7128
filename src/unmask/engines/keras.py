"""The model itself as an engine, on whichever backend it runs: units in, their numbers out, in the same order."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unmask import backend
from unmask.backend import Tensor
from unmask.tasks.units import Shape, Unit, of_like_length

if TYPE_CHECKING:
    from unmask.model import Bert

_TOKENS_AT_ONCE = 2048
"""Fewer, and the machine is not busy; more, and the numbers leave its cache."""


def shape_of(model: "Bert", pad_id: int) -> Shape:
    """How units become arrays for this model."""
    config = model.config
    several, fixed = model.head_name == "choose", backend.compiles_each_shape()
    return Shape(pad_id, config.max_positions, several=several, fixed=fixed)


class KerasEngine:
    """A model that computes what a task asks.

    Args:
        model: with the task's head.
        pad_id: of its tokenizer.
    """

    def __init__(self, model: "Bert", pad_id: int) -> None:
        self.model, self.shape = model, shape_of(model, pad_id)
        self._logits = backend.compiled(model, self._compute)
        self._embeddings = backend.compiled(model, self._compute_embeddings)

    def _compute(
        self, ids_BL: Tensor, segments_BL: Tensor, attend_BL: Tensor, wanted_BL: Tensor | None = None
    ) -> Tensor:
        from keras import ops  # noqa: PLC0415  (after the backend is chosen)

        segments = segments_BL if self.model.config.n_segments > 1 else None
        logits: Any = self.model.unchecked(ids_BL, segments, attend_BL=attend_BL, wanted_BL=wanted_BL, training=False)
        if self.model.head_name == "read":
            logits = ops.stack(logits, axis=-1)
        return ops.cast(logits, "float32")

    def _compute_embeddings(
        self, ids_BL: Tensor, segments_BL: Tensor, attend_BL: Tensor, wanted_BL: Tensor | None = None
    ) -> Tensor:
        """The first token's hidden state, and the mean of all, side by side."""
        del wanted_BL
        from keras import ops  # noqa: PLC0415

        segments = segments_BL if self.model.config.n_segments > 1 else None
        hidden_BLD, _ = self.model.encoder(ids_BL, segments_BL=segments, attend_BL=attend_BL, training=False)
        hidden_BLD = ops.cast(hidden_BLD, "float32")
        weights_BL1 = ops.expand_dims(ops.cast(attend_BL, "float32"), -1)
        mean_BD = ops.sum(hidden_BLD * weights_BL1, axis=1) / ops.maximum(ops.sum(weights_BL1, axis=1), 1.0)
        return ops.stack([hidden_BLD[:, 0], mean_BD], axis=1)

    def logits(self, units: Sequence[Unit], done: Callable[[int], None] | None = None) -> list[np.ndarray]:
        """For each unit what the head gives, without padding; see `Task.answers`. Unwanted tokens get what they get.

        Args:
            units: in any order; they are computed by length, since padding is waste.
            done: is told how many more were computed.
        """
        found = self._by_length(self._logits, units, self.shape, done)
        if self.model.head_name in ("tag", "read"):
            return [rows[: unit.length] for rows, unit in zip(found, units, strict=True)]
        if self.model.head_name == "choose":
            return [scores[: len(unit.sequences)] for scores, unit in zip(found, units, strict=True)]
        return found

    def embeddings(self, units: Sequence[Unit], *, pooling: str) -> list[np.ndarray]:
        """A vector for each unit: the hidden state of its first token, or the mean of all its tokens'."""
        which = ("first", "mean").index(pooling)
        shape = replace(self.shape, several=False)  # a text is no list of choices, whatever the head takes
        return [both[which] for both in self._by_length(self._embeddings, units, shape)]

    def _by_length(
        self,
        compute: Callable[..., Tensor],
        units: Sequence[Unit],
        shape: Shape,
        done: Callable[[int], None] | None = None,
    ) -> list[np.ndarray]:
        from keras import ops  # noqa: PLC0415

        found: list[Any] = [None] * len(units)
        for chosen in of_like_length(units, _TOKENS_AT_ONCE):
            arrays = shape.arrays([units[i] for i in chosen])
            inputs = [arrays[name] for name in ("ids_BL", "segments_BL", "attend_BL", "wanted_BL") if name in arrays]
            numbers = ops.convert_to_numpy(compute(*inputs))
            for row, i in enumerate(chosen):
                found[i] = numbers[row]
            if done is not None:
                done(len(chosen))
        return found
