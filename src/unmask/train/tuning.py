"""Tuning: everything that decides what a fine-tuning computes, and the defaults that follow from model and data."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from unmask.errors import UserError

_POSITIVE = (
    *("epochs", "batch_size", "peak_rate", "piece_tokens", "clip_norm", "epsilon", "length", "lora"),
    *("save_every", "evaluate_every", "patience"),
)

_PRECISIONS = ("float32", "mixed_bfloat16")


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """A recipe of fine-tuning; what is None follows from the model and the data, and is said."""

    epochs: float | None = None
    """Times through the data; None: as many as make some 1,500 updates, 3 at least and 10 at most."""
    batch_size: int = 32
    peak_rate: float | None = None
    """The highest learning rate; None: the papers' 2e-5 for a width of 768, more for narrower models."""
    warmup: float = 0.1
    """The share of the updates in which the rate rises."""
    weight_decay: float = 0.01
    beta_1: float = 0.9
    beta_2: float = 0.98
    epsilon: float = 1e-6
    clip_norm: float = 1.0
    length: int | None = None
    """Tokens of a text that are read; None: as many as the model reads, 512 at most."""
    stride: int | None = None
    """Longer texts are read in windows that share so many tokens; None: as the task has it."""
    dev_share: float = 0.1
    """How much of the training data is held out where there is no file for it."""
    patience: int | None = 3
    """Epochs without a better figure after which the run ends."""
    class_weights: bool = False
    """Whether rare classes count as much as frequent ones."""
    freeze: int | None = None
    """The embeddings and so many of the lowest layers stay as they are."""
    lora: int | None = None
    """Rank of the thin matrices that are trained in place of the encoder's (Hu et al. 2021)."""
    precision: str = "float32"
    checkpointing: bool = False
    piece_tokens: int = 4096
    """Tokens, with padding, that the machine computes at once."""
    seed: int = 0
    split_seed: int | None = None
    """Decides which examples are held out; None: the seed."""
    save_every: int = 200
    evaluate_every: int | None = None
    """Updates between two looks at the held-out data; None: an epoch's."""

    def __post_init__(self) -> None:
        for key in _POSITIVE:
            value = getattr(self, key)
            if value is not None and not 0 < value < math.inf:
                raise UserError(f"{key} is {value}, but must be more than 0.")
        for key in ("weight_decay", "warmup", "freeze", "seed", "stride"):
            value = getattr(self, key)
            if value is not None and not value >= 0:
                raise UserError(f"{key} is {value}, but must not be below 0.")
        if self.precision not in _PRECISIONS:
            raise UserError(f"precision is {self.precision!r}, but must be {' or '.join(_PRECISIONS)}.")
        if not 0 < self.dev_share < 1:
            raise UserError(f"dev_share is {self.dev_share}, but must lie between 0 and 1.")
        if self.warmup > 1:
            raise UserError(f"warmup is {self.warmup}, but is a share of the updates, at most 1.")

    def to_json(self) -> dict[str, Any]:
        """All keys and values."""
        return dataclasses.asdict(self)

    @property
    def seed_of_split(self) -> int:
        """Of the choice of held-out examples."""
        return self.seed if self.split_seed is None else self.split_seed

    def epochs_for(self, per_epoch: int) -> float:
        """How many epochs, where each has so many updates."""
        return self.epochs or float(min(10, max(3, round(1500 / per_epoch))))

    def rate_for(self, width: int) -> float:
        """The highest learning rate for a model of that width; LoRA's few weights need more."""
        return self.peak_rate or 2e-5 * (768 / width) ** 1.5 * (10 if self.lora else 1)
