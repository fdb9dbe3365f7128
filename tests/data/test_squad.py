"""Questions in the forms of SQuAD, DRCD and CMRC; what is missing in them is named."""

import json

import pytest

from unmask.data.squad import questions
from unmask.errors import UserError


def read(content):
    return [record for record, _ in questions(json.dumps(content), "a.json")]


def paragraph(**asked):
    return {"data": [{"title": "T", "paragraphs": [{"context": "Rome is old.", "qas": [asked]}]}]}


def test_squad_1_and_2():
    content = paragraph(id="q1", question="What?", answers=[{"text": "Rome", "answer_start": 0}])
    content["data"][0]["paragraphs"][0]["qas"].append(
        {"id": "q2", "question": "Who?", "answers": [], "is_impossible": True, "plausible_answers": [{"text": "old"}]}
    )
    assert read(content) == [
        {
            **{"id": "q1", "question": "What?", "context": "Rome is old.", "title": "T", "impossible": False},
            "answers": [{"text": "Rome", "start": 0}],
        },
        {
            **{"id": "q2", "question": "Who?", "context": "Rome is old.", "title": "T", "impossible": True},
            "answers": [],
        },
    ]


def test_the_first_form_of_cmrc():
    content = [
        {
            **{"context_id": "T1", "context_text": "罗马很古老。", "title": "罗马"},
            "qas": [{"query_id": "T1_Q", "query_text": "什么？", "answers": ["罗马", "雅典"]}],
        }
    ]
    [found] = read(content)
    assert (found["id"], found["question"], found["context"], found["title"]) == (
        "T1_Q",
        "什么？",
        "罗马很古老。",
        "罗马",
    )
    assert found["answers"] == [{"text": "罗马", "start": 0}, {"text": "雅典", "start": -1}]


@pytest.mark.parametrize("bare", [lambda content: content["data"][0], lambda content: content["data"]])
def test_one_article_alone_and_articles_in_a_list(bare):
    content = paragraph(question="What?")
    assert read(bare(content)) == read(content)


def test_one_paragraph_alone():
    content = paragraph(question="What?")
    (found,) = read(content["data"][0]["paragraphs"][0])
    assert (found["question"], found["context"]) == ("What?", "Rome is old.")


def test_questions_to_be_answered():
    assert read(paragraph(question="What?"))[0] == {
        **{"id": "1", "question": "What?", "context": "Rome is old.", "title": "T"},
        **{"answers": [], "impossible": False},
    }


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"version": 1}, "there is no list named data, only version"),
        ([1], "a.json, article 1 must be a JSON object, but is a int"),
        (7, "there is no list named data"),
        ({"data": ["x"]}, "a.json, article 1 must be a JSON object, but is a str"),
        ({"data": [{"paragraphs": [{"qas": []}]}]}, "article 1, paragraph 1 has no context, only qas"),
        (
            {"data": [{"paragraphs": [{"context": "x"}]}]},
            "a.json, article 1, paragraph 1 has no qas, only context; the file looks like JSON as SQuAD has it",
        ),
        ({"data": [{"paragraphs": {}}]}, "article 1: paragraphs must be a list, not a dict"),
        (paragraph(id="x"), "a.json, question 1 has no question, only id"),
        (paragraph(question="?", answers=[{"answer_start": 0}]), "question 1: an answer must have a text"),
        (paragraph(question="?", answers=[{"text": "R", "answer_start": "0"}]), "start at a whole number, not at '0'"),
        (paragraph(question="?", answers={"text": "R"}), "question 1: answers must be a list, not a dict"),
    ],
)
def test_what_is_refused(content, said):
    with pytest.raises(UserError, match=said):
        read(content)


def test_no_json():
    with pytest.raises(UserError, match=r"a.json is not valid JSON \(.*line 1 column 10"):
        list(questions('{"data": ', "a.json"))
