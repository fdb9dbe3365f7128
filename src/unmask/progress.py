"""Progress of long work: a bar on a terminal, one line every few seconds elsewhere; always on standard error."""

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

_SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Tells how far a piece of work is.

    Args:
        label: what is being done, such as `pretraining`.
        total: how much there is, in `unit`; None if nobody knows.
        unit: what is counted, such as `steps`.
        done: how much was done before, when work goes on after an interruption.
    """

    def __init__(self, label: str, total: float | None, unit: str, *, done: float = 0) -> None:
        self.label, self.total, self.unit, self.done = label, total, unit, done
        self._began, self._at_first, self._last_line = time.monotonic(), done, time.monotonic()
        self._bars = self._task = None
        if sys.stderr.isatty():
            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), MofNCompleteColumn())
            self._bars = Bars(
                *columns, TimeRemainingColumn(), TextColumn("{task.fields[shown]}"), console=Console(stderr=True)
            )
            self._task = self._bars.add_task(label, total=total, completed=round(done), shown="")

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def advance(self, amount: float = 1, **shown: str) -> None:
        """So much more is done; `shown` are figures to be seen beside the bar."""
        self.done += amount
        figures = "  ".join(f"{name} {value}" for name, value in shown.items())
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, completed=self.done, shown=figures)
        elif time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            print(f"{self.label}: {self._state()}  {figures}".rstrip(), file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        """A line above the bar."""
        if self._bars is not None:
            self._bars.console.print(text, highlight=False, markup=False)
        else:
            print(text, file=sys.stderr, flush=True)

    def _state(self) -> str:
        spent = max(time.monotonic() - self._began, 1e-9)
        rate = (self.done - self._at_first) / spent
        if self.total is None:
            return f"{self.done:,.0f} {self.unit}, {rate:,.1f} a second"
        left = (self.total - self.done) / rate if rate else float("inf")
        remaining = f"{left / 60:,.1f} minutes left" if left < float("inf") else "time left unknown"
        return (
            f"{self.done:,.0f} of {self.total:,.0f} {self.unit} ({self.done / max(self.total, 1e-9):.0%}), {remaining}"
        )
