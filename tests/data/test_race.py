"""RACE's articles become a record a question; everything else stays as it is."""

import json

import pytest

from unmask.data.race import one_a_question
from unmask.data.readers import read_records
from unmask.errors import UserError
from unmask.tasks import task_class
from unmask.train.labelled import columns_of

ARTICLE = {
    "article": "Ada wrote the first program.",
    "questions": ["Who wrote it?", "What did Ada write?"],
    "options": [["Ada", "Bob", "Eve", "Tom"], ["a poem", "a program", "a song", "a law"]],
    "answers": ["A", "B"],
    "id": "high1.txt",
}


@pytest.mark.parametrize("name", ["race.jsonl", "race.json"])
def test_a_file_of_articles(tmp_path, name):
    path = tmp_path / name
    text = json.dumps(ARTICLE)
    path.write_text(text + "\n" + text if name == "race.jsonl" else f"[{text}, {text}]")
    records = read_records(path)
    columns = columns_of("choose", records, {})
    found = task_class("choose")().examples(records, columns, labelled=True)
    assert [(e.question, e.choices[e.label]) for e in found] == [
        ("Who wrote it?", "Ada"),
        ("What did Ada write?", "a program"),
    ] * 2
    assert {e.context for e in found} == {ARTICLE["article"]}
    assert {record.values["id"] for record in records} == {"high1.txt"}


def test_articles_without_answers():
    found = list(one_a_question({name: value for name, value in ARTICLE.items() if name != "answers"}, "line 1"))
    assert [record["question"] for record in found] == ARTICLE["questions"]
    assert "answer" not in found[0]


@pytest.mark.parametrize(
    "entry",
    [
        {"question": "q", "options": ["a", "b"], "answer": "A"},
        {**ARTICLE, "questions": "Who?"},
        {**ARTICLE, "options": ["a", "b"]},
        {},
    ],
)
def test_other_records(entry):
    assert list(one_a_question(entry, "a.json, item 1")) == [entry]


def test_lists_of_unequal_length(tmp_path):
    path = tmp_path / "race.jsonl"
    path.write_text(json.dumps(ARTICLE) + "\n" + json.dumps({**ARTICLE, "options": ARTICLE["options"][:1]}))
    with pytest.raises(UserError) as error:
        read_records(path)
    assert str(error.value) == (
        f"{path}, line 2 must hold as many options and answers as questions, but holds 2 in 'questions', 1 in "
        "'options', 2 in 'answers'."
    )
