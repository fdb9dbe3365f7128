"""Questions: answers in whichever way they are written, found where they are said to be or elsewhere."""

import math

import numpy as np
import pytest

from unmask import UserError
from unmask.data.readers import Record
from unmask.tasks.questions import Given, count_letters, find, given_answers, mostly_chinese, read_question

CAT_SAT = [Given("cat", 4), Given("sat", 8)]
COLUMNS = {"question": "question", "context": "context", "answers": "answers", "id": "id"}


def question(answers, context="the cat sat on the mat", **others):
    values = {"id": 7, "question": "Where?", "context": context, "answers": answers, **others}
    return read_question(Record(values, "a.json, question 1"), COLUMNS, labelled=True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([{"text": "cat", "start": 4}], [Given("cat", 4)]),
        ([{"text": "cat", "answer_start": 4}, {"text": "sat", "start": -1}], [Given("cat", 4), Given("sat", None)]),
        ({"text": ["cat", "sat"], "answer_start": [4, 8]}, [Given("cat", 4), Given("sat", 8)]),
        ({"text": np.array(["cat"], object), "answer_start": np.array([4])}, [Given("cat", 4)]),
        ({"text": "cat", "start": 4}, [Given("cat", 4)]),
        ({"text": [], "answer_start": []}, []),
        (["cat", "sat"], [Given("cat", None), Given("sat", None)]),
        ("cat", [Given("cat", 4)]),
        ('[{"text": "cat", "start": 4}]', [Given("cat", 4)]),
        ("[1] cat", [Given("[1] cat", 4)]),
        ("[1994]", [Given("[1994]", 4)]),
        ("[]", []),
        ("['cat', 'it\\'s']", [Given("cat", None), Given("it's", None)]),
        ("{'text': ['cat'], 'answer_start': [4]}", [Given("cat", 4)]),
        ("{'text': array(['cat', 'sat'], dtype=object), 'answer_start': array([4, 8], dtype=int32)}", CAT_SAT),
        ("{'text': [], 'answer_start': []}", []),
        ('{"text": ["cat"], "answer_start": [4]}', [Given("cat", 4)]),
        ("{x} cat", [Given("{x} cat", 4)]),
        (math.nan, []),
        ([{"text": "", "start": -1}], []),
        ("", []),
        (None, []),
    ],
)
def test_answers_however_written(value, expected):
    assert given_answers({"answers": value, "answer_start": "4"}, COLUMNS, "here") == expected


def test_answers_that_cannot_be_read_are_no_text():
    with pytest.raises(
        UserError, match=r"line 3: the answers \"\{'text': \['cat' \.\.\..* cannot be read; write them as"
    ):
        given_answers({"answers": "{'text': ['cat' ... 'sat']}"}, COLUMNS, "line 3")


def test_a_start_as_our_own_predictions_call_it():
    assert given_answers({"answers": "cat", "start": "4", "end": "7"}, COLUMNS, "here") == [Given("cat", 4)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Given("cat", 4), ("cat", 4)),
        (Given("cat", None), ("cat", 4)),
        (Given("the", 14), ("the", 15)),
        (Given("the", 3), ("the", 0)),
        (Given("the", 99), ("the", 15)),
        (Given(" the cat ", 0), ("the cat", 0)),
        (Given("dog", 4), ("dog", None)),
        (Given("  ", 4), ("  ", None)),
    ],
)
def test_answers_are_found(given, expected):
    assert find("the cat sat on the mat", given) == expected


def test_a_question():
    found, moved = question(
        [{"text": "the mat", "start": 14}, {"text": "on the mat", "start": 12}, {"text": "x", "start": 0}]
    )
    assert moved == 1
    assert (found.id, found.impossible, found.place) == ("7", False, "a.json, question 1")
    assert found.answers == ("the mat", "on the mat", "x")
    assert found.starts == (15, 12, None)
    assert found.span == (15, 22)


def test_questions_without_answers():
    for answers, others in [([], {}), (None, {}), ([{"text": "cat", "start": 4}], {"impossible": True})]:
        found, moved = question(answers, **others)
        assert (found.impossible, found.answers, found.span, moved) == (True, (), None, 0)
    record = Record({"question": "Where?", "context": "here", "answers": ["here"]}, "b.csv, line 2")
    unknown, _ = read_question(record, COLUMNS, labelled=False)
    assert (unknown.impossible, unknown.answers, unknown.id) == (False, (), "b.csv, line 2")


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([{"start": 4}], "a.json, question 1: an answer must be a text"),
        ([5], "an answer must be a text, but 5 came"),
        ({"text": ["a", "b"], "answer_start": [1]}, "2 answers came with 1 starts"),
    ],
)
def test_what_is_no_answer(answers, message):
    with pytest.raises(UserError, match=message):
        question(answers)


@pytest.mark.parametrize(
    ("context", "answer", "chinese"),
    [("梵語 by Jones", "Jones", False), ("由威廉·瓊斯 (Jones) 發現", "1786", True), ("1786", "1786", False)],
)
def test_chinese_is_recognized(context, answer, chinese):
    assert mostly_chinese([count_letters(question([answer], context=context)[0])]) == chinese
    assert not mostly_chinese([])
