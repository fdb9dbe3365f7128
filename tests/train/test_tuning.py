"""Recipes of fine-tuning: defaults that follow from model and data, and values that make no sense."""

import json
import math

import pytest

from unmask import UserError
from unmask.train.tuning import Tuning


def test_a_recipe_is_json():
    assert json.loads(json.dumps(Tuning(epochs=2.5).to_json()))["epochs"] == 2.5


def test_small_data_are_seen_more_often():
    assert [Tuning().epochs_for(n) for n in (1, 100, 150, 300, 500, 10_000)] == [10, 10, 10, 5, 3, 3]
    assert Tuning(epochs=0.5).epochs_for(100) == 0.5


def test_narrow_models_learn_faster():
    assert Tuning().rate_for(768) == pytest.approx(2e-5)
    assert Tuning().rate_for(192) == pytest.approx(1.6e-4)
    assert Tuning(lora=8).rate_for(768) == pytest.approx(2e-4)
    assert Tuning(peak_rate=1e-3, lora=8).rate_for(10) == 1e-3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0, but must be more than 0."),
        ({"epochs": -1}, "epochs is -1, but must be more than 0."),
        ({"epochs": math.nan}, "epochs is nan, but must be more than 0."),
        ({"epochs": math.inf}, "epochs is inf, but must be more than 0."),
        ({"peak_rate": 0.0}, "peak_rate is 0.0, but must be more than 0."),
        ({"lora": 0}, "lora is 0, but must be more than 0."),
        ({"length": 0}, "length is 0, but must be more than 0."),
        ({"patience": 0}, "patience is 0, but must be more than 0."),
        ({"save_every": 0}, "save_every is 0, but must be more than 0."),
        ({"freeze": -1}, "freeze is -1, but must not be below 0."),
        ({"stride": -1}, "stride is -1, but must not be below 0."),
        ({"seed": -1}, "seed is -1, but must not be below 0."),
        ({"weight_decay": math.nan}, "weight_decay is nan, but must not be below 0."),
        ({"dev_share": 0}, "dev_share is 0, but must lie between 0 and 1."),
        ({"dev_share": 1.0}, "dev_share is 1.0, but must lie between 0 and 1."),
        ({"warmup": 1.5}, "warmup is 1.5, but is a share of the updates, at most 1."),
        ({"precision": "float8"}, "precision is 'float8', but must be float32 or mixed_bfloat16."),
    ],
)
def test_values_that_make_no_sense(changes, message):
    with pytest.raises(UserError) as error:
        Tuning(**changes)
    assert str(error.value) == message
