"""The only room that names PyTorch, JAX and TensorFlow: everything that Keras does not offer on all three."""

from unmask.backend.attention import Block, fused_attention, fused_attention_of_blocks, fuses_dropout
from unmask.backend.choice import (
    BACKENDS,
    choose,
    compiles_each_shape,
    current,
    devices,
    installed,
    leaves_padding_out,
    threads,
    versions,
)
from unmask.backend.few import fused_few_ask
from unmask.backend.foreign_files import read_tensorflow_checkpoint, read_torch_file, torch_arrays
from unmask.backend.learning import Learner, compiled, learner, loss_and_gradients, make_deterministic
from unmask.backend.operations import (
    Tensor,
    adopt,
    at_positions,
    cross_entropy,
    dropout,
    layer_norm,
    on_host,
    read_safetensor,
    reshape,
    row_gradients,
    rows_of,
    split,
)
from unmask.backend.products import activate, linear, linear_side_by_side
from unmask.backend.slots import into_slots, out_of_slots

__all__ = [
    "BACKENDS",
    "Block",
    "Learner",
    "Tensor",
    "activate",
    "adopt",
    "at_positions",
    "choose",
    "compiled",
    "compiles_each_shape",
    "cross_entropy",
    "current",
    "devices",
    "dropout",
    "fused_attention",
    "fused_attention_of_blocks",
    "fused_few_ask",
    "fuses_dropout",
    "installed",
    "into_slots",
    "layer_norm",
    "learner",
    "leaves_padding_out",
    "linear",
    "linear_side_by_side",
    "loss_and_gradients",
    "make_deterministic",
    "on_host",
    "out_of_slots",
    "read_safetensor",
    "read_tensorflow_checkpoint",
    "read_torch_file",
    "reshape",
    "row_gradients",
    "rows_of",
    "split",
    "threads",
    "torch_arrays",
    "versions",
]
