"""The folder of a tokenizer: whole or not there, wherever it is and whenever somebody is killed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tiny_tokenizers
from unmask import UserError, load_tokenizer
from unmask.text import folder as module
from unmask.text import has_tokenizer
from unmask.text.folder import save_whole
from unmask.text.train import Plan, train_tokenizer


def test_saved_whole_or_not_at_all(tmp_path, monkeypatch):
    tokenizer = tiny_tokenizers.roberta()
    out = tmp_path / "deep" / "out"

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "sync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            save_whole(tokenizer, out)
    assert list(out.parent.iterdir()) == []
    out.mkdir()
    save_whole(tokenizer, out)  # an empty folder is as good as none
    assert {path.name for path in out.parent.iterdir()} == {"out"}
    with pytest.raises(UserError, match="is not empty"):
        save_whole(tokenizer, out)


def test_saved_into_the_folder_that_one_stands_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = tmp_path.stat().st_ino
    save_whole(tiny_tokenizers.roberta(), Path())
    assert tmp_path.stat().st_ino == before  # a shell that stands in it would be nowhere otherwise
    assert load_tokenizer(".").n_ids == tiny_tokenizers.roberta().n_ids
    assert not Path(".saving").exists()


KILLED_WHILE_SAVING = """
import os, pathlib, signal, sys
import tokenizers
from unmask.text.tokenizer import Tokenizer
from unmask.text.folder import save_whole

out, last = pathlib.Path(sys.argv[1]), sys.argv[2]
replace = pathlib.Path.replace

def dying(path, target):
    replace(path, target)
    if target == out / last:
        os.kill(os.getpid(), signal.SIGKILL)

pathlib.Path.replace = dying
save_whole(Tokenizer(tokenizers.Tokenizer.from_str(sys.stdin.read())), out)
"""


def test_one_who_was_killed_is_no_hindrance(tmp_path):
    """Killed between two files: what is there is no other tokenizer, and the next one takes its place."""
    plan = Plan(kind="bpe", vocab_size=270, add_prefix_space=True)  # which the vocabulary files do not tell
    tokenizer = train_tokenizer(["the cat and the other cat sat on the mat"] * 9, plan).tokenizer
    for last in ("tokenizer_config.json", "tokenizer.json", "vocab.json"):
        killed = subprocess.run(
            [sys.executable, "-c", KILLED_WHILE_SAVING, str(tmp_path / "out"), last],
            input=tokenizer.rust.to_str(),
            text=True,
            check=False,
        )
        assert killed.returncode == -signal.SIGKILL
        if has_tokenizer(tmp_path / "out"):
            assert load_tokenizer(tmp_path / "out").rust.to_str() == tokenizer.rust.to_str()
    save_whole(tokenizer, tmp_path / "out", {"options": {}})
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt", "trained_from.json"}
