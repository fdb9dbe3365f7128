"""What fine-tuning makes smaller: for each kind of target the loss of every row, or of every word of it."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from unmask import backend
from unmask.backend import Tensor

_NO_CHOICE = -1e9


def _label(logits_BC: Tensor, arrays: Mapping[str, Tensor]) -> Tensor:
    """Cross-entropy of one label, or of one choice; rows of choices that an example lacks do not count."""
    from keras import ops  # noqa: PLC0415  (after the backend is chosen)

    logits_BC = ops.cast(logits_BC, "float32")
    if len(arrays["attend_BL"].shape) == 3:
        there_BN = ops.cast(ops.any(arrays["attend_BL"], axis=-1), "float32")
        logits_BC = logits_BC + (1 - there_BN) * _NO_CHOICE
    return backend.cross_entropy(logits_BC, arrays["label"])


def _labels(logits_BC: Tensor, arrays: Mapping[str, Tensor]) -> Tensor:
    """Binary cross-entropy of every label by itself, averaged over the labels."""
    from keras import ops  # noqa: PLC0415

    logits_BC, has_BC = ops.cast(logits_BC, "float32"), arrays["labels"]
    each_BC = ops.relu(logits_BC) - logits_BC * has_BC + ops.log1p(ops.exp(-ops.abs(logits_BC)))
    return ops.mean(each_BC, axis=-1)


def _value(logits_B1: Tensor, arrays: Mapping[str, Tensor]) -> Tensor:
    """The square of the distance."""
    from keras import ops  # noqa: PLC0415

    return ops.square(ops.cast(logits_B1, "float32")[:, 0] - arrays["value"])


def _tags(logits_BLC: Tensor, arrays: Mapping[str, Tensor]) -> Tensor:
    """Cross-entropy at every token; those that do not count have the weight 0."""
    from keras import ops  # noqa: PLC0415

    return backend.cross_entropy(logits_BLC, ops.maximum(arrays["tags"], 0))


def _start_and_end(logits: tuple[Tensor, Tensor], arrays: Mapping[str, Tensor]) -> Tensor:
    """The mean of the cross-entropies of an answer's first and last token, over the tokens that are there."""
    from keras import ops  # noqa: PLC0415

    padding_BL = (1 - ops.cast(arrays["attend_BL"], "float32")) * _NO_CHOICE
    start, end = (ops.cast(side, "float32") + padding_BL for side in logits)
    return (backend.cross_entropy(start, arrays["start"]) + backend.cross_entropy(end, arrays["end"])) / 2


_LOSSES: dict[str, Callable[[Any, Mapping[str, Tensor]], Tensor]] = {
    "label": _label,
    "labels": _labels,
    "value": _value,
    "tags": _tags,
    "start": _start_and_end,
}


def loss_of(outputs: Any, arrays: Mapping[str, Tensor]) -> Tensor:
    """The loss of each row (of each token for tags), for whatever targets the arrays hold."""
    return next(loss for name, loss in _LOSSES.items() if name in arrays)(outputs, arrays)


def weights_of(arrays: Mapping[str, np.ndarray], class_weights: np.ndarray | None) -> np.ndarray:
    """How much each of these losses counts: nothing in empty rows and at tokens without a label."""
    rows_B = arrays["rows_B"]
    if "tags" in arrays:
        return np.asarray(arrays["tags"] >= 0, np.float32) * rows_B[:, None]
    if class_weights is not None and "label" in arrays:
        return np.asarray(rows_B * class_weights[arrays["label"]], np.float32)
    return rows_B
