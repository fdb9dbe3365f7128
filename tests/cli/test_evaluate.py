"""`unmask evaluate` as a user meets it."""

import json

import pytest

from command_line import is_one_sentence, run

pytestmark = pytest.mark.backend


@pytest.fixture
def unmask(capsys, monkeypatch):
    return lambda *arguments: run(capsys, monkeypatch, "evaluate", *arguments)


def test_figures_and_page(tuned, tmp_path, unmask, caplog):
    ran = unmask(tuned("classify"), "--data", tuned.test_file("classify"), "--out", tmp_path / "page", "--samples", 20)
    assert ran.code == 0, ran.err
    assert "accuracy" in ran.out
    assert "95 % interval" in ran.out
    assert "precision of 'good' " in ran.out
    assert "macro f1 " in ran.out
    assert "already" not in caplog.text
    assert f"Look at {tmp_path / 'page' / 'evaluation.html'}" in ran.out
    assert (tmp_path / "page" / "evaluation.html").stat().st_size > 2000
    ran = unmask(
        tuned("classify"), "--data", tuned.test_file("classify"), "--out", tmp_path / "page", "--samples", 20, "--json"
    )
    assert f"{tmp_path / 'page'} has evaluation.html and metrics.json already, which this evaluation" in caplog.text
    assert json.loads(ran.out) == json.loads((tmp_path / "page" / "metrics.json").read_text())


def test_names_are_shown_as_they_are(tuned, tmp_path, unmask):
    """What stands in brackets is no markup, which rich would leave out."""
    data = tmp_path / "[bold]x.csv"
    data.write_bytes(tuned.test_file("classify").read_bytes())
    ran = unmask(tuned("classify"), "--data", data, "--out", tmp_path / "page", "--samples", 20)
    assert ran.code == 0, ran.err
    assert data.name in ran.out.replace("\n", "")


def test_mistakes(tuned, tmp_path, unmask):
    data = ["--data", tuned.test_file("classify")]
    (tmp_path / "ugly.csv").write_text("text,label\nthe film,ugly\n")
    for arguments, message in (
        ([tuned.base, *data], "was trained for no task, nothing to predict; fine-tune a model for it first."),
        ([tuned("classify"), "--data", tmp_path / "none.csv"], "none.csv"),
        ([tuned("classify"), *data, "--label", "stars"], "There is no column 'stars' for --label, only text, label."),
        ([tuned("classify"), *data, "--max-length", 99], "99 tokens, but this model reads 32; pass --max-length 32"),
        ([tuned("classify"), "--data", tmp_path / "ugly.csv", "--label", "label"], "the label 'ugly' does not occur"),
        ([tuned("regress"), *data, "--label", "label"], "line 2: 'label' must be a number"),
        ([tuned("classify"), *data, "--samples", 20, "--out", tmp_path / "ugly.csv" / "x"], "ugly.csv"),
        ([tmp_path, *data], "has no config.json, so it is no model folder."),
    ):
        assert is_one_sentence(unmask(*arguments), message)
