"""The only room that names PyTorch, JAX and TensorFlow: everything that Keras does not offer on all three."""

from unmask.backend.choice import BACKENDS, choose, current, devices, installed, threads, versions
from unmask.backend.foreign_files import read_tensorflow_checkpoint, read_torch_file, torch_arrays
from unmask.backend.learning import compiled, loss_and_gradients
from unmask.backend.operations import (
    Tensor,
    adopt,
    dropout,
    fused_attention,
    linear,
    on_host,
    read_safetensor,
    reshape,
)

__all__ = [
    "BACKENDS",
    "Tensor",
    "adopt",
    "choose",
    "compiled",
    "current",
    "devices",
    "dropout",
    "fused_attention",
    "installed",
    "linear",
    "loss_and_gradients",
    "on_host",
    "read_safetensor",
    "read_tensorflow_checkpoint",
    "read_torch_file",
    "reshape",
    "threads",
    "torch_arrays",
    "versions",
]
