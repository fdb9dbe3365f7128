"""Multiple choice: choices and labels in every form that data have, and what is none."""

import numpy as np
import pytest

import tiny_tokenizers
from unmask import UserError
from unmask.data.readers import Record
from unmask.tasks.choose import Choose, put_in
from unmask.tasks.units import Window

COLUMNS = {"context": "context", "question": "question", "choices": "choices", "label": "label"}


def record(**values):
    usual = {"context": "the of", "question": "he was?", "choices": ["in", "it", "to"], "label": 1}
    return Record({**usual, **values}, "x.jsonl, line 4")


def example(columns=COLUMNS, *, labelled=True, **values):
    return Choose().examples([record(**values)], columns, labelled=labelled)[0]


@pytest.mark.parametrize("label", [1, "1", 1.0, "B", "b", "it", " it "])
def test_the_right_choice_however_it_is_said(label):
    assert example(label=label).label == 1


def test_choices_that_are_numbers_themselves():
    assert example(choices=["30", "40"], label="40").label == 1
    assert example(choices=["30", "1"], label="1").label == 1


def test_a_label_that_is_a_choice_in_every_example_is_meant_as_one():
    rows = [record(choices=["5", "3", "1"], label="1"), record(choices=["b", "a", "c"], label="a")]
    assert [found.label for found in Choose().examples(rows, COLUMNS, labelled=True)] == [2, 1]
    rows = [record(choices=["5", "3", "1"], label="1"), record(choices=["7", "8", "9"], label="1")]
    assert [found.label for found in Choose().examples(rows, COLUMNS, labelled=True)] == [1, 1]
    assert example(choices=["same", "same", "x"], label="x").label == 2


@pytest.mark.parametrize(
    "choices",
    [
        [{"label": "1", "text": "in"}, {"label": "2", "text": "it"}],
        {"label": ["1", "2"], "text": ["in", "it"]},
        '{"label": ["1", "2"], "text": ["in", "it"]}',
    ],
)
def test_choices_that_have_names(choices):
    found = example(choices=choices, label="1")
    assert (found.choices, found.label) == (("in", "it"), 0)


@pytest.mark.parametrize("wrong", [None, float("nan"), ["in"], {"answer": "in"}])
def test_choices_that_are_no_texts(wrong):
    with pytest.raises(UserError, match=r"line 4: a choice in 'choices' must be a text, but is"):
        example(choices=[wrong, "in", "it"])


@pytest.mark.parametrize("label", [3, -1, "D", "", None, "none of them"])
def test_labels_that_are_none_of_them(label):
    with pytest.raises(UserError) as error:
        example(label=label)
    assert str(error.value) == (
        f"x.jsonl, line 4: the label {label!r} is none of 3 choices; say it as 0 to 2, A to C, or by the choice's text."
    )


def test_more_choices_than_letters():
    with pytest.raises(UserError, match="A to Z"):
        example(choices=[f"choice {n}" for n in range(40)], label="99")


@pytest.mark.parametrize(
    ("choices", "found"),
    [(["in", "it"], ("in", "it")), ('["in", "it"]', ("in", "it")), ([1, 2.5], ("1", "2.5"))],
)
def test_choices_however_they_are_said(choices, found):
    assert example(choices=choices).choices == found


def test_choices_in_columns():
    columns = {**COLUMNS, "choices": "ending0, ending1"}
    for label in (1, "ending1", "it"):
        assert example(columns, choices=None, ending0="in", ending1="it", label=label).label == 1
    found = example(columns, choices=None, ending0="in", ending1="it")
    assert found.choices == ("in", "it")


def test_columns_that_a_question_with_fewer_choices_leaves_empty():
    columns = {**COLUMNS, "choices": "A,B,C,D"}
    cells = {"A": "in", "B": "it", "C": " ", "D": ""}
    assert example(columns, choices=None, label="B", **cells).choices == ("in", "it")
    with pytest.raises(UserError, match="the label 'D' is none of 2 choices"):
        example(columns, choices=None, label="D", **cells)


