"""Labelled data: files become a task and examples; a part is held out fairly; what cannot be learnt is told."""

import logging
import random

import pytest

import small_tasks
from unmask import UserError
from unmask.data.readers import Reading
from unmask.tasks.task import as_trained
from unmask.train.labelled import Data, read_labelled


def write(folder, *lines, name="train.csv"):
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return name


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def read(task="classify", **changes):
    return read_labelled(Data(task=task, **changes), dev_share=0.25, seed=0)


@pytest.mark.parametrize("task", small_tasks.TASKS)
def test_a_part_is_held_out(tmp_path, task):
    train = str(small_tasks.write_data(tmp_path, task, n=80))
    found = read(small_tasks.verb(task), train=train, multi_label=task == "multi")
    assert len(found.train) + len(found.dev) == 80
    assert len(found.dev) == pytest.approx(20, abs=3)
    assert not {e.place for e in found.train} & {e.place for e in found.dev}
    data = Data(task=small_tasks.verb(task), train=train, multi_label=task == "multi")
    other = read_labelled(data, dev_share=0.25, seed=1)
    assert {e.place for e in other.dev} != {e.place for e in found.dev}


def test_equal_texts_are_on_one_side(tmp_path):
    lines = [f"text {n % 10},{'ab'[n % 2]}" for n in range(100)]
    found = read(train=write(tmp_path, "text,label", *lines))
    assert not {e.text for e in found.train} & {e.text for e in found.dev}
    assert {e.label for e in found.train} == {0, 1}


def test_pairs_are_held_out_as_pairs(tmp_path):
    lines = [f"the service,text {n},{'ab'[n % 2]}" for n in range(40)]
    found = read(train=write(tmp_path, "sentence1,sentence2,label", *lines))
    assert len(found.dev) == 10


def test_questions_without_a_context_are_held_out(tmp_path):
    lines = [f'{{"question": "who is {n}?", "choices": ["x", "y"], "label": {n % 2}}}' for n in range(20)]
    found = read("choose", train=write(tmp_path, *lines, name="train.jsonl"))
    assert len(found.dev) == 5


def test_empty_texts_are_not_held_out(tmp_path):
    lines = [f"{'' if n < 8 else f'text {n}'},{'ab'[n % 2]}" for n in range(40)]
    found = read(train=write(tmp_path, "text,label", *lines))
    assert all(e.text for e in found.dev)
    assert (len(found.train), len(found.dev)) == (24, 8)


def test_a_file_for_development(tmp_path):
    train = write(tmp_path, "text,label", "x one,a", "y two,b")
    dev = write(tmp_path, "id,text,label", "1,z three,b", name="dev.csv")
    found = read(train=train, dev=dev)
    assert (len(found.train), [e.label for e in found.dev]) == (2, [1])


def test_numbers_of_columns_mean_the_same_only_if_all_of_them_are_there():
    columns = {"text": "2", "pair": "3", "label": "1"}
    assert as_trained(columns, ["1", "2", "3"]) == columns
    assert as_trained(columns, ["1", "2"]) == {}
    assert as_trained({"text": "1", "label": "2"}, ["1"]) == {"text": "1", "pair": ""}
    assert as_trained({"text": "1", "pair": "b", "label": "label"}, ["b", "label"]) == {"pair": "b", "label": "label"}


def test_single_texts_stay_single_though_the_other_file_has_a_second_one(tmp_path):
    train = write(tmp_path, "sentence1,label", "x one,a", "y two,b")
    dev = write(tmp_path, "sentence1,sentence2,label", "z three,w four,b", name="dev.csv")
    assert read(train=train, dev=dev).dev[0].pair is None


def test_examples_without_text_are_left_out_of_training(tmp_path, caplog):
    train = write(tmp_path, "text,label", "x one,a", ",a", "y two,b", "z,b", "w,b")
    with caplog.at_level(logging.WARNING):
        found = read(train=train, dev=train)
    assert (len(found.train), len(found.dev)) == (4, 5)
    assert "1 of 5 examples have no text and are left out; the first is train.csv, line 3." in caplog.text


