"""Functions of a whole model: compiled for prediction, differentiated, and improved step by step."""

from collections.abc import Callable
from typing import Any

import numpy as np

from unmask.backend.choice import current
from unmask.backend.operations import Tensor


def compiled(model: Any, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`function`, which may call `model`, made fast for repeated prediction; arrays in, tensors out.

    PyTorch runs it without recording gradients; JAX and TensorFlow compile it once for each shape.
    """
    import keras

    if current() == "torch":
        import torch

        @torch.inference_mode()
        def on_tensors(*args: Tensor) -> Tensor:
            return function(*keras.tree.map_structure(keras.ops.convert_to_tensor, args))

        return on_tensors
    if current() == "tensorflow":
        import tensorflow as tf

        return tf.function(function, reduce_retracing=True)
    import jax

    # The weights go in as arguments: as constants of the compiled program they would be held twice.
    @jax.jit
    def run(values: list[Tensor], *args: Tensor) -> Tensor:
        with keras.StatelessScope(state_mapping=list(zip(model.variables, values, strict=True))):
            return function(*args)

    return lambda *args: run([variable.value for variable in model.variables], *args)


def loss_and_gradients(model: Any, loss: Callable[[], Tensor]) -> tuple[float, dict[str, np.ndarray]]:
    """The scalar `loss()` and its gradient for each trainable variable of `model`, by the variable's path."""
    variables = model.trainable_variables
    differentiate = {"torch": _torch_gradients, "jax": _jax_gradients, "tensorflow": _tensorflow_gradients}[current()]
    value, gradients = differentiate(variables, loss)
    return float(value), {
        variable.path: np.zeros(variable.shape, np.float32) if gradient is None else np.asarray(gradient)
        for variable, gradient in zip(variables, gradients, strict=True)
    }


def _torch_gradients(variables: list[Any], loss: Callable[[], Tensor]) -> tuple[Tensor, list[Tensor]]:
    import torch

    value = loss()
    return value.detach(), list(torch.autograd.grad(value, [v.value for v in variables], allow_unused=True))


def _tensorflow_gradients(variables: list[Any], loss: Callable[[], Tensor]) -> tuple[Tensor, list[Tensor]]:
    import tensorflow as tf

    with tf.GradientTape() as tape:
        value = loss()
    gradients = tape.gradient(value, [v.value for v in variables])
    return value, [None if g is None else tf.convert_to_tensor(g) for g in gradients]


def _jax_gradients(variables: list[Any], loss: Callable[[], Tensor]) -> tuple[Tensor, list[Tensor]]:
    import jax
    import keras

    def of_values(values: list[Tensor]) -> Tensor:
        with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
            return loss()

    value, gradients = jax.jit(jax.value_and_grad(of_values))([v.value for v in variables])
    return value, list(gradients)
