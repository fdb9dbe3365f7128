"""The learning rate as a pure function of the step: linear warm-up, then linear decay to 0 (RoBERTa, section 3.1)."""


def learning_rate(step: int, *, peak: float, warmup: int, total: int) -> float:
    """The rate of a step, counted from 0.

    Example: with a warm-up of 2 and 6 steps in total, the shares of the peak are 1/2, 1, 1, 3/4, 1/2, 1/4.
    """
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * max(0.0, (total - step) / max(1, total - warmup))