def test_choices_that_are_counted_from_one():
    rows = [record(label="1"), record(label="3")]
    task = Choose.learn(rows, COLUMNS)
    assert [found.label for found in task.examples(rows, COLUMNS, labelled=True)] == [0, 2]
    assert [found.label for found in task.examples(rows[:1], COLUMNS, labelled=True)] == [0]
    examples = task.examples(rows[:1], COLUMNS, labelled=True)
    units = task.units(examples, tiny_tokenizers.bert(), Window(16))
    (answer,) = task.answers(examples, units, [np.asarray([0.0, 9.0, 0.0])])
    assert (answer.number, answer.label) == (1, 2)
    with pytest.raises(UserError, match="the label '0' is none of 3 choices; say it as 1 to 3, A to C"):
        task.examples([record(label="0")], COLUMNS, labelled=True)


@pytest.mark.parametrize("labels", [["0", "2"], ["1", "2"], ["A", "3"], ["it", "3"], ["A", "0"]])
def test_choices_that_are_counted_from_nought(labels):
    assert Choose.learn([record(label=label) for label in labels], COLUMNS).settings == {"texts": False}


def chosen(task, best, n=3):
    """What the task answers where one of n choices has the highest score."""
    examples = task.examples([record(choices=[f"choice {i}" for i in range(n)])], COLUMNS, labelled=False)
    units = task.units(examples, tiny_tokenizers.bert(), Window(16))
    return task.answers(examples, units, [9.0 * (np.arange(n) == best)])[0]


@pytest.mark.parametrize(
    ("labels", "case", "label"),
    [
        (["A", "C"], "upper", "B"),
        (["A", " A "], "upper", "B"),
        (["a", "c"], "lower", "b"),
        (["a", "C"], "upper", "B"),
    ],
)
def test_choices_that_are_called_by_letters(labels, case, label):
    rows = [record(label=said) for said in labels]
    task = Choose.learn(rows, COLUMNS)
    assert task.settings == {"texts": False, "letters": case}
    assert (chosen(task, 1).number, chosen(task, 1).label) == (1, label)
    examples = task.examples(rows, COLUMNS, labelled=True)
    assert [found.label for found in examples] == ["AC".index(said.strip().upper()) * 2 for said in labels]
    assert task.metrics(examples, [chosen(task, found.label) for found in examples]) == {"accuracy": 1.0}


def test_letters_are_the_names_of_choices_too():
    columns = {**COLUMNS, "choices": "A,B"}
    rows = [record(choices=None, A="in", B="it", label="B")]
    assert Choose.learn(rows, columns).settings == {"texts": False, "letters": "upper"}
    named = [record(choices={"label": ["A", "B"], "text": ["in", "it"]}, label="B")]
    assert Choose.learn(named, COLUMNS).settings == {"texts": False, "letters": "upper"}
    texts = [record(choices=["A", "B"], label="B")]
    assert Choose.learn(texts, COLUMNS).settings == {"texts": True, "letters": "upper"}


@pytest.mark.parametrize(
    ("choices", "label"),
    [
        ({"label": ["B", "A"], "text": ["in", "it"]}, "A"),
        (["e", "a", "i"], "a"),
        (["in", "it"], "C"),
        (["in", "it"], "é"),
        (["in", "it"], "AB"),
        (["in", "it"], None),
    ],
)
def test_letters_that_count_no_choices(choices, label):
    rows = [record(choices=choices, label=label)]
    assert "letters" not in Choose.learn(rows, COLUMNS).settings


def test_labels_of_models_that_do_not_know_their_form_count_from_nought():
    assert chosen(Choose(), 1).label == 1


def test_after_the_last_letter_labels_are_still_texts():
    task = Choose((), {"letters": "upper"})
    assert [chosen(task, best, n=28).label for best in (25, 26)] == ["Z", "26"]
    assert (
        task.examples([record(choices=list(map(str, range(50, 78))), label="26")], COLUMNS, labelled=True)[0].label
        == 26
    )


@pytest.mark.parametrize("choices", ["in", ["in"], [], None])
def test_choices_that_are_none(choices):
    with pytest.raises(UserError) as error:
        example(choices=choices)
    assert str(error.value) == (
        f"x.jsonl, line 4: 'choices' must hold a list of two choices or more, but is {choices!r}."
    )
    with pytest.raises(UserError, match="must hold a JSON list of choices"):
        example(choices="[in, it]")


