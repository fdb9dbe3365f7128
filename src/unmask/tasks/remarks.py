"""Remarks on examples, such as how many were cut; of a file that is read in parts, each kind is totalled over all."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

log = logging.getLogger("unmask")


@dataclass(frozen=True, kw_only=True)
class Remark:
    """How many of some examples there is something to say of; maybe of none, so that totals know how many there are."""

    kind: str
    """Remarks of the same kind are added up."""
    n: int
    of: int
    what: str
    which: str = ""
    """One of them, so that a reader can look at it."""
    size: int = 0
    """Of several such ones that with the greatest size is told, and the first if sizes are equal."""
    advice: str = ""

    def __str__(self) -> str:
        advice = f"; {self.advice}" if self.advice else ""
        return f"{self.n:,} of {self.of:,} {self.what} ({self.which}){advice}."

    def __add__(self, later: "Remark") -> "Remark":
        told = later if later.n and (not self.n or later.size > self.size) else self
        return Remark(
            kind=self.kind,
            n=self.n + later.n,
            of=self.of + later.of,
            what=told.what,
            which=told.which,
            size=told.size,
            advice=told.advice,
        )


Tell = Callable[[Remark], None]
"""Who hears of remarks."""


def tell(remark: Remark) -> None:
    """Warns at once."""
    if remark.n:
        log.warning("%s", remark)


class Tally:
    """Hears the remarks on examples that come in parts: warns at the first of each kind, and of the totals at the end.

    Args:
        of_what: what the totals are of, as the beginning of a sentence.
    """

    def __init__(self, of_what: str = "In all") -> None:
        self.of_what = of_what
        self._totals: dict[str, Remark] = {}
        self._told: dict[str, Remark] = {}

    def __enter__(self) -> Self:
        return self

    def add(self, remark: Remark) -> None:
        """One more part's."""
        before = self._totals.get(remark.kind)
        total = self._totals[remark.kind] = remark if before is None else before + remark
        if total.n and remark.kind not in self._told:
            self._told[remark.kind] = total
            tell(total)

    def __exit__(self, *_: object) -> None:
        for kind, total in self._totals.items():
            if total.n and total != self._told[kind]:  # a single part was told whole already
                log.warning("%s, %s", self.of_what, total)
