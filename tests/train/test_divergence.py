"""A run that goes astray is noticed, goes back to a good state with a lower rate, and says so."""

import json
import math

import numpy as np
import pytest

from data.corpora import write_text_corpus
from unmask import UserError
from unmask.train import loop
from unmask.train.divergence import astray
from unmask.train.log import read_log
from unmask.train.pretrain import Trainer, pretrain
from unmask.train.recipe import Recipe
from unmask.train.state import Carried

pytestmark = pytest.mark.backend

TINY = Recipe(
    size="tiny",
    n_layers=1,
    d_model=32,
    n_heads=2,
    d_ff=64,
    length=48,
    batch_tokens=768,
    piece_tokens=768,
    steps=40,
    save_every=10,
    peak_rate=3e-3,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_text_corpus(tmp_path_factory.mktemp("corpus"))


def losses(values):
    carried = Carried()
    return [astray(carried, value, 1.0) for value in values]


def test_a_falling_and_noisy_loss_is_fine():
    noise = np.random.default_rng(0).normal(0, 0.4, 300)
    assert not any(losses(2 + 6 * np.exp(-np.arange(300) / 60) + noise))


@pytest.mark.parametrize("shape", [0.5, 1, 4])
def test_losses_of_a_few_examples_jump_without_harm(shape):
    """Some are easy and some are hard: skewed, over thousands of steps, and less in each epoch."""
    generator = np.random.default_rng(0)
    values = generator.gamma(shape, 2.5 / shape, 4000) * np.repeat([1.3, 1, 0.8, 0.6], 1000)
    assert not any(losses(values))


def test_a_leap_among_losses_that_jump_is_noticed():
    noise = np.random.default_rng(0).normal(0, 0.3, 100)
    said = losses(np.where(np.arange(100) < 60, 3.0, 7.0) + noise)
    assert 60 < next(number for number, text in enumerate(said) if text) < 70


def test_a_leap_that_stays_is_noticed_within_a_few_steps():
    said = losses([3.0] * 50 + [7.0] * 20)
    first = next(number for number, text in enumerate(said) if text)
    assert 50 < first < 58
    assert said[first].startswith("the loss leapt from 3.00 to")


def test_one_bad_batch_is_none():
    assert not any(losses([3.0] * 50 + [8.0] + [3.0] * 50))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_no_number(bad):
    assert "the loss is" in astray(Carried(), bad, 1.0)
    assert "the norm of the gradients is" in astray(Carried(), 1.0, bad)


def test_back_to_the_last_good_state(corpus, tmp_path, monkeypatch):
    """The weights are spoilt at step 25, once, as a faulty memory would: the run must come home all the same."""
    spoilt = []
    evaluate = Trainer._inputs

    def inputs(self, first, last):
        for number, step_input in enumerate(evaluate(self, first, last), start=first):
            if number == 25 and not spoilt:
                spoilt.append(number)
                kernel = self.model.trainable_variables[5]
                kernel.assign(np.full(kernel.shape, np.nan, "float32"))
            yield step_input

    monkeypatch.setattr(Trainer, "_inputs", inputs)
    out = pretrain(corpus.folder, tmp_path / "run", TINY)
    (line,) = [line for line in read_log(out / "log.jsonl") if line["kind"] == "divergence"]
    assert (line["step"], line["at_step"], line["rate_scale"]) == (20, 25, 0.5)
    assert math.isfinite(json.loads((out / "metrics.json").read_text())["loss"])


def test_it_gives_up_after_some_times(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "astray", lambda carried, loss, norm: "the loss is nan" if carried.step == 3 else None)
    with pytest.raises(UserError, match=r"went astray 7 times, lastly at step 3 \(the loss is nan\); begin again"):
        pretrain(corpus.folder, tmp_path / "run", TINY)
