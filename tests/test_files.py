"""Files are whole or not there, and what a killed process left does not stay."""

import json
import signal
import subprocess
import sys

import pytest

from unmask.errors import UserError
from unmask.files import expanded, only_run_in, write_json

KILLED_WHILE_WRITING = """
import os, pathlib, signal, sys
from unmask.files import write_json
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
write_json(pathlib.Path(sys.argv[1]), {"new": True})
"""


def test_the_next_write_sweeps_what_a_killed_one_left(tmp_path):
    path = tmp_path / "note.json"
    write_json(path, {"old": True})
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert json.loads(path.read_text()) == {"old": True}
    assert len(list(tmp_path.iterdir())) == 2
    write_json(path, {"new": True})
    assert json.loads(path.read_text()) == {"new": True}
    assert [left.name for left in tmp_path.iterdir()] == ["note.json"]


@pytest.mark.parametrize("written", [False, True])
def test_a_refused_run_leaves_no_new_folder_unless_it_wrote_something(tmp_path, written):
    def refused():
        with only_run_in(tmp_path / "out"):
            if written:
                (tmp_path / "out" / "log.jsonl").touch()
            raise UserError("no such column")

    with pytest.raises(UserError, match="no such column"):
        refused()
    assert (tmp_path / "out").exists() == written


def test_a_refused_run_leaves_an_empty_folder_that_was_there(tmp_path):
    with pytest.raises(UserError), only_run_in(tmp_path):
        raise UserError("no such column")
    assert tmp_path.is_dir()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("~no-such-user/model", "no home folder ~no-such-user; write ~/no-such-user/model for what is in your own, or"),
        ("~no-such-user", "There is no home folder ~no-such-user; write ~/no-such-user for"),
    ],
)
def test_the_home_of_nobody(text, said):
    with pytest.raises(UserError, match=said):
        expanded(text)


def test_a_home_that_is_not_known(monkeypatch):
    monkeypatch.setattr("posixpath.expanduser", lambda path: path)
    with pytest.raises(UserError, match=r"There is no home folder ~; write the whole path\.$"):
        expanded("~/model")
