"""`unmask predict` as a user meets it."""

import json

import pytest

from command_line import is_one_sentence, run
from unmask.cli.predict import _shown

pytestmark = pytest.mark.backend


@pytest.fixture
def unmask(capsys, monkeypatch):
    return lambda *arguments: run(capsys, monkeypatch, "predict", *arguments)


def test_texts(tuned, unmask):
    ran = unmask(tuned("classify"), "the film was great", "a dull story with its end", "[of] it")
    assert ran.code == 0, ran.err
    first, second, third = ran.out.splitlines()
    assert first.startswith("prediction good  probability ")
    assert second.startswith("prediction bad  probability ")
    assert third.startswith("prediction ")  # brackets are no markup


def test_for_programs(tuned, unmask):
    ran = unmask(tuned("tag"), "the film was Anna", "--json")
    (answer,) = json.loads(ran.out)
    assert answer["tags"] == ["O", "O", "O", "B-PER"]
    assert answer["entities"][0]["text"] == "Anna"
    assert "Anna = PER (13–17" in unmask(tuned("tag"), "the film was Anna").out


def test_other_tasks(tuned, unmask):
    assert "answer red" in unmask(tuned("read"), "which colour is it ?", "the film was red and a story").out
    assert "choice great film" in unmask(tuned("choose"), "the story", "awful end", "great film", "dull hour").out
    assert unmask(tuned("pair"), "the film", "a great story").out.startswith("prediction good")
    assert float(unmask(tuned("regress"), "joy great fine").out.split()[1]) > 0.4


def test_files(tuned, tmp_path, unmask):
    ran = unmask(tuned("classify"), "--input", tuned.test_file("classify"), "--output", tmp_path / "out.tsv")
    assert ran.code == 0, ran.err
    assert f"40 rows are in {tmp_path / 'out.tsv'}." in ran.out
    assert (tmp_path / "out.tsv").read_text().startswith("text\tlabel\tprediction\tprobability\tprobabilities\n")
    output = tmp_path / "again.tsv"
    ran = unmask(tuned("classify"), "--input", tuned.test_file("classify"), "--output", output, "--json")
    assert json.loads(ran.out) == {"rows": 40, "output": str(output)}


@pytest.mark.parametrize(
    ("task", "texts", "asked"),
    [
        ("classify", ["the film was great", "a dull story"], ["text"]),
        ("pair", ["the film", "a great story"], ["text", "pair"]),
        ("tag", ["the film was Anna"], ["text"]),
        ("read", ["which colour is it ?", "the film was red"], ["question", "context"]),
        ("choose", ["the story", "awful end", "great film"], ["question", "choices"]),
    ],
)
def test_answers_to_texts_in_a_file(tuned, tmp_path, unmask, task, texts, asked):
    output = tmp_path / "new" / "out.jsonl"
    ran = unmask(tuned(task), *texts, "--output", output)
    assert ran.code == 0, ran.err
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert ran.out.strip() == f"{len(rows)} rows are in {output}."
    assert [list(row)[: len(asked)] for row in rows] == [asked] * len(rows)
    found = [{name: value for name, value in row.items() if name not in asked} for row in rows]
    assert found == json.loads(unmask(tuned(task), *texts, "--json").out)
    if task == "classify":
        assert [row["text"] for row in rows] == texts
        assert unmask(tuned(task), *texts, "--output", tmp_path / "a.csv", "--json").out.startswith("[")
        header = "text,prediction,probability,probabilities"
        assert (tmp_path / "a.csv").read_text().splitlines()[0] == header


def test_mistakes(tuned, tmp_path, unmask):
    given = tuned.test_file("classify")
    (tmp_path / "file").write_text("")
    for arguments, message in (
        ([tuned("classify")], "Give either texts, or --input FILE with --output FILE."),
        ([tuned("classify"), "a", "--input", given], "Give either texts, or --input FILE with --output FILE."),
        ([tuned("classify"), "--input", given], "Say with --output where the answers go"),
        ([tuned("classify"), "--input", given, "--output", given], "is the input too; choose another name"),
        ([tuned("classify"), "--input", given, "--output", tmp_path / "out.docx"], "endings, with .gz after it or not"),
        ([tuned("classify"), "--input", given, "--output", tmp_path / "file" / "x.csv"], "is a file, not a folder"),
        ([tuned("classify"), "a", "--output", tmp_path / "file" / "y" / "x.csv"], "file is a file, not a folder"),
        ([tuned("classify"), "--input", given, "--output", tmp_path / "x.csv", "--text", "t"], "only text, label."),
        ([tuned("classify"), "a", "--output", tmp_path / "out.docx"], "endings, with .gz after it or not"),
        ([tuned("classify"), "a", "--max-length", 64], "64 tokens, but this model reads 32; pass --max-length 32"),
        ([tuned("choose"), "a", "b", "c", "--stride", 4], "--stride is not for choose, which cuts what is too long"),
        ([tuned("pair"), "a"], "This model reads pairs of texts; give two, four, … of them."),
        ([tuned("read"), "a"], "A model for read needs a question and what it is about: two texts or more."),
        ([tuned.base, "a"], "was trained for no task, nothing to predict; fine-tune a model for it first."),
    ):
        assert is_one_sentence(unmask(*arguments), message)


def test_nothing_found_is_shown_as_such():
    assert _shown([]) == "(none)"
    assert _shown(["good", "long"]) == "good long"
