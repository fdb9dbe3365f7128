"""Noticing that a run goes astray: a loss that is no number, or one that leaps and stays up."""

import math
from itertools import pairwise

from unmask.train.state import Carried

WINDOW = 10
"""Losses are averaged over so many steps, since single ones jump."""
HISTORY = 30
"""From so many steps is seen how much single ones jump."""
LEAP = 0.25
"""A run has leapt if the average is above its lowest by this share, and …"""
NATS = 0.7
"""… by as much as this, and …"""
DEVIATIONS = 15
"""… by so many standard deviations of such an average: small batches have averages that leap without any harm."""


def astray(carried: Carried, loss: float, norm: float) -> str | None:
    """Notes a step's loss; says what is wrong, if something is."""
    if not math.isfinite(loss):
        return f"the loss is {loss}"
    if not math.isfinite(norm):
        return f"the norm of the gradients is {norm}"
    carried.recent = [*carried.recent, loss][-HISTORY:]
    if len(carried.recent) < WINDOW:
        return None
    mean = _mean(carried)
    if carried.lowest is None or mean < carried.lowest:
        carried.lowest = mean
    if len(carried.recent) < HISTORY:
        return None
    jump = max(carried.lowest * LEAP, NATS, DEVIATIONS * _deviation(carried.recent) / math.sqrt(WINDOW))
    return f"the loss leapt from {carried.lowest:.2f} to {mean:.2f}" if mean > carried.lowest + jump else None


def healthy(carried: Carried) -> bool:
    """Whether a state is one to go back to: its losses were not on the way up."""
    if not carried.recent or carried.lowest is None:
        return True
    return _mean(carried) <= carried.lowest * (1 + LEAP / 2) + NATS / 2


def _mean(carried: Carried) -> float:
    newest = carried.recent[-WINDOW:]
    return sum(newest) / len(newest)


def _deviation(losses: list[float]) -> float:
    """Of single losses around whatever way they go, by the steps between them; a single leap hardly counts in it."""
    return math.sqrt(sum((b - a) ** 2 for a, b in pairwise(losses)) / (len(losses) - 1) / 2)
