"""Evaluation: figures with intervals that hold them, and a page, for every task; labels that cannot be compared."""

import json
import shutil

import pytest

import small_tasks
import unmask
from unmask import UserError
from unmask.evaluate import evaluate
from unmask.predict import Predictor
from unmask.report import write_evaluation

pytestmark = pytest.mark.backend

LEAST = {"classify": 0.85, "multi": 0.7, "pair": 0.85, "regress": 0.85, "tag": 0.9, "read": 85, "choose": 0.85}


@pytest.mark.parametrize("task", small_tasks.TASKS)
def test_the_way_to_the_page(tuned, tmp_path, task):
    found = evaluate(tuned.predictor(task), str(tuned.test_file(task)), samples=50)
    assert found.task == small_tasks.verb(task)
    assert found.n_examples == 40
    assert found.metrics[found.main] >= LEAST[task]
    for name, (low, high) in found.intervals.items():
        assert low <= found.metrics[name] <= high, name
    assert found.positive == ("good" if task in ("classify", "pair") else None)
    page = write_evaluation(found, tmp_path)
    html = page.read_text(encoding="utf-8")
    assert "<html" in html
    assert found.main.replace("_", " ") in html.lower().replace("_", " ")
    assert json.loads((tmp_path / "metrics.json").read_text())["metrics"][found.main] == pytest.approx(
        found.metrics[found.main]
    )


def test_figures_are_counted_by_hand(tuned):
    predictor = tuned.predictor("pair")
    rows = small_tasks.rows("pair", 40, seed=1)
    answers = predictor.classify([row["text_a"] for row in rows], [row["text_b"] for row in rows])
    right = sum(answer.label == row["label"] for answer, row in zip(answers, rows, strict=True))
    found = evaluate(predictor, str(tuned.test_file("pair")), samples=20)
    assert found.metrics["accuracy"] == pytest.approx(right / 40)


def test_spans_that_are_said_stand_in_for_the_tags_of_training(tuned, tmp_path):
    """As in a file of predictions, which has words, tags and entities."""
    predictor = tuned.predictor("tag")
    texts = ["the story of Anna, in Cairo.", "Boris was one hour with Clara"]
    rows = [
        {"text": a.text, "entities": [e._asdict() for e in a.entities], "words": ["x"], "tags": ["O"]}
        for a in predictor.tag(texts)
    ]
    path = small_tasks.write_rows(tmp_path / "tagged.jsonl", rows)
    found = evaluate(predictor, str(path), said={"text": "text", "spans": "entities"}, samples=20)
    assert found.metrics["f1"] == 1


def test_one_class_only_can_be_evaluated(tuned, tmp_path, caplog):
    """Areas under curves do not exist then; the rest does."""
    rows = [row for row in small_tasks.rows("classify", 30, seed=4) if row["label"] == "good"]
    path = small_tasks.write_rows(tmp_path / "good.csv", rows)
    found = evaluate(tuned.predictor("classify"), str(path), said={"label": "label"}, samples=20)
    assert "roc_auc" not in found.metrics
    assert found.metrics["accuracy"] > 0.8
    assert "There is only the label 'good': the accuracy means something" in caplog.text
    write_evaluation(found, tmp_path / "page")


def test_columns_of_conll_that_were_said_by_number(tuned, tmp_path):
    """The last column has tags too, but not those that were learnt."""
    rows = small_tasks.rows("tag", 30, seed=5)
    lines = [
        "\n".join(f"{token} {tag} O" for token, tag in zip(row["tokens"], row["tags"], strict=True)) for row in rows
    ]
    path = tmp_path / "two.conll"
    path.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    predictor = tuned.predictor("tag")
    said = {"tokens": "1", "tags": "2"}
    expected = evaluate(predictor, str(path), said=said, samples=20).metrics
    learnt = Predictor(predictor.tokenizer, predictor.model, {**predictor.settings, "columns": said})
    assert evaluate(learnt, str(path), samples=20).metrics == expected
    assert expected["f1"] > 0.8


