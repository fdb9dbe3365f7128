"""The best state of a run by a held-out figure, kept beside the newest; and when to stop hoping for a better one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from unmask.train.state import Carried, States


@dataclass(frozen=True)
class Best:
    """Keeps the best state.

    Two runs of the same recipe keep the same one, however often they were interrupted: all that the choice depends on
    is carried from state to state.
    """

    states: States
    metric: str
    """The held-out figure that counts; more is better."""
    patience: int | None
    """After so many looks without a better one the run ends; None: never."""

    def note(self, carried: Carried, figures: Mapping[str, float]) -> None:
        """A look at held-out data has given these figures."""
        value = figures[self.metric]
        # While nothing is found yet, as in the first epochs of tagging, the newest is as good as any: there is hope.
        better = carried.best is None or value > carried.best or math.isnan(carried.best) or value == carried.best == 0
        if not better:
            carried.stale += 1
            return
        carried.best, carried.best_step, carried.stale = value, carried.step, 0
        self.states.save(carried)

    def enough(self, carried: Carried) -> bool:
        """Whether there is no hope for a better one."""
        return self.patience is not None and carried.stale >= self.patience

    def restore(self, carried: Carried) -> int:
        """Puts the best state's variables back, and gives its step."""
        steps = self.states.steps()
        # A divergence leads back behind a better state, which has taken the place of the one that was best then.
        return self.states.restore(carried.best_step if carried.best_step in steps else max(steps)).step
