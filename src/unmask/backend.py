"""Picks PyTorch, JAX or TensorFlow before Keras is imported, and is the only module that names them.

Everything that Keras does not offer on all three backends lives here: compiling a function of a model,
gradients, a fused linear map, looking at a tensor on the host, and reading the frameworks' own checkpoint files.
"""

import importlib.metadata
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unmask.errors import UserError

Tensor = Any
"""A tensor of whichever backend is in use, or a NumPy array."""

BACKENDS = ("torch", "jax", "tensorflow")
"""In the order of preference on a CPU: PyTorch needs no compilation and is fastest there."""

_ACCELERATED_JAX = ("jax_cuda13_plugin", "jax_cuda12_plugin", "jax_rocm7_plugin", "libtpu")


def installed() -> list[str]:
    """The backends that can be imported, in the order of preference on this machine."""
    found = [name for name in BACKENDS if importlib.util.find_spec(name) is not None]
    if "jax" in found and any(importlib.util.find_spec(plugin) for plugin in _ACCELERATED_JAX):
        found.sort(key=lambda name: name != "jax")
    return found


def choose(name: str | None = None) -> str:
    """Fixes the backend of this process: `name`, else KERAS_BACKEND, else the best one installed.

    Keras reads its backend once, when it is first imported; a later wish for another one is refused.
    """
    if name is not None and name not in BACKENDS:
        raise UserError(f"There is no backend {name!r}; choose one of {', '.join(BACKENDS)}.")
    if "keras" in sys.modules:
        return _already_chosen(name)
    wanted = name or os.environ.get("KERAS_BACKEND") or next(iter(installed()), None)
    if wanted is None:
        raise UserError("No backend is installed; run: pip install 'unmask[torch]' (or [jax], or [tensorflow]).")
    if wanted not in BACKENDS:
        raise UserError(f"KERAS_BACKEND is {wanted!r}; unmask runs on {', '.join(BACKENDS)}.")
    if importlib.util.find_spec(wanted) is None:
        raise UserError(f"The {wanted} backend is not installed; run: pip install 'unmask[{wanted}]'.")
    os.environ["KERAS_BACKEND"] = wanted
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    return wanted


def _already_chosen(name: str | None) -> str:
    running = current()
    if running not in BACKENDS:
        raise UserError(f"Keras runs on {running} in this process; unmask runs on {', '.join(BACKENDS)}.")
    if name is not None and name != running:
        raise UserError(
            f"Keras already runs on {running} in this process, so {name} cannot be had any more; "
            f"set KERAS_BACKEND={name} or load the first model with backend={name!r}."
        )
    return running


def current() -> str:
    """The backend that Keras runs on."""
    import keras

    return str(keras.backend.backend())


def versions() -> dict[str, str | None]:
    """The installed version of every package that matters to a bug report; None where one is missing."""
    packages = ("keras", "torch", "jax", "tensorflow", "tensorflow-cpu", "numpy", "tokenizers", "safetensors")
    return {package: _version(package) for package in (*packages, "huggingface_hub", "transformers")}


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def devices() -> list[str]:
    """The devices that the chosen backend sees, such as `cpu` or `cuda:0 NVIDIA A100`."""
    if current() == "torch":
        import torch

        cuda = [f"cuda:{i} {torch.cuda.get_device_name(i)}" for i in range(torch.cuda.device_count())]
        return [*cuda, "mps"] if torch.backends.mps.is_available() else [*cuda, "cpu"]
    if current() == "jax":
        import jax

        return [f"{device.platform}:{device.id} {device.device_kind}" for device in jax.devices()]
    import tensorflow as tf

    return [device.name for device in tf.config.list_physical_devices()]


def threads() -> int:
    """How many threads the chosen backend computes with."""
    if current() == "torch":
        import torch

        return int(torch.get_num_threads())
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# --- what Keras does not offer on all three -------------------------------------------------------


