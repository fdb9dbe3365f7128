"""Exact resume: a run that is killed at random moments ends with bitwise the weights of one that never was."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from safetensors.numpy import load_file

from data.corpora import write_text_corpus
from unmask import backend

pytestmark = pytest.mark.backend

RECIPE = """
size = "tiny"
n_layers = 1
n_heads = 2
d_model = 32
d_ff = 64
dropout = 0.1
attention_dropout = 0.1
length = 48
batch_tokens = 768
piece_tokens = 400
peak_rate = 5e-3
steps = 60
save_every = 4
evaluate_every = 30
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("resume")
    write_text_corpus(folder / "corpus")
    (folder / "recipe.toml").write_text(RECIPE)
    return folder


def start(place, out):
    """The command line in a process of its own."""
    command = [sys.executable, "-c", "from unmask.cli import main; main()", "pretrain", "--corpus", place / "corpus"]
    command += ["--out", place / out, "--config", place / "recipe.toml", "--backend", backend.current()]
    # What JAX compiled for one process serves the next: half of the time of these tests was compiling.
    cache = {"JAX_COMPILATION_CACHE_DIR": str(place / "compiled"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    return subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **cache},
    )


def saved_steps(place, out):
    folder = place / out / "state"
    return [int(path.name.removeprefix("step-")) for path in folder.glob("step-*")] if folder.exists() else []


def kill_after(place, out, step, seconds, how):
    """Starts, waits until a state of `step` or later is there and so many seconds more, and sends a signal."""
    process = start(place, out)
    while max(saved_steps(place, out), default=-1) < step and process.poll() is None:
        time.sleep(0.002)
    time.sleep(seconds)
    process.send_signal(how)
    output, _ = process.communicate(timeout=300)
    return process.returncode, output


@pytest.fixture(scope="module")
def uninterrupted(place):
    process = start(place, "whole")
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    return place / "whole"


def same(one, other):
    weights, others = (load_file(folder / "model.safetensors") for folder in (one, other))
    assert weights.keys() == others.keys()
    assert all(weights[name].tobytes() == others[name].tobytes() for name in weights)


def test_killed_at_random_moments(place, uninterrupted):
    generator = random.Random(os.environ.get("KILL_SEED", "7"))
    killed = 0
    for target in (0, 8, 24, 44):
        step = target + generator.randrange(8)
        code, output = kill_after(place, "killed", step, generator.random() * 0.05, signal.SIGKILL)
        killed += code == -signal.SIGKILL
    assert killed >= 2, output  # the machine decides how many of them come in time
    process = start(place, "killed")
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    same(uninterrupted, place / "killed")
    steps = lambda folder: [json.loads(line)["step"] for line in (folder / "log.jsonl").read_text().splitlines()]  # noqa: E731
    assert steps(place / "killed") == steps(uninterrupted)


def test_asked_to_stop_it_saves_and_says_how_to_go_on(place, uninterrupted):
    out, how = "asked", signal.SIGINT if backend.current() == "torch" else signal.SIGTERM
    code, output = kill_after(place, out, 4, 0.01, how)
    assert code == 0, output
    assert "all is saved. To go on, run the same command again:" in output
    assert "pretrain --corpus" in output.splitlines()[-1]
    process = start(place, out)
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    same(uninterrupted, place / out)
