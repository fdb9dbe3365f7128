"""Ctrl-C and SIGTERM, noted and acted on where nothing is lost.

An exception at any moment would tear what is being written; and raised in another library's callback, it is dropped.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar


class Interrupted(Exception):  # noqa: N818  (nothing went wrong)
    """The user or the system asked to stop; what was done is saved."""


class Interruption:
    """Ctrl-C and SIGTERM are noted, and acted on where nothing is lost. A second one acts at once.

    Inside another one it is that one, which may have been asked before, as while a model was loaded.
    """

    _outermost: ClassVar["Interruption | None"] = None

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interruption":
        if Interruption._outermost is not None:
            return Interruption._outermost
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                self._before[number] = signal.signal(number, self._note)
            except ValueError:  # not in the main thread, where nobody can press Ctrl-C
                return self
        Interruption._outermost = self
        return self

    def __exit__(self, *_: object) -> None:
        if Interruption._outermost is self:
            Interruption._outermost = None
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: Any) -> None:
        del number, frame
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        print("Stopping; once more stops at once, and loses what was not saved.", file=sys.stderr)


@contextmanager
def told_how_to_go_on(command: str) -> Iterator[None]:
    """An interruption ends well, with the line that goes on, whenever it comes."""
    with Interruption():
        try:
            yield
        except (Interrupted, KeyboardInterrupt) as stopped:
            print(f"{str(stopped) or 'Stopped.'} To go on, run the same command again:\n  {command}")
