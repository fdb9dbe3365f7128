"""Layers that are called directly: the parts from which everything else is made.

Keras' own `__call__` converts arguments, infers masks, opens scopes and keeps records, which takes 0.2 ms each time:
with sixteen parts a layer, more than the arithmetic of a short text. A whole model needs that once, not its parts.
What Keras gives a part remains: variables and their paths, LoRA, mixed precision inside a model's call, save_weights.
"""

import math
import zlib
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops
from keras.src.backend import AutocastScope

from unmask import backend
from unmask.backend import Tensor


class Direct:
    """For a Keras layer inside a model: calling it is calling its `call`, and nothing else."""

    call: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Computes; tensors of the backend in, tensors out."""
        return self.call(*args, **kwargs)


class Part(Direct, keras.layers.Layer):
    """The base of our own layers."""


class Linear(Direct, keras.layers.Dense):
    """y = xW + b: Keras' Dense, in one fused call where the backend has it."""

    def __init__(self, d_in: int, d_out: int, *, name: str) -> None:
        super().__init__(d_out, name=name, kernel_initializer="zeros")  # see initialize.py
        self.d_in = d_in

    def build(self) -> None:
        """Makes the variables; their shapes are known from the start."""
        super().build((None, self.d_in))

    def adapt(self, rank: int, seed: int) -> None:
        """LoRA (Hu et al. 2021): from now on two thin matrices are trained, and the kernel is not.

        The first is drawn in NumPy, so that seed and path alone decide, as they do of all initial weights.
        """

        def he_uniform(shape: tuple[int, ...], dtype: str | None = None) -> Tensor:
            generator = np.random.default_rng([seed, zlib.crc32(self.path.encode())])
            limit = math.sqrt(6 / self.d_in)
            return ops.convert_to_tensor(generator.uniform(-limit, limit, shape), dtype)

        self.enable_lora(rank, a_initializer=he_uniform)

    def call(self, x: Tensor, activation: str | None = None) -> Tensor:
        """Applies it to the last axis, and a non-linearity to what comes out."""
        return backend.linear(x, self.kernel, self.bias, activation)


class LayerNorm(Direct, keras.layers.LayerNormalization):
    """Layer normalization (Ba et al. 2016) over the last axis."""

    def __init__(self, width: int, eps: float, *, name: str) -> None:
        super().__init__(epsilon=eps, name=name)
        self.width = width

    def build(self) -> None:
        """Makes the variables."""
        super().build((None, self.width))

    def call(self, x: Tensor) -> Tensor:
        """Normalizes, in float32 whatever the precision."""
        return backend.layer_norm(x, self.gamma, self.beta, self.epsilon)


class Dropout(Direct, keras.layers.Dropout):
    """Dropout with a seed of its own, whose state is among the model's variables."""

    def __init__(self, rate: float, seed: int, *, name: str) -> None:
        super().__init__(rate, seed=seed, name=name)

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        """Drops out while training."""
        return backend.dropout(x, self.rate, self.seed_generator) if training and self.rate > 0 else x


class DrawnSeed(keras.random.SeedGenerator):
    """A seed that was drawn before: gives itself, as often as it is asked."""

    def __init__(self, seed: Tensor) -> None:
        self.seed = seed

    def next(self, ordered: bool = True) -> Tensor:
        """The seed."""
        del ordered
        return self.seed


def recomputed(layer: Part, dropouts: list[Dropout]) -> Callable[..., Any]:
    """`layer`, whose activations are not kept for the backward pass but computed again there.

    Its seeds are drawn outside, so that the second computation drops out what the first one did.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        drawing = [dropout for dropout in dropouts if dropout.rate > 0]

        def with_seeds(seeds: list[Tensor], *tensors: Tensor) -> Any:
            generators = [dropout.seed_generator for dropout in drawing]
            try:
                for dropout, seed in zip(drawing, seeds, strict=True):
                    object.__setattr__(dropout, "seed_generator", DrawnSeed(seed))
                with AutocastScope(layer.compute_dtype):  # the model's own is closed in the backward pass
                    return layer(*tensors, **kwargs)[0]  # attention weights are not asked for while training
            finally:
                for dropout, generator in zip(drawing, generators, strict=True):
                    object.__setattr__(dropout, "seed_generator", generator)

        return keras.remat(with_seeds)([dropout.seed_generator.next() for dropout in drawing], *args), None

    return call


class Table(Direct, keras.layers.Embedding):
    """One learned vector for each of a number of ids."""

    def __init__(self, n_rows: int, width: int, *, name: str) -> None:
        super().__init__(n_rows, width, embeddings_initializer="zeros", name=name)  # see initialize.py

    def build(self) -> None:
        """Makes the table."""
        super().build((None,))

    def call(self, ids: Tensor) -> Tensor:
        """Looks them up."""
        return ops.cast(backend.rows_of(self.embeddings, ids), self.compute_dtype)

    def first(self) -> Tensor:
        """The row of id 0."""
        return ops.cast(ops.convert_to_tensor(self.embeddings)[0], self.compute_dtype)