def test_examples_without_a_label_are_left_out(tmp_path, caplog):
    lines = [f"text {n},{['good', 'bad', '', '-'][n % 4]}" for n in range(40)]
    with caplog.at_level(logging.WARNING):
        found = read(
            train=write(tmp_path, "text,label", *lines), dev=write(tmp_path, "text,label", *lines[:9], name="dev.csv")
        )
    assert (found.task.classes, len(found.train), len(found.dev)) == (("bad", "good"), 20, 5)
    told = [message for message in caplog.messages if "no label" in message]
    assert told == [
        "20 of 40 examples have no label and are left out; the first is train.csv, line 4.",
        "4 of 9 examples have no label and are left out; the first is dev.csv, line 4.",
    ]


@pytest.mark.parametrize("least", [0, 3])
def test_examples_of_several_labels_are_held_out_in_the_number_asked_for(tmp_path, least):
    """Few have all the same labels, so that these are no classes."""
    draw = random.Random(0)
    lines = [f"text {n},{';'.join(draw.sample('abcdefghijklmnop', draw.randint(least, 6)))}" for n in range(400)]
    found = read(train=write(tmp_path, "text,label", *lines), multi_label=True)
    assert (len(found.train), len(found.dev)) == (300, 100)
    mean, of_dev = (sum(len(e.label) for e in part) / len(part) for part in (found.train, found.dev))
    assert of_dev == pytest.approx(mean, abs=0.2)


def test_imbalance_is_said(tmp_path, caplog):
    lines = [f"text {n},{'rare' if n % 30 == 0 else 'common'}" for n in range(90)]
    with caplog.at_level(logging.WARNING):
        read(train=write(tmp_path, "text,label", *lines))
    assert "The label 'common' has" in caplog.text
    assert "look at macro_f1, and consider --class-weights" in caplog.text


def test_class_weights_are_not_advised_where_they_are(tmp_path, caplog):
    lines = [f"text {n},{'rare' if n % 30 == 0 else 'common'}" for n in range(90)]
    data = Data(task="classify", train=write(tmp_path, "text,label", *lines))
    with caplog.at_level(logging.WARNING):
        read_labelled(data, dev_share=0.25, seed=0, weighted=True)
    assert "look at macro_f1." in caplog.text


def test_labels_that_look_like_measurements_are_said(tmp_path, caplog):
    lines = [f"text {n},{n % 7 / 4}" for n in range(40)]
    with caplog.at_level(logging.WARNING):
        read(train=write(tmp_path, "text,label", *lines))
    assert "The 7 labels are numbers, such as 0.25; to predict numbers, take `regress`." in caplog.text


def test_whole_numbers_as_pandas_writes_them_are_classes(tmp_path, caplog):
    read(train=write(tmp_path, "text,label", *(f"text {n},{n % 2}.0" for n in range(40))))
    assert "regress" not in caplog.text


def test_a_label_for_each_text_is_told(tmp_path, caplog):
    read(train=write(tmp_path, "text,label", *(f"text {n},{n} said so" for n in range(40))))
    assert "39 examples have 40 labels, most of them once, such as '0 said so': nothing can be learnt so" in caplog.text


def test_dev_examples_that_are_trained_on_are_told(tmp_path, caplog):
    lines = [f"text {n},{'ab'[n % 2]}" for n in range(40)]
    train = write(tmp_path, "text,label", *lines)
    read(train=train, dev=write(tmp_path, "text,label", *lines[:3], "another,a", name="dev.csv"))
    assert "3 of the 4 examples of" in caplog.text
    assert "dev.csv are among those to train on; figures will be better than they should." in caplog.text


def test_broken_tag_sequences_are_counted(tmp_path, caplog):
    lines = ["Anna I-PER", "in O", "", "Boris B-PER", "Berlin I-LOC", ""] * 4
    train = write(tmp_path, *lines, name="train.conll")
    with caplog.at_level(logging.WARNING):
        found = read("tag", train=train, dev=train, options={"scheme": "IOB2"})
    assert (
        "8 of 8 tag sequences break IOB2 (first: train.conll, line 1); they are read by conlleval's rules."
        in caplog.text
    )
    assert found.dev[0].tags == ("B-PER", "O")


