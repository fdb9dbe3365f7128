"""What a model checks first: a table indexed out of range is an error on one backend and silence on another."""

import numpy as np

from unmask.backend import Tensor, on_host
from unmask.config import ModelConfig
from unmask.errors import UserError


def check_tokens(
    config: ModelConfig, ids: Tensor, segments: Tensor | None = None, documents: Tensor | None = None
) -> None:
    """Raises a UserError for ids, segments or lengths that this model has no rows for."""
    _check_length(config, ids, documents)
    _check_range("Token id", on_host(ids), config.vocab_size, "was the text encoded with another model's tokenizer?")
    if segments is not None and config.n_segments:
        _check_range("Segment", on_host(segments), config.n_segments, f"this model knows {config.n_segments}.")


def _check_length(config: ModelConfig, ids: Tensor, documents: Tensor | None) -> None:
    length = np.shape(ids)[-1] if isinstance(ids, list) else ids.shape[-1]
    if documents is not None:
        rows = on_host(documents)
        length = None if rows is None else longest_run(rows)
    if length is not None and length > config.max_positions:
        raise UserError(
            f"{length} tokens, but this model reads {config.max_positions}; "
            f"cut the text to {config.max_positions} tokens or split it into windows."
        )


def longest_run(rows_BL: np.ndarray) -> int:
    """The length of the longest document in a packed batch: [[1, 1, 2, 2, 2]] gives 3."""
    longest = 0
    for row in rows_BL:
        edges = np.flatnonzero(np.diff(row)) + 1
        longest = max(longest, int(np.diff([0, *edges, len(row)]).max(initial=0)))
    return longest


def _check_range(what: str, values: np.ndarray | None, size: int, remedy: str) -> None:
    if values is None or values.size == 0:
        return
    if values.dtype.kind not in "iu":
        raise UserError(f"{what}s must be whole numbers, but an array of {values.dtype} came.")
    low, high = int(values.min()), int(values.max())
    if low < 0 or high >= size:
        raise UserError(f"{what} {low if low < 0 else high} is outside 0 … {size - 1}; {remedy}")
