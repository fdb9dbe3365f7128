"""`unmask finetune` as a user meets it: what it says at the end, and each mistake in one sentence."""

import json

import pytest

import small_tasks
from command_line import is_one_sentence, run

pytestmark = pytest.mark.backend


@pytest.fixture
def unmask(capsys, monkeypatch):
    return lambda *arguments: run(capsys, monkeypatch, *arguments)


def arguments(tuned, out, *more, task="classify", train=None):
    train = train or tuned.data("classify").train
    return ["finetune", task, "--model", tuned.base, "--train", train, "--out", out, *more]


def test_help(unmask):
    ran = unmask("finetune", "--help")
    assert ran.code == 0
    assert "unmask finetune tag --model ./my-roberta --train train.conll" in ran.out


SHORT = ("--epochs", 0.4, "--batch-size", 16, "--peak-rate", 3e-3)


@pytest.mark.skipif("config.getoption('--backend') not in (None, 'torch')", reason="compiling is slow")
def test_what_it_says(tuned, tmp_path, unmask):
    ran = unmask(*arguments(tuned, tmp_path / "one", *SHORT))
    assert ran.code == 0, ran.err
    assert "Held out: accuracy " in ran.out
    assert f"Use it: unmask predict {tmp_path / 'one'} --input FILE --output FILE" in ran.out
    ran = unmask(*arguments(tuned, tmp_path / "one", *SHORT, "--json"))
    assert json.loads(ran.out)["steps"] == 4
    ran = unmask(*arguments(tuned, tmp_path / "two", *SHORT, "--seeds", 2))
    assert "Mean ± standard deviation of 2 seeds, and the best, seed" in ran.out
    assert " ± " in ran.out.split("Held out: accuracy ")[1]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--text", "review"], "There is no column 'review' for --text, only text, label."),
        (["--question", "text"], "--question has no meaning for classify, which knows --text, --pair, --label."),
        (["--max-length", 64], "64 tokens, but this model reads 32; pass --max-length 32 or --stride."),
        (["--freeze", 9], "--freeze 9, but this model has 1 layers."),
        (["--batch-size", 0], "batch_size is 0, but must be more than 0."),
        (["--precision", "float8"], "precision is 'float8', but must be float32 or mixed_bfloat16."),
        (["--scheme", "IOB2"], "--scheme is for tag, not for classify; leave it out."),
        (["--separator", ";"], "--separator parts several labels of a text; add --multi-label, or leave it out."),
        (["--multi-label", "--separator", "and"], "--separator is 'and', but must be one sign"),
        (["--lora", 0], "lora is 0, but must be more than 0."),
        (["--dev-share", 2], "dev_share is 2.0, but must lie between 0 and 1."),
        (["--stride", 40], "Windows of 32 tokens cannot share 40; take such as --stride 8."),
        (["--kind", "word"], "There is no kind of file 'word'"),
        (["--encoding", "klingon"], "klingon"),
        (["--dev", "nowhere.csv"], "nowhere.csv"),
        (["--model", "nowhere"], "nowhere"),
        (["--train", "nowhere.csv"], "nowhere.csv"),
        (["--backend", "caffe"], "caffe"),
    ],
)
def test_mistakes(tuned, tmp_path, unmask, more, message):
    assert is_one_sentence(unmask(*arguments(tuned, tmp_path / "out", *more)), message)


@pytest.mark.parametrize(
    ("lines", "more", "message"),
    [
        (["the film,a", "a story,a"] * 4, [], "at least two different labels to learn, but there is only 'a'"),
        (
            ["the film,a", "a story,b", "its end,", "an hour,", "of it,"] * 4,
            [],
            "train.csv, line 4: the label ('label') is missing, as in 12 of 20 rows;",
        ),
        ([",a", ",b"] * 4, ["--text", "text", "--dev", "train.csv"], "no example has a text in 'text'; say --text."),
    ],
)
def test_data_that_cannot_be_learnt(tuned, tmp_path, unmask, monkeypatch, lines, more, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.csv").write_text("\n".join(["text,label", *lines]) + "\n")
    more = [*more, "--label", "label", "--header"]
    assert is_one_sentence(unmask(*arguments(tuned, "out", *more, train="train.csv")), message)


def test_other_tasks_mistakes(tuned, tmp_path, unmask, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores = small_tasks.write_rows(
        tmp_path / "scores.csv", [{"text": f"the film {n}", "score": n / 7} for n in range(9)]
    )
    scores.write_text(scores.read_text() + "a story,nan\n")
    ran = unmask(*arguments(tuned, "a", "--label", "score", task="regress", train="scores.csv"))
    assert is_one_sentence(ran, "scores.csv, line 11: 'score' must be a number, but is 'nan'.")
    assert is_one_sentence(unmask(*arguments(tuned, "b", task="translate")), "There is no task 'translate'")
    tags = small_tasks.write_data(tmp_path, "tag", n=8)
    ran = unmask(*arguments(tuned, "c", "--scheme", "IOB9", task="tag", train=tags))
    assert is_one_sentence(ran, "There is no scheme 'IOB9'; choose one of IOB1, IOB2, IOBES, BILOU, plain.")
    tags.write_text("Anna B-PER\nwas O\nhere\n")
    assert is_one_sentence(unmask(*arguments(tuned, "d", task="tag", train=tags)), "line 3")


def test_outputs_that_cannot_be(tuned, tmp_path, unmask):
    (tmp_path / "file").write_text("")
    ran = unmask(*arguments(tuned, tmp_path / "file" / "out"))
    assert is_one_sentence(ran, "file is a file, not a folder; choose another place.")
    assert is_one_sentence(unmask(*arguments(tuned, tmp_path)), "holds something already (file)")
