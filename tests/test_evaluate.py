"""Evaluation: figures with intervals that hold them, and a page, for every task; labels that cannot be compared."""

import json

import pytest

import small_tasks
import unmask
from unmask import UserError
from unmask.evaluate import evaluate
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
