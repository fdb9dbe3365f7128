"""The tour runs from beginning to end, and goes on after an interruption without doing anything twice."""

import json

import pytest

from unmask.cli.app import app
from unmask.quickstart import reviews
from unmask.quickstart.tour import Stopped, Tour


@pytest.fixture
def small(monkeypatch):
    # Few to learn from, but all the texts: the vocabulary must be large enough for their alphabet.
    few = reviews.Reviews(**{**vars(reviews.LANGUAGES["zh"]), "test": 30, "train": 60})
    monkeypatch.setitem(reviews.LANGUAGES, "zh", few)


def test_the_whole_tour(small, tmp_path, monkeypatch):
    told, ran = [], []

    def run(arguments):
        ran.append(arguments[0])
        if arguments[0] == "pretrain" and ran.count("pretrain") == 1:
            raise KeyboardInterrupt  # before anything is saved
        app(list(arguments), standalone_mode=False)

    monkeypatch.setattr("sys.argv", ["unmask", "quickstart"])
    tour = Tour(tmp_path, "zh", run=run, say=told.append, steps=2)
    with pytest.raises(KeyboardInterrupt):
        tour.take()
    before = list(ran)
    rows = tour.take()
    assert [row["model"].split()[0] for row in rows] == ["bag", "tiny", "tiny"]
    assert all(0 <= row["accuracy"] <= 1 for row in rows)
    assert json.loads((tmp_path / "results.json").read_text())["rows"] == rows
    assert (tmp_path / "from-pretrained" / "evaluation" / "evaluation.html").is_file()
    after = ran[len(before) :]
    assert "tokenizer" not in after
    assert "corpus" not in after
    assert sum(line.startswith("$ unmask ") for line in told) == len(ran)
    assert "unmask predict my-model --input NEW.csv" in told[-1]


def test_a_run_that_was_interrupted_ends_the_tour(small, tmp_path):
    def stopped(arguments):
        """What an interrupted `pretrain` leaves: a plan that is not finished."""
        (tmp_path / "pretrained").mkdir(exist_ok=True)
        (tmp_path / "pretrained" / "run.json").write_text("{}", encoding="utf-8")

    with pytest.raises(Stopped):
        Tour(tmp_path, "zh", run=stopped, say=lambda _: None)._until_finished("pretrained", "pretrain")
