"""States: whole or not at all; a damaged one is noticed and the one before is taken."""

import json

import numpy as np
import pytest

from unmask import UserError
from unmask.train.state import Carried, States, all_variables

pytestmark = pytest.mark.backend


@pytest.fixture
def variables():
    import keras

    layer = keras.layers.Dense(3)
    layer.build((None, 2))
    optimizer = keras.optimizers.AdamW(0.0)
    optimizer.build(layer.trainable_variables)
    return all_variables(layer, optimizer)


def saved(folder, variables, steps):
    states = States(folder, variables)
    for step in steps:
        for variable in variables.values():
            variable.assign(np.full(variable.shape, step))
        states.save(Carried(step=step))
    return states


def test_the_last_two_are_kept_and_restored(tmp_path, variables):
    states = saved(tmp_path, variables, (1, 2, 3))
    assert states.steps() == [2, 3]
    assert states.restore(2).step == 2
    assert all((np.asarray(variable.numpy()) == 2).all() for variable in variables.values())


def test_a_state_of_an_interruption_does_not_push_out_scheduled_ones(tmp_path, variables):
    states = saved(tmp_path, variables, (1, 2))
    states.save(Carried(step=5, scheduled=False))
    assert states.steps() == [1, 2, 5]
    states.save(Carried(step=6))
    assert states.steps() == [2, 6]


@pytest.mark.parametrize("damage", ["variables", "state", "empty", "cut", "gone"])
def test_a_damaged_state_is_noticed_and_the_one_before_is_taken(tmp_path, variables, caplog, damage):
    states = saved(tmp_path, variables, (4, 8))
    place = tmp_path / "state" / "step-00000008"
    content = bytearray((place / "variables.safetensors").read_bytes())
    if damage == "variables":
        content[-3] ^= 255
        (place / "variables.safetensors").write_bytes(content)
    elif damage == "cut":
        (place / "variables.safetensors").write_bytes(content[:100])
    elif damage == "gone":
        (place / "variables.safetensors").unlink()
    else:
        (place / "state.json").write_text("{}" if damage == "empty" else json.dumps({"step": "8"}))
    assert states.restore_newest().step == 4
    assert "damaged" in caplog.text
    assert states.steps() == [4]


def test_of_another_model(tmp_path, variables):
    states = saved(tmp_path, variables, (1,))
    del states.variables["model.00000"]
    with pytest.raises(UserError, match="is the state of another model"):
        states.restore(1)


def test_what_a_killed_save_left_is_swept(tmp_path, variables):
    saved(tmp_path, variables, (1,))
    (tmp_path / "state" / ".saving").mkdir()
    States(tmp_path, variables)
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["step-00000001"]
