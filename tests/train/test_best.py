"""The best state of a run: kept when a later one is worse, found again after an interruption or a divergence."""

import math

import numpy as np
import pytest

from unmask.train.best import Best
from unmask.train.state import Carried, States

pytestmark = pytest.mark.backend


@pytest.fixture
def variable():
    import keras

    return keras.Variable(np.zeros(2, np.float32))


def best_of(folder, variable, patience=2):
    return Best(States(folder, {"a": variable}, keep=1, name="best"), "f1", patience)


def look(best, variable, carried, step, value):
    """Training moves the weights, then somebody looks."""
    carried.step = step
    variable.assign(np.full(2, step, np.float32))
    best.note(carried, {"f1": value, "loss": 1.0})


def test_a_later_look_that_is_worse_or_equal(tmp_path, variable):
    best, carried = best_of(tmp_path, variable), Carried()
    for step, value in ((1, 0.2), (2, 0.7), (3, 0.7), (4, 0.5)):
        assert not best.enough(carried)
        look(best, variable, carried, step, value)
    assert best.enough(carried)
    assert (carried.best, carried.best_step, carried.stale) == (0.7, 2, 2)
    best.restore(carried)
    assert np.asarray(variable).tolist() == [2, 2]
    assert best.states.steps() == [2]


def test_nothing_found_yet_is_no_reason_to_end(tmp_path, variable):
    best, carried = best_of(tmp_path, variable), Carried()
    for step in range(1, 6):
        look(best, variable, carried, step, 0.0)
        assert not best.enough(carried)
    assert carried.best_step == 5
    for step in (6, 7, 8):
        look(best, variable, carried, step, 0.3 if step == 6 else 0.0)
    assert best.enough(carried)
    assert carried.best_step == 6


def test_without_patience_it_never_ends(tmp_path, variable):
    best, carried = best_of(tmp_path, variable, None), Carried()
    for step in range(1, 20):
        look(best, variable, carried, step, 0.1)
    assert not best.enough(carried)
    assert carried.best_step == 1


def test_any_figure_is_better_than_none(tmp_path, variable):
    best, carried = best_of(tmp_path, variable), Carried()
    look(best, variable, carried, 1, math.nan)
    look(best, variable, carried, 2, -0.3)
    look(best, variable, carried, 3, math.nan)
    assert (carried.best_step, carried.stale) == (2, 1)


def test_a_run_that_went_back_behind_its_best(tmp_path, variable):
    """The state that was best then has gone; the one that took its place is better still."""
    best, carried = best_of(tmp_path, variable), Carried()
    look(best, variable, carried, 1, 0.5)
    before = Carried(step=1, best=0.5, best_step=1)
    look(best, variable, carried, 2, 0.6)
    look(best, variable, before, 2, 0.4)
    assert best.restore(before) == 2
    assert np.asarray(variable).tolist() == [2, 2]
