"""What an evaluation consists of: figures, sections of tables and pictures, and the worst errors."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from unmask.report.marks import Mark

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Rows of figures and names. A share of 1 may be drawn as a bar behind its figure."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    bars: frozenset[str] = frozenset()
    """The columns whose figures lie between 0 and 1 and are drawn as bars too."""


@dataclass(frozen=True)
class Picture:
    """A picture, and in words what is to be seen in it."""

    title: str
    image: bytes
    """PNG or SVG."""
    alt: str
    note: str = ""
    name: str = ""
    """Of the file that is written beside the page, without its ending; empty: the page alone has it."""

    @property
    def ending(self) -> str:
        """The kind of the picture, as its file's name ends."""
        return "png" if self.image.startswith(b"\x89PNG") else "svg"


@dataclass(frozen=True)
class Confusion:
    """How often each class was taken for each: rows are the gold classes, columns the predicted ones."""

    title: str
    classes: Sequence[str]
    counts: np.ndarray
    note: str = ""

    def __post_init__(self) -> None:
        if self.counts.shape != (len(self.classes), len(self.classes)):
            raise ValueError(f"{len(self.classes)} classes cannot have counts of shape {self.counts.shape}.")


Section = Table | Picture | Confusion


@dataclass(frozen=True)
class WorstError:
    """One example that the model got wrong."""

    place: str
    """Where the example stands: `dev.csv, line 12`."""
    text: str
    gold: str
    predicted: str
    score: float
    """How wrong it is, such as the loss; `Evaluation.score` says what it measures."""
    marks: Sequence[Mark] = ()
    """Highlighted parts of the text."""
    head: str = ""
    """What stands above the text, such as the question that was asked about it."""


@dataclass(frozen=True)
class Evaluation:
    """All that the page of an evaluation shows."""

    task: str
    model: str
    data: str
    n_examples: int
    metrics: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    """For each figure the bootstrap interval; figures without one are shown without one."""
    main: str
    """The name of the figure that matters most."""
    sections: Sequence[Section] = ()
    errors: Sequence[WorstError] = ()
    """All errors, the worst first; the page shows the first fifty and says how many there are."""
    notes: Sequence[str] = ()
    """What a reader must know: what was truncated, which temperature was used."""
    score: str = field(default="loss", kw_only=True)
    """What the errors' scores measure."""
    positive: str | None = field(default=None, kw_only=True)
    """Of two classes the one that precision, recall, F1 and the areas under curves are about."""

    def __post_init__(self) -> None:
        if self.main not in self.metrics:
            raise ValueError(f"The main figure {self.main} is not among {', '.join(self.metrics)}.")
