"""Picks PyTorch, JAX or TensorFlow before Keras is imported."""

import importlib.metadata
import importlib.util
import os
import sys
from tempfile import TemporaryFile
from typing import Any

from unmask.errors import UserError

BACKENDS = ("torch", "jax", "tensorflow")
"""In the order of preference on a CPU: PyTorch needs no compilation and is fastest there."""

_GREETINGS = (b"All log messages before absl::InitializeLog()", b"oneDNN custom operations are on")
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
    if wanted == "tensorflow":
        import_tensorflow()
    return wanted


def import_tensorflow() -> Any:
    """TensorFlow, without what it says of itself on standard error.

    On a processor with the newest instructions it says so at whatever level of logging, in the place where a user reads
    what went wrong. Whoever sets TF_CPP_MIN_LOG_LEVEL to 0 gets all of it.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if os.environ["TF_CPP_MIN_LOG_LEVEL"] == "0" or "tensorflow" in sys.modules:
        return importlib.import_module("tensorflow")
    sys.stderr.flush()
    usual = os.dup(2)
    with TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            return importlib.import_module("tensorflow")
        finally:
            os.dup2(usual, 2)
            os.close(usual)
            said.seek(0)
            for line in said:
                if not any(greeting in line for greeting in _GREETINGS):
                    os.write(2, line)


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


def compiles_each_shape() -> bool:
    """Whether arrays of a new shape cost a compilation, as they do in JAX and TensorFlow."""
    return current() != "torch"


def leaves_padding_out() -> bool:
    """Whether a batch is computed without its padding: where any shape is welcome, and a mask is looked at for free."""
    return not compiles_each_shape() and devices()[0] == "cpu"


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
