"""Noticing that a run goes astray: a loss that is no number, or one that leaps and stays up."""

import math

from unmask.train.state import Carried

WINDOW = 10
"""Losses are averaged over so many steps, since single ones jump."""
LEAP = 0.25
"""A run has leapt if the average is above its lowest by this share, and …"""
NATS = 0.7
"""… by as much as this."""


def astray(carried: Carried, loss: float, norm: float) -> str | None:
    """Notes a step's loss; says what is wrong, if something is."""
    if not math.isfinite(loss):
        return f"the loss is {loss}"
    if not math.isfinite(norm):
        return f"the norm of the gradients is {norm}"
    carried.recent = [*carried.recent, loss][-WINDOW:]
    if len(carried.recent) < WINDOW:
        return None
    mean = sum(carried.recent) / WINDOW
    if carried.lowest is None or mean < carried.lowest:
        carried.lowest = mean
    if mean > carried.lowest * (1 + LEAP) and mean > carried.lowest + NATS:
        return f"the loss leapt from {carried.lowest:.2f} to {mean:.2f}"
    return None


def healthy(carried: Carried) -> bool:
    """Whether a state is one to go back to: its losses were not on the way up."""
    if not carried.recent or carried.lowest is None:
        return True
    return sum(carried.recent) / len(carried.recent) <= carried.lowest * (1 + LEAP / 2) + NATS / 2
