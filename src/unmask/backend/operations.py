"""Operations on tensors that Keras does not offer on all three backends, or not as fast."""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from unmask.backend.choice import current

Tensor = Any
"""A tensor of whichever backend is in use, or a NumPy array."""

_DRAWN_AT_ONCE = 1 << 19
"""Numbers of which a thread draws at once whether dropout keeps them; the bits stay in its cache."""


def rows_of(table: Tensor, ids: Tensor) -> Tensor:
    """The rows of a table; inside `row_gradients` only they are given a gradient, as PyTorch's sparse tensor."""
    from keras import ops

    if current() != "torch":
        return ops.take(table, ids, axis=0)
    import torch

    values, ids = ops.convert_to_tensor(table), ops.convert_to_tensor(ids)
    sparse = _row_gradients.get() and values.is_leaf and ids.numel() < len(values)
    return torch.nn.functional.embedding(ids.long(), values, sparse=sparse)


def at_positions(x_BLX: Tensor, positions_BP: Tensor) -> Tensor:
    """x_BPX: of each row of the batch what stands at its positions."""
    from keras import ops

    batch, length = ops.shape(x_BLX)[:2]
    flat_NX = reshape(x_BLX, (batch * length, *x_BLX.shape[2:]))
    positions = on_host(positions_BP) if current() == "torch" else None
    if positions is not None:  # NumPy adds a few numbers sooner
        return rows_of(flat_NX, adopt(np.arange(batch)[:, None] * length + positions))
    rows_B1 = ops.arange(batch, dtype=positions_BP.dtype)[:, None] * length
    return rows_of(flat_NX, rows_B1 + positions_BP)


_row_gradients: ContextVar[bool] = ContextVar("row_gradients", default=False)


@contextmanager
def row_gradients() -> Iterator[None]:
    """Within it, large tables get gradients of the rows that were looked up: the others' zeros cost time and memory."""
    token = _row_gradients.set(True)
    try:
        yield
    finally:
        _row_gradients.reset(token)


def reshape(x: Tensor, shape: tuple[Any, ...]) -> Tensor:
    """`x` in another shape; on PyTorch without Keras' look at every element of `shape`, which takes longer."""
    from keras import ops

    return x.reshape(shape) if current() == "torch" else ops.reshape(x, shape)


def split(x: Tensor, sizes: list[int], axis: int) -> list[Tensor]:
    """`x` in parts of these sizes. The gradients of slices would be added up one by one; those of parts are joined."""
    from keras import ops

    if len(sizes) == 1:  # which Keras does not know how to split
        return [x]
    if current() == "torch":
        return list(x.split(sizes, axis))
    return list(ops.split(x, np.cumsum(sizes)[:-1].tolist(), axis=axis))


def layer_norm(x: Tensor, gamma: Any, beta: Any, epsilon: float) -> Tensor:
    """LayerNorm over the last axis, computed in float32, given in the precision of `x`.

    On PyTorch without Keras' look at every argument.
    """
    from keras import ops

    if current() != "torch":
        return ops.cast(ops.layer_normalization(x, gamma, beta, -1, epsilon), x.dtype)
    import torch

    return torch.nn.functional.layer_norm(x.float(), x.shape[-1:], gamma.value, beta.value, epsilon).to(x.dtype)


def dropout(x: Tensor, rate: float, seed_generator: Any) -> Tensor:
    """Sets a share of `rate` of the numbers to 0 and scales up the rest; the generator's state decides which."""
    import keras

    if current() != "torch":
        return keras.random.dropout(x, rate, seed=seed_generator)
    import torch

    seed, counter = next_seed(seed_generator)
    if x.device.type == "cpu":
        keep = kept(tuple(x.shape), rate, seed, counter) * (1 / (1 - rate))
        return x * keep.to(x.dtype)
    generator = torch.Generator(device=x.device).manual_seed((seed ^ (counter * 0x9E3779B1)) & 0xFFFFFFFF)
    return x * torch.empty_like(x).bernoulli_(1 - rate, generator=generator).mul_(1 / (1 - rate))


def next_seed(generator: Any) -> tuple[int, int]:
    """On PyTorch: what Keras' `generator.next()` holds, without its bookkeeping, which takes 0.1 ms."""
    import torch

    state = getattr(generator, "state", None)
    if state is None:  # it was drawn before
        seed, counter = generator.next().tolist()
        return seed, counter
    with torch.no_grad():
        value = state.value
        seed, counter = value.tolist()
        value[1] = counter + 1
    return seed, counter


