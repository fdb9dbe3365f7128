"""The choice of a backend: TensorFlow does not talk where a user reads what went wrong."""

import os
import subprocess
import sys

import pytest

TALKATIVE = """
import os
os.write(2, b"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\\n")
os.write(2, b"I0000 00:00:1 2 port.cc:153] oneDNN custom operations are on. You may see ...\\n")
os.write(2, b"something that matters\\n")
"""


@pytest.mark.parametrize(("level", "n_lines"), [(None, 1), ("2", 1), ("0", 3)])
def test_tensorflow_says_what_matters_alone(tmp_path, level, n_lines):
    (tmp_path / "tensorflow.py").write_text(TALKATIVE)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "KERAS_"))}
    environment |= {"PYTHONPATH": str(tmp_path)} | ({} if level is None else {"TF_CPP_MIN_LOG_LEVEL": level})
    program = "from unmask import backend; print(backend.choose('tensorflow'))"
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == "tensorflow\n"
    assert ran.stderr.splitlines()[-1] == "something that matters"
    assert len(ran.stderr.splitlines()) == n_lines