def test_labels_that_training_has_not_seen(tuned, tmp_path):
    path = small_tasks.write_rows(tmp_path / "x.csv", [{"text": "the film", "label": "ugly"}] * 3)
    with pytest.raises(
        UserError, match="line 2: the label 'ugly' does not occur in the training data, which has bad, good"
    ):
        evaluate(tuned.predictor("classify"), str(path), said={"label": "label"})


def test_a_column_that_is_missing(tuned, tmp_path):
    path = small_tasks.write_rows(tmp_path / "x.csv", [{"text": "the film was", "n": 1}, {"text": "a story", "n": 2}])
    with pytest.raises(UserError, match="There is no column 'stars' for --label, only text, n"):
        evaluate(tuned.predictor("classify"), str(path), said={"label": "stars"})


def test_a_model_without_a_task(tuned):
    with pytest.raises(UserError, match="was trained for no task, nothing to predict; fine-tune a model for it first"):
        evaluate(unmask.load(tuned.base), str(tuned.test_file("classify")))


def test_a_reader_from_elsewhere_may_give_no_answer_if_the_data_ask_it(tuned, tmp_path, caplog):
    """Its folder has no task.json, which would tell what it learnt."""
    caplog.set_level("INFO", logger="unmask")
    folder = shutil.copytree(tuned("read"), tmp_path / "foreign")
    (folder / "task.json").unlink()
    predictor = unmask.load(folder)
    path = tuned.test_file("read")
    assert "no_answer_accuracy" not in evaluate(predictor, str(path), samples=20).metrics
    rows = [{**row, "answers": []} for row in small_tasks.rows("read", 5, seed=3)]
    rows += small_tasks.rows("read", 5, seed=4)
    asked = small_tasks.write_rows(tmp_path / "asked.jsonl", rows)
    found = evaluate(predictor, str(asked), samples=20)
    assert "5 of 10 questions have no answer, so here the model may give none" in caplog.text
    assert "no_answer_accuracy" in found.metrics
    assert any("No answer is given where its score is more than 0 above" in note for note in found.notes)
    assert predictor.task_for("read").settings["impossible"] is False  # elsewhere it answers as before
    (folder / "task.json").write_text('{"task": "read", "impossible": true}')  # as is advised
    again = unmask.load(folder)
    assert again.task_for("read").settings["impossible"] is True
    assert evaluate(again, str(asked), samples=20).metrics == found.metrics


def test_chinese_answers_of_a_reader_from_elsewhere_have_one_rule(tuned, tmp_path):
    folder = shutil.copytree(tuned("read"), tmp_path / "foreign")
    (folder / "task.json").unlink()
    answer = unmask.load(folder).answer(question="谁？", context="北京大学。")
    rows = [{"question": "谁？", "context": "北京大学。", "answers": [f"{answer.text}。"]}] * 2
    found = evaluate(unmask.load(folder), str(small_tasks.write_rows(tmp_path / "zh.jsonl", rows)), samples=20)
    assert found.metrics["exact_match"] == 100
    [words] = [one for one in found.sections if getattr(one, "title", "") == "By question word"]
    assert [row[2] for row in words.rows] == [100]


def test_what_was_cut_is_noted(tuned, monkeypatch):
    found = evaluate(tuned.predictor("classify"), str(tuned.test_file("classify")), max_length=6, samples=20)
    assert "6 tokens are read at once; longer texts are cut." in found.notes
    for temperature, is_told in ((1.0, False), (2.5, True)):
        predictor = tuned.predictor("classify")
        monkeypatch.setitem(predictor.task_for(None).settings, "temperature", temperature)
        found = evaluate(predictor, str(tuned.test_file("classify")), max_length=6, stride=2, samples=20)
        assert "6 tokens are read at once; longer texts are read in windows." in found.notes
        told = "The head's weights hold a temperature of 2.5, fitted in training."
        assert (told in found.notes) == is_told
