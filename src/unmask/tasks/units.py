"""Units: what a model reads at once to answer one question, and what it should answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unmask.errors import UserError


@dataclass(frozen=True)
class Sequence:
    """Token ids as a model reads them, special tokens included."""

    ids: list[int]
    segments: list[int]


@dataclass(frozen=True)
class Unit:
    """One row of a batch; for multiple choice one row for each choice.

    A text that is longer than the model reads makes several units, one for each of its windows.
    """

    example: int
    """The number of the example that it belongs to."""
    sequences: tuple[Sequence, ...]
    targets: Mapping[str, Any]
    """What the model should answer, by the names that the loss knows; empty where that is not known."""

    @property
    def length(self) -> int:
        """Tokens of its longest sequence."""
        return max(len(sequence.ids) for sequence in self.sequences)


@dataclass(frozen=True)
class Window:
    """How long texts are read."""

    length: int
    """Tokens that are read at once, special tokens included."""
    stride: int | None = None
    """How many tokens two neighbouring windows share; None: what is too long is cut, and said."""

    def __post_init__(self) -> None:
        if self.length < 1:
            raise UserError(f"A window of {self.length} tokens holds no text.")
        if self.stride is not None and not 0 <= self.stride < self.length:
            raise UserError(
                f"Windows of {self.length} tokens cannot share {self.stride}; "
                f"give --stride between 0 and {self.length - 1}."
            )
