"""Regression: numbers of records, answers from outputs, and what is no number."""

import numpy as np
import pytest

import tiny_tokenizers
from unmask import UserError
from unmask.data.readers import Record
from unmask.tasks.regress import Measured, Regress
from unmask.tasks.texts import TextExample
from unmask.tasks.units import Window

COLUMNS = {"text": "text", "label": "score"}


def records(*values):
    return [Record({"text": f"text {n}", "score": value}, f"x.csv, line {n}") for n, value in enumerate(values, 2)]


def test_numbers_are_read_however_they_are_written():
    said = ["1.5", 2, " 3e-1 ", -4.0]
    task = Regress.learn(records(*said), COLUMNS)
    assert task.classes == ("score",)
    examples = task.examples(records(*said), COLUMNS, labelled=True)
    assert [example.label for example in examples] == [1.5, 2.0, 0.3, -4.0]
    units = task.units(examples, tiny_tokenizers.bert(), Window(16))
    targets = [unit.targets["value"] for unit in units]
    assert (np.mean(targets), np.std(targets)) == (pytest.approx(0), pytest.approx(1))
    answers = task.answers(examples, units, [np.asarray([target]) for target in targets])
    assert [answer.value for answer in answers] == pytest.approx([1.5, 2.0, 0.3, -4.0])


def test_what_the_head_takes_in_is_forgotten():
    task = Regress.learn(records(10, 30), COLUMNS)
    assert task.taken_in() == (10, 20)
    assert task.taken_in() == (1, 0)
    assert task.settings == {}


@pytest.mark.parametrize("values", [(0, 1e31), (-1e308, 1e308), (0, 1e-31)])
def test_numbers_that_float32_cannot_hold(values):
    with pytest.raises(UserError, match=r"The numbers in 'score' go from .* which float32 cannot hold"):
        Regress.learn(records(*values), COLUMNS)


def test_numbers_far_from_0_that_float32_would_make_one():
    with pytest.raises(UserError) as error:
        Regress.learn(records(1e9, 1e9 + 1, 1e9 + 2), COLUMNS)
    assert str(error.value) == (
        "The numbers in 'score' are around 1.000000e+09 and differ by 0.816 only, which float32 cannot tell apart; "
        "take a number such as 1000000001 away from all of them."
    ).replace("1.000000e+09", "1e+09")
    assert Regress.learn(records(1990, 1991), COLUMNS).settings["mean"] == 1990.5


def test_a_model_of_several_numbers():
    task = Regress(("x", "y"))
    with pytest.raises(UserError, match="This model gives 2 numbers for a text; regress is for models of one"):
        task.answers([], [], [])


@pytest.mark.parametrize("value", ["nan", float("nan"), "inf", "", None, "good", True, [1]])
def test_what_is_no_number(value):
    with pytest.raises(UserError) as error:
        Regress.learn(records(1, value), COLUMNS)
    assert str(error.value) == f"x.csv, line 3: 'score' must be a number, but is {value!r}."


def test_nothing_to_learn():
    with pytest.raises(UserError) as error:
        Regress.learn(records(2, "2.0"), COLUMNS)
    assert str(error.value) == "All numbers in 'score' are 2.0: nothing to learn."


def test_answers_and_figures():
    task = Regress(("score",))
    examples = [TextExample("the " * 20, None, 1.0, ""), TextExample("of", None, 3.0, "")]
    units = task.units(examples, tiny_tokenizers.bert(), Window(10, 2))
    assert len(units) > 2
    outputs = [np.asarray([float(n)]) for n in range(len(units))]
    answers = task.answers(examples, units, outputs)
    assert answers == [Measured((len(units) - 2) / 2), Measured(len(units) - 1.0)]
    figures = task.metrics(examples, [Measured(1.0), Measured(2.0)])
    assert figures["pearson"] == pytest.approx(1)
    assert figures["rmse"] == pytest.approx(0.5**0.5)
    assert task.answers([], [], []) == []
