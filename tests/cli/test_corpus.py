"""`unmask corpus` as a user meets it: a real process, its output and its exit code."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tiny_tokenizers

UNMASK = str(Path(sys.executable).parent / "unmask")
TEXT = "The cat sat.\n\nThe dog too!\n\n我爱北京。\n\nThe cat sat.\n\nThe end of it."


def run(*arguments, **more):
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "120"}
    command = [UNMASK, "corpus", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, **more)


def refused(*arguments, **more):
    ran = run(*arguments, **more)
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    assert "Traceback" not in ran.stderr
    lines = ran.stderr.splitlines()
    assert lines[-1].startswith("Error: ")
    return lines[-1]


@pytest.fixture
def tokenizer(tmp_path):
    tiny_tokenizers.bert().save(tmp_path / "tokenizer")
    return tmp_path / "tokenizer"


@pytest.fixture
def text(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path / "a.txt"


def build(tokenizer, out, *more, **kwargs):
    return run("build", "--tokenizer", tokenizer, "--out", out, "--workers", 1, *more, **kwargs)


def test_help():
    for arguments in (["--help"], ["build", "--help"], ["info", "--help"]):
        ran = run(*arguments)
        assert ran.returncode == 0
        assert "Usage: unmask corpus" in ran.stdout
    assert "crawl/**/*.jsonl.zst" in run("build", "--help").stdout


def test_build_and_info(tokenizer, text, tmp_path):
    ran = build(tokenizer, tmp_path / "out", text)
    assert ran.returncode == 0, ran.stderr
    for fact in ("documents", "1 exact duplicates", "Latin", "Han", "a.txt, line 9", "Warning: ", "1 documents, "):
        assert fact in ran.stdout
    assert run("info", tmp_path / "out").stdout == ran.stdout
    as_json = json.loads(run("info", tmp_path / "out", "--json").stdout)
    assert as_json["documents"] == 4
    assert as_json == json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))["report"]


def test_again_it_is_finished(tokenizer, text, tmp_path):
    first = build(tokenizer, tmp_path / "out", text)
    again = build(tokenizer, tmp_path / "out", text)
    assert (again.returncode, again.stdout) == (0, first.stdout)
    assert "is finished already" in again.stderr


def test_verify(tokenizer, text, tmp_path):
    build(tokenizer, tmp_path / "out", text)
    assert "7 files are as the manifest says." in run("info", tmp_path / "out", "--verify").stderr
    (tmp_path / "out" / "train" / "00000.ids.npy").write_bytes(b"x")
    assert "00000.ids.npy is not what the build wrote" in refused("info", tmp_path / "out", "--verify")


def test_standard_input(tokenizer, tmp_path):
    ran = build(tokenizer, tmp_path / "out", "-", "--json", input=TEXT)
    assert json.loads(ran.stdout)["documents"] == 4
    assert "is finished already" in build(tokenizer, tmp_path / "out", "-", input=TEXT).stderr


def test_mistakes(tokenizer, text, tmp_path):
    def with_(*more):
        return refused("build", "--tokenizer", tokenizer, "--out", tmp_path / "out", *more)

    assert with_(tmp_path / "none.txt") == f"Error: There is no file {tmp_path / 'none.txt'}."
    assert "--near-duplicates is 2.0; it must lie between 0 and 1" in with_(text, "--near-duplicates", 2)
    assert "knows no encoding" in with_(text, "--encoding", "klingon")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    assert "has no column 'text', only a, b" in with_(tmp_path / "t.csv", "--text", "text")
    (tmp_path / "b.txt").write_bytes(b"caf\xe9")
    assert "byte 0xe9 is not utf-8" in with_(tmp_path / "b.txt", "--encoding-errors", "refuse")
    assert "There is no folder" in refused("build", "--tokenizer", "none/at/all", "--out", tmp_path / "out", text)
    assert "is no finished corpus" in refused("info", tmp_path)


def contents(folder):
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop_it_saves_and_says_how_to_go_on(tokenizer, tmp_path, number):
    lines = [f"{i} and the cat of {i * i} sat in it that was his, {i * i * i} times" for i in range(60_000)]
    (tmp_path / "a.txt").write_text("\n\n".join(lines))
    shutil.copytree(tokenizer, tmp_path / "my tokenizer")
    arguments = ["build", "--tokenizer", tmp_path / "my tokenizer", "--out", tmp_path / "out", tmp_path / "a.txt"]
    arguments += ["--workers", "2", "--shard-tokens", "100000"]
    process = subprocess.Popen(
        [UNMASK, "corpus", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / "out" / "train").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    output, errors = process.communicate()
    assert (process.returncode, output) == (0, ""), errors
    line = errors.splitlines()[-1]
    assert line.startswith("Stopped. To go on, run: unmask corpus build --tokenizer '")
    ran = subprocess.run(
        f"{Path(UNMASK).parent}/{line.partition('run: ')[2]}", shell=True, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "Going on in" in ran.stderr
    whole = [*arguments[:4], tmp_path / "whole", *arguments[5:]]
    assert run(*whole).returncode == 0
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