def kept(shape: tuple[int, ...], rate: float, seed: int, counter: int) -> Tensor:
    """1 where dropout keeps a number, else 0: NumPy's bits, sixteen a number; `rate` is exact to 1/65536.

    They come six times as fast as PyTorch's own; and PyTorch multiplies by bytes eight times as fast as by booleans.
    """
    import torch

    keeps, least = np.empty(math.prod(shape), bool), np.uint16(round(rate * 65536))

    def fill(first: int) -> None:
        part = keeps[first : first + _DRAWN_AT_ONCE]
        raw = np.random.SFC64([seed, counter, first // _DRAWN_AT_ONCE]).random_raw(-(-len(part) // 4))
        np.greater_equal(raw.view(np.uint16)[: len(part)], least, out=part)

    firsts = range(0, len(keeps), _DRAWN_AT_ONCE)
    if len(firsts) > 1:  # NumPy draws without Python's lock; which part a thread draws changes nothing
        list(_threads(torch.get_num_threads()).map(fill, firsts))
    else:
        for first in firsts:
            fill(first)
    return torch.from_numpy(keeps.view(np.uint8)).view(shape)


@cache
def _threads(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="dropout")


def cross_entropy(logits_BPV: Tensor, targets_BP: Tensor) -> Tensor:
    """−log softmax(logits)[target] at each position, in float32."""
    from keras import ops

    logits_BPV = ops.cast(logits_BPV, "float32")
    if current() == "torch":
        import torch

        flat_NV, flat_N = logits_BPV.reshape(-1, logits_BPV.shape[-1]), targets_BP.reshape(-1).long()
        return torch.nn.functional.cross_entropy(flat_NV, flat_N, reduction="none").view(targets_BP.shape)
    targets_BP1 = ops.expand_dims(targets_BP, -1)
    hit_BP = ops.squeeze(ops.take_along_axis(logits_BPV, targets_BP1, axis=-1), -1)
    return ops.logsumexp(logits_BPV, axis=-1) - hit_BP


def on_host(x: Tensor) -> np.ndarray | None:
    """The values of `x` if looking at them costs nothing (NumPy, or a concrete tensor on the CPU), else None."""
    if x is None or isinstance(x, np.ndarray):
        return x
    if isinstance(x, list | tuple):
        return np.asarray(x)
    look = {"torch": _torch_on_host, "jax": _jax_on_host, "tensorflow": _tensorflow_on_host}[current()]
    return look(x)


def _torch_on_host(x: Tensor) -> np.ndarray | None:
    import torch

    if not isinstance(x, torch.Tensor) or x.device.type != "cpu" or torch.compiler.is_compiling():
        return None
    return np.asarray(x.detach().numpy())


def _jax_on_host(x: Tensor) -> np.ndarray | None:
    import jax

    if not isinstance(x, jax.Array) or isinstance(x, jax.core.Tracer):
        return None
    return np.asarray(x) if all(device.platform == "cpu" for device in x.devices()) else None


def _tensorflow_on_host(x: Tensor) -> np.ndarray | None:
    return x.numpy() if hasattr(x, "numpy") and "CPU" in x.device else None


def adopt(array: np.ndarray) -> Tensor:
    """`array` as a value for a new variable, without a copy where the backend can do without."""
    if current() == "torch":
        import torch

        return torch.from_numpy(array)
    return array


def read_safetensor(path: Path, name: str) -> np.ndarray:
    """One tensor of a safetensors file in float32, or whichever type is not floating point.

    PyTorch maps the file and reads a page when it is first used; a change of the tensor never reaches the file.
    Elsewhere the tensor is copied, and the file closed at once, since pages of a mapped file count as memory.
    """
    from safetensors import safe_open

    if current() != "torch":
        with safe_open(path, "numpy") as file:
            value = np.asarray(file.get_tensor(name))
        return value if value.dtype.kind in "iub" else value.astype(np.float32, copy=False)
    import torch

    with safe_open(path, "pt") as file:
        tensor = file.get_tensor(name)
    return np.asarray((tensor.to(torch.float32) if tensor.is_floating_point() else tensor).numpy())
