"""The learning rate: a pure function of the step."""

import pytest

from unmask.train.schedule import learning_rate


def test_shares_of_the_peak():
    shares = [learning_rate(step, peak=1.0, warmup=2, total=6) for step in range(6)]
    assert shares == pytest.approx([1 / 2, 1, 1, 3 / 4, 1 / 2, 1 / 4])


def test_it_is_that_of_transformers():
    """Theirs is told the step before the update and begins at 0; ours never spends a step at rate 0."""
    import torch
    from transformers import get_linear_schedule_with_warmup

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=3.0)
    schedule = get_linear_schedule_with_warmup(optimizer, 10, 50)
    theirs = []
    for _ in range(51):
        theirs.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    ours = [learning_rate(step, peak=3.0, warmup=10, total=50) for step in range(50)]
    assert ours[10:] == pytest.approx(theirs[10:50])
    assert ours[:10] == pytest.approx(theirs[1:11])


def test_no_warmup_and_one_step():
    assert learning_rate(0, peak=2.0, warmup=0, total=1) == 2.0
    assert learning_rate(1, peak=2.0, warmup=0, total=1) == 0.0
