"""Files are whole or not there, and what a killed process left does not stay."""

import json
import signal
import subprocess
import sys

from unmask.files import write_json

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
