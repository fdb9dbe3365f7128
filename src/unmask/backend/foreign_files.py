"""The frameworks' own checkpoint files, read for the import commands only."""

import importlib.util
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unmask.backend.choice import import_tensorflow
from unmask.errors import UserError


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
    tf = import_tensorflow()
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
