"""Initial weights: where the values of a new model's variables come from.

Values are drawn in NumPy, so that every backend starts from the same ones. BERT and RoBERTa: a normal distribution of
deviation `initializer_range`, cut at two deviations. The Transformer: embeddings of deviation 1/√d_model, since they
are multiplied by √d_model, and Glorot's uniform for the rest. Biases are 0 and LayerNorm's gains 1.
"""

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import keras
import numpy as np

from unmask import backend
from unmask.backend import Tensor
from unmask.config import ModelConfig

Weights = Callable[[Sequence[Any]], Mapping[str, Callable[[], np.ndarray]]]
"""Given the variables of a model, the way to get the value of each, by its path; the rest keep their layer's."""


def seeds_from(seed: int) -> Iterator[int]:
    """An endless row of seeds, one for each dropout; far apart, since some backends add a counter to them."""
    generator = np.random.default_rng(seed)
    while True:
        yield int(generator.integers(2**31))


@contextmanager
def filled_with(weights: Weights, model: keras.Model) -> Iterator[None]:
    """Variables that `model` makes in this block get their values from `weights` when it ends.

    Keras puts off the initialization of variables that are made in a stateless scope, and does it at the end of
    the scope. So a model that is loaded is never held twice in memory, and never drawn at random in vain.
    """
    with keras.StatelessScope():
        yield
        values = weights(model.variables)
        failed: list[BaseException] = []
        for variable in model.variables:
            if variable.path in values:
                by_columns = variable.path.endswith("kernel")
                variable._initializer = _Value(values[variable.path], failed, by_columns=by_columns)
    if failed:
        raise failed[0]
    model._post_build()  # only now have the variables values, which PyTorch then finds in a module around the model


class _Value:
    """An initializer that gives one value.

    Kernels are laid out column by column, wherever they come from. PyTorch keeps that layout: its matrix products and
    gradients then need no transposition, and a loaded model rounds exactly as the one that was saved.
    """

    def __init__(self, value: Callable[[], np.ndarray], failed: list[BaseException], *, by_columns: bool) -> None:
        self.value, self.failed, self.by_columns = value, failed, by_columns

    def __call__(self, shape: tuple[int, ...], dtype: str | None = None) -> Tensor:
        try:
            value = (np.zeros(shape) if self.failed else self.value()).reshape(shape).astype(dtype, copy=False)
        except BaseException as error:  # noqa: BLE001  (raised again by `filled_with`)
            # Keras must come to the end of its list of variables, or the rest of it would spoil the next model.
            self.failed.append(error)
            value = np.zeros(shape, dtype)
        return backend.adopt(np.asfortranarray(value) if self.by_columns else np.ascontiguousarray(value))


def drawn(config: ModelConfig, seed: int) -> Weights:
    """Weights at random; each matrix depends on the seed and on its own path alone."""

    def draw(path: str, shape: tuple[int, ...]) -> np.ndarray:
        generator = np.random.default_rng([seed, zlib.crc32(path.encode())])
        if not config.embedding_scale:
            return truncated_normal(shape, config.initializer_range, generator)
        if path.endswith("embeddings"):
            return truncated_normal(shape, 1 / math.sqrt(config.d_model), generator)
        limit = math.sqrt(6 / sum(shape))
        return generator.uniform(-limit, limit, shape).astype(np.float32)

    def weights(variables: Sequence[Any]) -> Mapping[str, Callable[[], np.ndarray]]:
        matrices = {v.path: tuple(v.shape) for v in variables if v.trainable and len(v.shape) == 2}
        return {path: partial(draw, path, shape) for path, shape in matrices.items()}

    return weights


def truncated_normal(shape: tuple[int, ...], deviation: float, generator: np.random.Generator) -> np.ndarray:
    """Normal values; those beyond two deviations are drawn again."""
    values = generator.standard_normal(shape, np.float32)
    while (outside := np.abs(values) > 2).any():
        values[outside] = generator.standard_normal(int(outside.sum()), np.float32)
    values *= deviation
    return values
