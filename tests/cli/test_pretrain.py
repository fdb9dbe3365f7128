"""`unmask pretrain` as a user meets it; the runs themselves are in tests/train."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from data.corpora import write_text_corpus
from unmask import backend

UNMASK = str(Path(sys.executable).parent / "unmask")
TINY = ["--size", "tiny", "--length", "48", "--batch-tokens", "768", "--set", "n_layers=1", "--set", "d_model=64"]


def run(*arguments):
    return subprocess.run([UNMASK, "pretrain", *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_text_corpus(tmp_path_factory.mktemp("corpus")).folder


@pytest.mark.backend
def test_a_run(corpus, tmp_path):
    command = ["--corpus", corpus, "--out", tmp_path / "model", *TINY, "--steps", 3, "--backend", backend.current()]
    ran = run(*command, "--json")
    assert ran.returncode == 0, ran.stderr
    metrics = json.loads(ran.stdout)
    assert metrics["steps"] == 3
    assert metrics["perplexity"] > 1
    assert "\x1b" not in ran.stderr
    again = run(*command)
    assert again.returncode == 0
    assert "is finished already" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "robert"], "There is no recipe and no file robert; did you mean roberta"),
        (["--size", "huge"], "size is 'huge', but must be one of tiny, mini, small, base, large"),
        (["--set", "pek_rate=1"], "--set has the unknown key 'pek_rate'; did you mean peak_rate?"),
        (["--set", "peak_rate"], "--set peak_rate has no value"),
        (["--steps", "5", "--epochs", "2"], "steps and epochs are both given"),
        (["--input-format", "segment-pair"], "segment-pair is for --objective mlm+nsp"),
        (["--mask-share", "2"], "mask_share is 2.0, but must lie between 0 and 1"),
        (["--steps", "0"], "steps is 0, but must be more than 0"),
    ],
)
def test_mistakes(corpus, tmp_path, arguments, message):
    ran = run("--corpus", corpus, "--out", tmp_path / "model", *arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("Error: ")
    assert message in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not (tmp_path / "model").exists()


def test_help_shows_recipes_and_examples():
    shown = run("--help").stdout
    assert all(name in shown for name in ("roberta-tiny", "bert-mini", "Examples"))
