"""Classification: labels of records, answers from logits, averages over windows, and labels that are none."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import tiny_tokenizers
from unmask import UserError
from unmask.data.readers import Record
from unmask.tasks.classify import Classify, MultiLabel, mean_of_windows
from unmask.tasks.texts import TextExample
from unmask.tasks.units import Sequence, Unit, Window

COLUMNS = {"text": "text", "label": "label"}


def records(*labels):
    return [Record({"text": f"text {n}", "label": label}, f"x.csv, line {n}") for n, label in enumerate(labels, 2)]


def units_of(owners):
    return [Unit(owner, (Sequence([1], [0]),), {}) for owner in owners]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["pos", "neg", " pos "], ("neg", "pos")),
        (["10", "9", "-1"], ("-1", "9", "10")),
        ([1, 0, 1.0], ("0", "1")),
        ([True, False], ("false", "true")),
        (["1.5", "1"], ("1", "1.5")),
        (["好", "坏"], ("坏", "好")),
        (["正面", "负面"], ("负面", "正面")),
        (["差评", "好评"], ("差评", "好评")),
    ],
)
def test_the_order_of_labels(labels, classes):
    task = Classify.learn(records(*labels), COLUMNS)
    assert task.classes == tuple(sorted(classes, key=classes.index))
    assert [task.classes[e.label] for e in task.examples(records(*labels), COLUMNS, labelled=True)] == [
        str(label).strip().lower() if not isinstance(label, float) else str(int(label)) for label in labels
    ]


MISSING = "fill them in, leave those rows out, or, if texts may have no label or several, add --multi-label."


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "a"], "There must be at least two different labels to learn, but there is only 'a'."),
        (["a", "", " "], f"x.csv, line 3: the label ('label') is missing, as in 2 of 3 rows; {MISSING}"),
        ([None, None, "a"], f"x.csv, line 2: the label ('label') is missing, as in 2 of 3 rows; {MISSING}"),
        (["a", ""], "There must be at least two different labels to learn, but there is only 'a'."),
        (["a", ["b"]], "x.csv, line 3: 'label' must hold one label, but holds ['b']; add --multi-label."),
        (range(10_001), "10001 different labels are surely no labels; say which column has them with --label."),
    ],
)
def test_labels_that_cannot_be_learnt(labels, message):
    with pytest.raises(UserError) as error:
        Classify.learn(records(*labels), COLUMNS)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("train", "classes", "other"),
    [
        (["0.0", "1.0"], ("0.0", "1.0"), {"1": 1, "1.00": 1, 0.0: 0, 1: 1}),
        ([0, 1], ("0", "1"), {"1.0": 1, 0: 0, "0.0": 0}),
        (["True", "False"], ("False", "True"), {True: 1, "true": 1, "FALSE": 0}),
        (["1", "2", "1.0", "1"], ("1", "2"), {"2.0": 1, "1": 0}),
        (["01", "1"], ("01", "1"), {"01": 0, "1.0": 1}),
        (["1.5", "2"], ("1.5", "2"), {"1.5": 0, "2.0": 1}),
    ],
)
def test_one_label_in_the_forms_of_several_tools(train, classes, other):
    task = Classify.learn(records(*train), COLUMNS)
    assert task.classes == classes
    assert [example.label for example in task.examples(records(*other), COLUMNS, labelled=True)] == [*other.values()]


def test_labels_that_differ_in_capitals_are_told(caplog):
    assert Classify.learn(records("Yes", "yes", "no"), COLUMNS).classes == ("Yes", "no", "yes")
    assert caplog.messages == ["The labels Yes and yes differ in capitals only; write them alike if they are one."]


def test_labels_that_training_has_not_seen():
    with pytest.raises(UserError) as error:
        Classify(("a", "b")).examples(records("a", "c"), COLUMNS, labelled=True)
    assert str(error.value) == "x.csv, line 3: the label 'c' does not occur in the training data, which has a, b."
    with pytest.raises(UserError, match="which has 0, 1, 2, 3, 4, 5, 6, 7 and 4 more"):
        Classify(tuple(map(str, range(12)))).examples(records("x"), COLUMNS, labelled=True)
    assert [e.label for e in Classify(("a", "b")).examples(records("c"), COLUMNS, labelled=False)] == [None]


@given(arrays(np.float32, (3, 4), elements=st.floats(-50, 50, width=32)))
def test_answers_are_the_softmax(logits_NC):
    task = Classify(tuple("abcd"))
    examples = [TextExample("t", None, None, "")] * 3
    for answer, logits in zip(task.answers(examples, units_of(range(3)), list(logits_NC)), logits_NC, strict=True):
        assert sum(answer.probabilities.values()) == pytest.approx(1)
        assert logits["abcd".index(answer.label)] == pytest.approx(logits.max(), abs=1e-6)
        assert answer.probability == max(answer.probabilities.values())


def test_windows_are_averaged():
    outputs = [np.asarray([1.0, 3.0]), np.asarray([0.0, 0.0]), np.asarray([3.0, 5.0])]
    assert mean_of_windows(2, units_of([0, 1, 0]), outputs).tolist() == [[2, 4], [0, 0]]


@pytest.mark.parametrize("task", [Classify(("a", "b")), MultiLabel(("a", "b"))])
def test_nothing_asked_nothing_answered(task):
    assert task.answers([], [], []) == []
    assert task.units([], tiny_tokenizers.bert(), Window(8)) == []


def test_every_window_has_the_label_of_its_text():
    task, tokenizer = Classify(("a", "b")), tiny_tokenizers.bert()
    units = task.units([TextExample("the " * 20, None, 1, ""), TextExample("of", None, 0, "")], tokenizer, Window(8, 2))
    assert len(units) > 4
    assert {(unit.example, unit.targets["label"]) for unit in units} == {(0, 1), (1, 0)}
    assert all(not unit.targets for unit in task.units([TextExample("of", None, None, "")], tokenizer, Window(8)))


def test_the_temperature_fits_the_held_out_labels(caplog):
    """Logits that are ten times too sure of answers that are right four times in five."""
    generator = np.random.default_rng(0)
    gold_N = generator.integers(0, 2, 400)
    right_N = np.where(generator.random(400) < 0.8, gold_N, 1 - gold_N)
    logits_NC = np.where(right_N[:, None] == [0, 1], 10.0, -10.0)
    task = Classify(("a", "b"))
    with caplog.at_level("INFO", logger="unmask"):
        task.tune([TextExample("", None, int(g), "") for g in gold_N], units_of(range(400)), list(logits_NC))
    assert "Probabilities are made less sure, to fit the held-out labels (temperature" in caplog.text
    assert task.settings["temperature"] == pytest.approx(20 / np.log(4), rel=0.2)


def test_one_label_for_everything_is_told(caplog):
    task, gold = Classify(("bad", "good")), [TextExample("", None, n % 2, "") for n in range(6)]
    task.tune(gold, units_of(range(6)), [np.asarray([0.5, -0.5]) * (-1) ** n for n in range(6)])
    assert not caplog.records
    task.tune(gold, units_of(range(6)), [np.asarray([0.5, -0.5])] * 6)
    assert "All 6 held-out examples get the label 'bad'" in caplog.text


def test_a_temperature_that_few_examples_cannot_tell_is_not_taken():
    """Three of six right: their best temperature is the largest, and would leave no probability but a half."""
    task = Classify(("a", "b"))
    gold = [TextExample("", None, label, "") for label in (0, 0, 0, 1, 1, 1)]
    task.tune(gold, units_of(range(6)), [np.asarray([0.5, -0.5])] * 6)
    assert task.settings["temperature"] == 1
    task.tune(gold * 20, units_of(range(120)), [np.asarray([0.5, -0.5])] * 120)
    # Of 120, half of them right: 0.589 is the least confidence that a test at 5 % rejects.
    assert task.settings["temperature"] == pytest.approx(1 / np.log(0.5887 / 0.4113), rel=0.01)


def test_a_temperature_needs_right_and_wrong_answers():
    """Small margins, five of six right: the best temperature is the least, and would make the model certain."""
    task = Classify(("a", "b"))
    margins = (0.03, 0.03, 0.03, 0.03, 0.03, -0.0001)
    gold = [TextExample("", None, 0, "") for _ in margins]
    task.tune(gold, units_of(range(6)), [np.asarray([margin, 0.0]) for margin in margins])
    assert task.settings["temperature"] == 1
    task.tune(gold * 5, units_of(range(30)), [np.asarray([margin, 0.0]) for margin in margins * 5])
    assert task.settings["temperature"] < 0.1


@pytest.mark.parametrize("missing", [None, "", " ", float("nan"), "-"])
def test_a_missing_label_is_left_out_and_told(caplog, missing):
    """SNLI has -1 or a dash where its annotators did not agree."""
    rows = records("neutral", missing, "entailment", "neutral", missing, "entailment")
    task = Classify.learn(rows, COLUMNS)
    assert task.classes == ("entailment", "neutral")
    assert not caplog.records
    assert [example.label for example in task.examples(rows, COLUMNS, labelled=True)] == [1, 0, 1, 0]
    assert caplog.messages == ["2 of 6 examples have no label and are left out; the first is x.csv, line 3."]
    assert len(task.examples(rows, COLUMNS, labelled=False)) == 6
    with pytest.raises(UserError, match=r"x\.csv, line 2: the label \('label'\) is missing, as in 2 of 3 rows; fill"):
        task.examples(records(missing, "neutral", missing), COLUMNS, labelled=True)


@pytest.mark.parametrize(
    "labels",
    [["+", "-"], ["1", "-", "0"], ["yes", "-"], ["-", "-", "-", "PER", "LOC"], ["n/a", "none", "a", "b"]],
)
def test_a_dash_that_is_a_label(labels):
    assert set(Classify.learn(records(*labels), COLUMNS).classes) == set(labels)


def test_nan_is_no_label():
    with pytest.raises(UserError, match="is missing"):
        Classify.learn(records("a", float("nan"), float("nan")), COLUMNS)
    assert MultiLabel.learn(records("a", float("nan"), ["b", None]), COLUMNS).classes == ("a", "b")


def test_class_weights():
    task = Classify(("a", "b", "never"))
    examples = [TextExample("", None, label, "") for label in (0, 0, 0, 1)]
    assert task.class_weights(examples) == pytest.approx([4 / 9, 4 / 3, 4 / 3])
    with pytest.raises(
        UserError, match="Class weights are for the classification of one label, not for several labels"
    ):
        MultiLabel(("a", "b")).class_weights(examples)


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        ("a, b", ["a", "b"]),
        ("b|a;b", ["b", "a"]),
        ("a、b", ["a", "b"]),
        ("", []),
        (None, []),
        (["b", " a "], ["b", "a"]),
        ('["a", "b"]', ["a", "b"]),
        ("['a', 'b']", ["a", "b"]),
        ("[a], b", ["[a]", "b"]),
    ],
)
def test_several_labels(said, labels):
    task = MultiLabel(("a", "b", "[a]"))
    (example,) = task.examples(records(said), COLUMNS, labelled=True)
    assert [task.classes[i] for i in example.label] == labels
    (unit,) = task.units([example], tiny_tokenizers.bert(), Window(8))
    assert unit.targets["labels"].tolist() == [float(name in labels) for name in task.classes]
    assert task.gold([example]).tolist() == [[name in labels for name in task.classes]]


def test_other_data_are_parted_as_the_training_data_were(caplog):
    caplog.set_level("INFO")
    task = MultiLabel.learn(records("Food, Drink|Travel", "Travel", "Food, Drink", ""), COLUMNS)
    assert task.classes == ("Food, Drink", "Travel")
    assert "The labels in 'label' are parted by '|': there are 2 different ones" in caplog.text
    again = MultiLabel(task.classes, json.loads(json.dumps(task.settings)))
    found = again.examples(records("Food, Drink", "Travel|Food, Drink", "['Travel']"), COLUMNS, labelled=True)
    assert [example.label for example in found] == [(0,), (1, 0), (1,)]
    assert MultiLabel.learn(records(["a", "b"], "a"), COLUMNS).settings == {}


def test_several_labels_that_are_none():
    with pytest.raises(UserError, match=r"x\.csv, line 2: 'label' must hold a list of labels, not an object"):
        MultiLabel.learn(records({"a": 1}), COLUMNS)
    with pytest.raises(UserError, match=r"there is none\."):
        MultiLabel.learn(records("", None), COLUMNS)
    with pytest.raises(UserError, match=r"'label' holds 0 and 1 only; with several such columns say all of them"):
        MultiLabel.learn(records("0", "1", "1"), COLUMNS)
    with pytest.raises(UserError, match=r"line 2: the label 'z' does not occur in the training data, which has a, b\."):
        MultiLabel(("a", "b")).examples(records("a,z"), COLUMNS, labelled=True)


def test_labels_of_at_least_a_half_the_likeliest_first():
    (answer,) = MultiLabel(("a", "b", "c")).answers(
        [TextExample("", None, None, "")], units_of([0]), [np.asarray([0.0, 2.0, -800.0])]
    )
    assert answer.labels == ("b", "a")
    assert answer.probabilities["a"] == 0.5
    assert 0 <= answer.probabilities["c"] < 1e-200
