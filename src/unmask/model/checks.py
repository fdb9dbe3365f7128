"""What a model checks first: a table indexed out of range is an error on one backend and silence on another."""

from typing import Any

import numpy as np

from unmask.backend import Tensor, on_host
from unmask.config import ModelConfig
from unmask.errors import UserError

Shape = tuple[int | None, ...]


def as_array(x: Any, what: str) -> Any:
    """Lists become arrays, and NumPy's integers become 32 bits wide, which every backend indexes with."""
    if isinstance(x, list | tuple):
        try:
            x = np.asarray(x)
        except ValueError:
            raise UserError(f"{what} come as rows of different lengths; pad them to one length first.") from None
    if x is not None and not hasattr(x, "shape"):
        raise UserError(f"{what} must be an array of shape (batch, length), but a {type(x).__name__} came.")
    if isinstance(x, np.ndarray) and x.dtype.kind in "iu" and x.dtype != np.int32:
        fits = x.size == 0 or (int(x.min()) >= -(2**31) and int(x.max()) < 2**31)
        return x.astype(np.int32) if fits else x  # what does not fit is out of range, and said to be
    return x


def check_tokens(
    config: ModelConfig,
    ids: Tensor,
    *,
    choices: bool = False,
    segments: Tensor | None = None,
    attend: Tensor | None = None,
    documents: Tensor | None = None,
    wanted: Tensor | None = None,
    predict: Tensor | None = None,
) -> None:
    """Raises a UserError for shapes that do not fit, and for ids and lengths that the model has no rows for."""
    shape: Shape = tuple(ids.shape)
    if len(shape) != (3 if choices else 2):
        right = "(batch, choices, length)" if choices else "(batch, length)"
        raise UserError(f"Token ids must have the shape {right}, but came with {shape}.")
    masks = {"segments": segments, "attend": attend, "documents": documents, "wanted": wanted}
    for what, other in masks.items():
        if other is not None and not _same(tuple(other.shape), shape):
            raise UserError(f"{what} must have the shape of the token ids, {shape}, but has {tuple(other.shape)}.")
    _check_length(config, shape[-1], documents)
    _check_range("Token id", ids, config.vocab_size, "was the text encoded with another model's tokenizer?")
    if config.n_segments:
        _check_range("Segment", segments, config.n_segments, f"this model knows {config.n_segments}.")
    if predict is not None:
        if len(predict.shape) != 2 or not _same((predict.shape[0],), shape[:1]):
            raise UserError(f"predict must have the shape (batch, positions), but has {tuple(predict.shape)}.")
        _check_range("Position to predict", predict, shape[-1], "it must lie within the text.")


def _same(one: Shape, other: Shape) -> bool:
    """Equal, as far as they are known: TensorFlow leaves a side open while it compiles."""
    return len(one) == len(other) and all(a == b or a is None or b is None for a, b in zip(one, other, strict=True))


def _check_length(config: ModelConfig, length: int | None, documents: Tensor | None) -> None:
    if documents is not None:
        rows = on_host(documents)
        length = None if rows is None else longest_document(rows)
    if length is not None and length > config.max_positions:
        raise UserError(
            f"{length} tokens, but this model reads {config.max_positions}; "
            f"cut the text to {config.max_positions} tokens or split it into windows."
        )


def longest_document(rows_BL: np.ndarray) -> int:
    """How many tokens the longest document of a packed batch has: [[1, 1, 2, 2, 2]] gives 3."""
    return max((int(np.unique(row, return_counts=True)[1].max(initial=0)) for row in rows_BL), default=0)


def _check_range(what: str, tensor: Tensor | None, size: int | None, remedy: str) -> None:
    values = on_host(tensor)
    if values is None or values.size == 0 or size is None:
        return
    if values.dtype.kind not in "iu":
        raise UserError(f"{what}s must be whole numbers, but an array of {values.dtype} came.")
    low, high = int(values.min()), int(values.max())
    if low < 0 or high >= size:
        raise UserError(f"{what} {low if low < 0 else high} is outside 0 … {size - 1}; {remedy}")