@pytest.mark.parametrize(
    ("lines", "changes", "message"),
    [
        (["a,b", "x one,1"], {"columns": {"text": "review"}}, "There is no column 'review' for --text, only a, b."),
        (
            ["text,label", "x one,a", "y two,a"],
            {},
            "There must be at least two different labels to learn, but there is only 'a'.",
        ),
        (
            ["text,label", "x one,a", "y two,b"],
            {},
            "2 examples are too few to hold some of them out; give --dev, or more data.",
        ),
        (["text,label", ",a", ",b"], {"dev": True}, "no example has a text in 'text'; say --text."),
        (["text,label"], {}, "train.csv has a header and no rows: text, label."),
        (
            ["text,label", "x one,a", "y two,", "z,"],
            {},
            "train.csv, line 3: the label ('label') is missing, as in 2 of",
        ),
        (
            ["text,label", "x one,1", "y two,nan"],
            {"task": "regress", "dev": True},
            "train.csv, line 3: 'label' must be a number, but is 'nan'.",
        ),
        (["text,label"], {"task": "regress", "multi_label": True}, "--multi-label is for classify, not for regress"),
        (["text,label"], {"options": {"scheme": "IOB2"}}, "--scheme is for tag, not for classify; leave it out."),
        (["text,label", "x one,1"], {"task": "translate"}, "There is no task 'translate'; choose among"),
    ],
)
def test_what_cannot_be_learnt(tmp_path, lines, changes, message):
    train = write(tmp_path, *lines)
    columns = {"columns": {"text": "text", "label": "label"}} if "columns" not in changes else {}
    if changes.get("dev"):
        changes = {**changes, "dev": train}
    with pytest.raises(UserError) as error:
        read(train=train, **{**columns, "reading": Reading(header=True), **changes})
    assert message in str(error.value)


@pytest.mark.parametrize(("options", "classes"), [({}, ("a", "b;c")), ({"separator": ";"}, ("a,a", "b", "c", "c,a"))])
def test_a_separator_that_is_said(tmp_path, options, classes):
    lines = ['x one,"a,a"', 'y two,"b;c"', 'z three,"b;c,a"', "v four,b;c"]
    found = read(train=write(tmp_path, "text,label", *lines * 2), multi_label=True, options=options)
    assert found.task.classes == classes


def test_labels_that_training_has_not_seen(tmp_path):
    train = write(tmp_path, "text,label", "x one,a", "y two,b")
    dev = write(tmp_path, "text,label", "x one,a", "y two,c", name="dev.csv")
    with pytest.raises(UserError) as error:
        read(train=train, dev=dev)
    assert str(error.value) == ("dev.csv, line 3: the label 'c' does not occur in the training data, which has a, b.")


def test_what_makes_data_others(tmp_path):
    train = write(tmp_path, "text,label", "x one,a", "y two,b")
    data = Data(task="classify", train=train)
    first = data.fingerprint()
    assert Data(task="classify", train=train, columns={"text": None}).fingerprint() == first
    for change in (
        {"columns": {"text": "text"}},
        {"multi_label": True},
        {"dev": train},
        {"reading": Reading(encoding="gb18030")},
    ):
        assert Data(**{"task": "classify", "train": train, **change}).fingerprint() != first
    tags = Data(task="tag", train=train).fingerprint()
    assert Data(task="tag", train=train, options={"scheme": "IOB2"}).fingerprint() != tags
    folder = Data(task="classify", train=str(tmp_path))
    of_folder = folder.fingerprint()
    assert folder.fingerprint() == of_folder
    write(tmp_path, "text,label", "x one,a", "y three,b")
    assert data.fingerprint() != first
    assert folder.fingerprint() != of_folder
    piped = Data(task="classify", train="-")
    assert piped.fingerprint() != piped.fingerprint()
