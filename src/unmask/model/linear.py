"""The linear map y = xW + b, from which everything else is made."""

import keras

from unmask import backend
from unmask.backend import Tensor


class Linear(keras.layers.Dense):
    """Keras' Dense, with its LoRA and quantization, in one fused call where the backend has it."""

    def __init__(self, d_in: int, d_out: int, *, name: str) -> None:
        super().__init__(d_out, name=name, kernel_initializer="zeros")  # see initialize.py
        self.d_in = d_in

    def build(self) -> None:
        """Makes the variables; their shapes are known from the start."""
        super().build((None, self.d_in))

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:  # noqa: ARG002  (Keras' signature)
        """Applies it to the last axis."""
        return backend.linear(x, self.kernel, self.bias)
