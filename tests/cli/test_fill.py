"""`unmask fill` as a user meets it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fill_tokenizers
import hf_models

pytestmark = pytest.mark.backend


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, tokenizer = tmp_path_factory.mktemp("bert"), fill_tokenizers.bert()
    hf_models.make("bert", "mlm", vocab_size=tokenizer.n_ids).save_pretrained(folder)
    tokenizer.save(folder)
    return folder


def run(*arguments, stdin=""):
    command = [str(Path(sys.executable).parent / "unmask"), "fill", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "120"}
    return subprocess.run(command, capture_output=True, text=True, check=False, input=stdin, env=environment)


def test_fill(folder):
    ran = run(folder, "Paris is the <mask> of [MASK].", "--top-k", 3)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("mask 2") == 1
    assert "The likeliest of each: Paris is the " in ran.stdout


def test_help():
    ran = run("--help")
    assert ran.returncode == 0
    assert 'unmask fill ./my-roberta "Paris is the <mask> of France."' in ran.stdout  # Markdown would eat the mask
    assert "Texts with <mask> or [MASK] in them" in ran.stdout


def test_for_programs(folder):
    ran = run(folder, "--json", "--top-k", 2, stdin="北[MASK]\n\na <mask>\n")
    answers = json.loads(ran.stdout)
    assert [answer["text"] for answer in answers] == ["北[MASK]", "a <mask>"]
    assert [len(mask["candidates"]) for answer in answers for mask in answer["masks"]] == [2, 2]
    assert set(answers[0]["masks"][0]["candidates"][0]) == {"token", "id", "text", "probability", "filled"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no mask here"], "has no mask"),
        (["a <mask>", "--top-k", "0"], "top_k is 0"),
        (["a <mask>", "--backend", "caffe"], "no backend 'caffe'"),
        ([], "Give a text with <mask> in it"),
    ],
)
def test_mistakes(folder, arguments, message):
    ran = run(folder, *arguments)
    assert ran.returncode == 2
    assert message in ran.stderr
    assert ran.stdout == ""
    assert "Traceback" not in ran.stderr
    assert ran.stderr.startswith("Error: ")
    assert ran.stderr.count("\n") == 1