def linear(x: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
    """`x @ kernel + bias`; on PyTorch in one fused call, which saves a pass over the result."""
    from keras import ops

    if current() == "torch":
        import torch

        # A Keras variable keeps its tensor in `value`; a kernel with LoRA is a tensor already.
        kernel, bias = getattr(kernel, "value", kernel), getattr(bias, "value", bias)
        return torch.nn.functional.linear(x, kernel.T, bias)
    return ops.add(ops.matmul(x, kernel), bias)


def reshape(x: Tensor, shape: tuple[Any, ...]) -> Tensor:
    """`x` in another shape; on PyTorch without Keras' look at every element of `shape`, which takes longer."""
    from keras import ops

    return x.reshape(shape) if current() == "torch" else ops.reshape(x, shape)


def fused_attention(query_BLHK: Tensor, key_BMHK: Tensor, value_BMHK: Tensor, allowed: Tensor | None) -> Tensor:
    """Attention in the backend's own kernel; a row that may attend to nothing gives zeros."""
    from keras import ops

    if current() == "torch":
        import torch

        # Given a boolean mask, PyTorch's kernels give zeros by themselves; through Keras it would become numbers first.
        heads_first = (x.transpose(1, 2) for x in map(ops.convert_to_tensor, (query_BLHK, key_BMHK, value_BMHK)))
        output_BHLK = torch.nn.functional.scaled_dot_product_attention(*heads_first, attn_mask=allowed)
        return output_BHLK.transpose(1, 2)
    output_BLHK = ops.dot_product_attention(query_BLHK, key_BMHK, value_BMHK, mask=allowed)
    if allowed is None:
        return output_BLHK
    something_B1L1 = ops.any(allowed, axis=-1, keepdims=True)
    return ops.where(ops.transpose(something_B1L1, (0, 2, 1, 3)), output_BLHK, 0.0)


def dropout(x: Tensor, rate: float, seed_generator: Any) -> Tensor:
    """Sets a share of `rate` of the numbers to 0 and scales up the rest; the generator's state decides which."""
    import keras

    if current() != "torch":
        return keras.random.dropout(x, rate, seed=seed_generator)
    import torch

    seed, counter = seed_generator.next().tolist()
    if x.device.type == "cpu":
        # NumPy's bits, sixteen a number, come six times as fast as PyTorch's own; `rate` is exact to 1/65536.
        bits = np.random.SFC64([seed, counter]).random_raw(-(-x.numel() // 4)).view(np.uint16)[: x.numel()]
        keep = torch.from_numpy(bits >= round(rate * 65536)).view(x.shape).to(x.dtype)
    else:
        generator = torch.Generator(device=x.device).manual_seed((seed ^ (counter * 0x9E3779B1)) & 0xFFFFFFFF)
        keep = torch.empty_like(x).bernoulli_(1 - rate, generator=generator)
    return x * keep.mul_(1 / (1 - rate))


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


# --- the frameworks' own files, read for the import commands only --------------------------------


def read_torch_file(path: Path) -> dict[str, Any]:
    """A `.pt` or `.bin` file through the unpickler that builds tensors and plain containers only."""
    _need("torch", f"to read {path.name}")
    import argparse
    import warnings

    import torch

    try:
        # fairseq keeps its training options in a Namespace, which is plain data too.
        with torch.serialization.safe_globals([argparse.Namespace]), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            content = torch.load(path, map_location="cpu", weights_only=True, mmap=False)
    except Exception as error:
        if isinstance(error, OSError) and error.filename:  # it could not be opened at all
            raise
        raise UserError(f"{path} {_why_unreadable(str(error))}") from error
    if not isinstance(content, dict):
        raise UserError(f"{path} holds a {type(content).__name__}, where a dictionary of tensors is needed.")
    return dict(content)


def _why_unreadable(message: str) -> str:
    """PyTorch's message says how to run the file all the same, which is the one thing not to repeat."""
    found = re.search(r"GLOBAL (\S+)", message)
    if found is None:
        return "is truncated, damaged or no PyTorch file; copy or download it again."
    return (
        f"asks for the Python object {found[1]}, which unmask will not run; if the file is whole, "
        "save it again, where it is trusted, with tensors and plain options only."
    )


def torch_arrays(tensors: Mapping[str, Any], path: Path) -> dict[str, np.ndarray]:
    """The tensors that `read_torch_file` gave, as arrays over the same memory, so that shared ones stay shared."""
    import ml_dtypes
    import torch

    arrays = {}
    for name, tensor in tensors.items():
        if not isinstance(name, str):
            raise UserError(f"{path} has a tensor named {name!r}, where a text is needed.")
        if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.strided:
            raise UserError(f"{path}: {name!r} is a {type(tensor).__name__}, where a dense tensor is needed.")
        try:
            values = tensor.detach().resolve_conj().resolve_neg()
            if values.dtype is torch.bfloat16:  # NumPy has no such type of its own
                arrays[name] = values.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
            else:
                arrays[name] = values.numpy()
        except (TypeError, RuntimeError, NotImplementedError):  # quantized, float8, or without values
            raise UserError(f"{path}: {name!r} is a tensor of {tensor.dtype}, which unmask does not read.") from None
    return arrays


def read_tensorflow_checkpoint(
    prefix: Path, wanted: Callable[[str], bool] = lambda _: True
) -> Iterator[tuple[str, np.ndarray]]:
    """Every (name, array) of a TensorFlow checkpoint such as `bert_model.ckpt`; what is not `wanted` is not read."""
    _need("tensorflow", f"to read {prefix.name}")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow as tf

    try:
        reader = tf.train.load_checkpoint(str(prefix))
        for name in filter(wanted, sorted(reader.get_variable_to_shape_map())):
            yield name, reader.get_tensor(name)
    except (tf.errors.OpError, ValueError, RuntimeError, LookupError, TypeError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise UserError(
            f"{prefix} cannot be read as a TensorFlow checkpoint ({reason}); it is incomplete or damaged."
        ) from error


def _need(package: str, purpose: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise UserError(f"{package} is needed {purpose}; run: pip install 'unmask[{package}]'.")