def test_the_gap_of_a_cloze_question():
    assert put_in("he _ it", "was") == "he was it"
    assert put_in("who was it?", "he") == "who was it? he"
    assert put_in("", "he") == "he"
    assert put_in("he is ____ .", "tall") == "he is tall ."
    assert put_in("他是_人", "好") == "他是好人"
    assert put_in("the_____", "cat") == "thecat"
    assert put_in("what does foo_bar do?", "nothing") == "what does foo_bar do? nothing"


def test_numbers_that_are_texts_of_choices_are_not_mixed_with_indices():
    columns = {"choices": "choices", "label": "label"}
    rows = [Record({"choices": ["2", "3", "1"], "label": label}, f"line {n}") for n, label in enumerate((3, 1, 2.0))]
    task = Choose.learn(rows, columns)
    assert task.settings["texts"] is True
    assert [one.label for one in task.examples(rows, columns, labelled=True)] == [1, 2, 0]


def test_what_labels_mean_is_as_in_training():
    """`2` is the choice's number, though a file has nothing but labels that are texts of choices too."""
    columns = {"choices": "choices", "label": "label"}
    first, second = (
        Record({"choices": choices, "label": label}, "here")
        for choices, label in ((["10", "20", "30"], "1"), (["2", "1", "0"], "2"))
    )
    task = Choose.learn([first, second], columns)
    assert [one.label for one in task.examples([first, second], columns, labelled=True)] == [1, 2]
    assert task.examples([second], columns, labelled=True)[0].label == 2
    texts = Choose.learn([second], columns)
    assert texts.settings["texts"] is True
    assert texts.examples([second], columns, labelled=True)[0].label == 0
    assert texts.examples([first], columns, labelled=True)[0].label == 1


def test_every_choice_is_a_row_that_fits():
    tokenizer, task = tiny_tokenizers.bert(), Choose()
    examples = [
        example(context="the " * 50),
        example(context="", label=2),
        example(labelled=False, choices=["in", "to"]),
    ]
    units = task.units(examples, tokenizer, Window(16))
    assert [len(unit.sequences) for unit in units] == [3, 3, 2]
    assert all(len(sequence.ids) <= 16 for unit in units for sequence in unit.sequences)
    assert [unit.targets for unit in units] == [{"label": 1}, {"label": 2}, {}]
    assert units[1].sequences[0].ids == tokenizer.encode("he was?", "in").ids
    assert units[2].sequences[1].ids == tokenizer.encode("the of", "he was? to").ids


@pytest.mark.parametrize(
    ("limit", "advice"), [(512, "; pass --max-length, up to 512, to read more of them."), (16, ".")]
)
def test_long_contexts_are_cut_and_no_windows_are_promised(caplog, limit, advice):
    task = Choose()
    task.units([example(context="the " * 50)], tiny_tokenizers.bert(), task.window(16, None, limit=limit))
    (told,) = caplog.messages
    assert told.startswith("3 of 3 texts are longer than 16 tokens and were cut (the longest, x.jsonl, line 4, has ")
    assert told.endswith(f"){advice}")


def test_a_stride_is_refused():
    with pytest.raises(UserError) as error:
        Choose().window(16, 4, limit=32)
    assert str(error.value) == "--stride is not for choose, which cuts what is too long; leave it out."
    with pytest.raises(UserError, match=r"64 tokens, but this model reads 32; pass --max-length 32\.$"):
        Choose().window(64, None, limit=32)


def test_answers_and_figures():
    task = Choose()
    examples = [example(), example(label=0), example(label=2)]
    units = task.units(examples, tiny_tokenizers.bert(), Window(16))
    answers = task.answers(examples, units, [np.log([0.2, 0.7, 0.1]), np.log([0.2, 0.7, 0.1]), np.asarray([0, 0, 900])])
    assert [(answer.number, answer.choice) for answer in answers] == [(1, "it"), (1, "it"), (2, "to")]
    assert answers[0].probabilities == pytest.approx((0.2, 0.7, 0.1))
    assert task.metrics(examples, answers) == {"accuracy": pytest.approx(2 / 3)}
    assert task.answers([], [], []) == []
