"""Units: what a model reads at once to answer one question, and what it should answer."""

from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Listed
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from unmask.errors import UserError
from unmask.tasks.remarks import Tell, tell

_LENGTH_STEP = 32
"""Where each new shape would be compiled, rows are padded to a multiple of this."""
_ENOUGH, _WASTE = 512, 0.15
"""Once a batch has so many tokens, it takes no longer unit if more than this share of it would be padding."""


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

    @property
    def wanted(self) -> list[int] | None:
        """The tokens that the model is asked about one by one; None: about all, or about the whole."""
        return None


@dataclass(frozen=True)
class Window:
    """How long texts are read."""

    length: int
    """Tokens that are read at once, special tokens included."""
    stride: int | None = None
    """How many tokens two neighbouring windows share; None: what is too long is cut, and said."""
    limit: int | None = None
    """Tokens that the model could read at once, if that is known."""
    tell: Tell = field(default=tell, compare=False, repr=False)
    """Hears what is remarkable about the examples, such as how many are cut."""

    def __post_init__(self) -> None:
        if self.length < 1:
            raise UserError(f"A window of {self.length} tokens holds no text.")
        if self.stride is not None and not 0 <= self.stride < self.length:
            raise UserError(
                f"Windows of {self.length} tokens cannot share {self.stride}; take such as --stride {self.length // 4}."
            )


@dataclass(frozen=True)
class Shape:
    """How units become arrays for one model on one backend."""

    pad_id: int
    limit: int
    """Tokens that the model reads."""
    several: bool = False
    """Whether a unit has several sequences, as the choices of multiple choice."""
    fixed: bool = False
    """Whether shapes are rounded up to few different ones, as compiling backends want."""

    def length_of(self, unit: Unit) -> int:
        """Tokens of the unit's row, if it were alone."""
        rounded = -(-unit.length // _LENGTH_STEP) * _LENGTH_STEP
        return min(self.limit, rounded) if self.fixed else unit.length

    def arrays(self, units: Listed[Unit]) -> dict[str, np.ndarray]:
        """ids_BL, segments_BL and attend_BL (with choices ids_BNL …), and rows_B: 1 for a unit, 0 for an empty row.

        Where only some tokens are asked about, wanted_BL says which.
        """
        size, length = len(units), max(map(self.length_of, units))
        n = max(len(unit.sequences) for unit in units) if self.several else 1
        if self.fixed:
            size = 1 << (size - 1).bit_length()
        n_tokens = np.zeros((size, n, 1), np.int32)
        for b, unit in enumerate(units):
            for i, sequence in enumerate(unit.sequences):
                n_tokens[b, i] = len(sequence.ids)
        attend = np.arange(length) < n_tokens
        ids, segments = np.full(attend.shape, self.pad_id, np.int32), np.zeros(attend.shape, np.int32)
        sequences = [sequence for unit in units for sequence in unit.sequences]
        ids[attend] = _one_after_another([sequence.ids for sequence in sequences])
        segments[attend] = _one_after_another([sequence.segments for sequence in sequences])
        found = {"ids_BL": ids, "segments_BL": segments, "attend_BL": attend}
        found = found if self.several else {name: array[:, 0] for name, array in found.items()}
        if any(unit.wanted is not None for unit in units):
            found["wanted_BL"] = np.zeros((size, length), bool)
            for b, unit in enumerate(units):
                found["wanted_BL"][b, unit.wanted] = True
        return {**found, "rows_B": (np.arange(size) < len(units)).astype(np.float32)}

    def targets(self, units: Listed[Unit], size: int, length: int) -> dict[str, np.ndarray]:
        """What the model should answer, with 0 (for tags −1) in empty rows and padding."""
        found: dict[str, np.ndarray] = {}
        for name, first in units[0].targets.items():
            if name == "tags":
                found[name] = np.full((size, length), -1, np.int32)
                for b, unit in enumerate(units):
                    found[name][b, : len(unit.targets[name])] = unit.targets[name]
                continue
            values = np.asarray([unit.targets[name] for unit in units])
            kind = np.float32 if np.issubdtype(np.asarray(first).dtype, np.floating) else np.int32
            found[name] = np.zeros((size, *values.shape[1:]), kind)
            found[name][: len(units)] = values
        return found


def _one_after_another(lists: list[list[int]]) -> np.ndarray:
    return np.fromiter(chain.from_iterable(lists), np.int32)


def of_like_length(units: Listed[Unit], most_tokens: int) -> Iterator[list[int]]:
    """The numbers of units to compute together: of like length, since padding is waste, and not too many."""
    chosen: list[int] = []
    n_rows = n_tokens = 0
    for i in sorted(range(len(units)), key=lambda i: units[i].length):
        padded = (n_rows + len(units[i].sequences)) * units[i].length
        wasteful = padded > _ENOUGH and n_tokens < (1 - _WASTE) * n_rows * units[i].length
        if chosen and (padded > most_tokens or wasteful):
            yield chosen
            chosen, n_rows, n_tokens = [], 0, 0
        chosen.append(i)
        n_rows += len(units[i].sequences)
        n_tokens += sum(len(sequence.ids) for sequence in units[i].sequences)
    if chosen:
        yield chosen
