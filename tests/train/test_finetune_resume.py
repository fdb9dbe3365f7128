"""Exact resume of fine-tuning: killed or asked to stop, a run ends with bitwise the weights of one that never was."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from safetensors.numpy import load_file

from unmask import backend
from unmask.interruption import Interrupted
from unmask.train import finetune as module
from unmask.train.finetune import finetune
from unmask.train.log import read_log

pytestmark = pytest.mark.backend

OPTIONS = {"--epochs": 6, "--batch-size": 16, "--peak-rate": 3e-3, "--patience": 10, "--save-every": 2}


def start(tuned, out):
    command = [sys.executable, "-c", "from unmask.cli import main; main()", "finetune", "classify"]
    command += ["--model", tuned.base, "--train", tuned.data("classify").train, "--out", out]
    command += [part for option in OPTIONS.items() for part in option]
    return subprocess.Popen(
        [*map(str, command), "--backend", backend.current()],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=dict(os.environ),
    )


def stopped(tuned, out, step, how, seconds=0.0):
    """Starts, waits until a state of `step` or later is there, and sends a signal."""
    process = start(tuned, out)
    found = lambda: [int(path.name.removeprefix("step-")) for path in (out / "state").glob("step-*")]  # noqa: E731
    while max(found(), default=-1) < step and process.poll() is None:
        time.sleep(0.002)
    time.sleep(seconds)
    process.send_signal(how)
    output, _ = process.communicate(timeout=300)
    return process.returncode, output


def same(one, other):
    weights, others = (load_file(folder / "model.safetensors") for folder in (one, other))
    assert weights.keys() == others.keys()
    assert all(weights[name].tobytes() == others[name].tobytes() for name in weights)
    first, second = (json.loads((folder / "metrics.json").read_text()) for folder in (one, other))
    assert {k: v for k, v in first.items() if k != "hours"} == {k: v for k, v in second.items() if k != "hours"}
    steps = [[(line["kind"], line["step"]) for line in read_log(folder / "log.jsonl")] for folder in (one, other)]
    assert steps[0] == steps[1]


@pytest.mark.skipif("config.getoption('--backend') not in (None, 'torch')", reason="each process compiles anew")
def test_killed_at_random_moments(tuned, tmp_path):
    generator, out = random.Random(os.environ.get("KILL_SEED", "7")), tmp_path / "out"
    killed = 0
    for target in (0, 16, 36):
        step = target + generator.randrange(12)
        code, output = stopped(tuned, out, step, signal.SIGKILL, generator.random() * 0.05)
        killed += code == -signal.SIGKILL
    assert killed >= 1, output  # the machine decides how many of them come in time
    process = start(tuned, out)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    same(tuned("classify"), out)


@pytest.mark.skipif("config.getoption('--backend') not in (None, 'torch')", reason="each process compiles anew")
def test_asked_to_stop_it_saves_and_says_how_to_go_on(tuned, tmp_path):
    code, output = stopped(tuned, tmp_path / "out", 2, signal.SIGTERM)
    assert code == 0, output
    assert "all is saved. To go on, run the same command again:" in output
    assert "finetune classify --model" in output.splitlines()[-1]


def test_stopped_in_an_epoch_it_goes_on_bit_by_bit(tuned, tmp_path, monkeypatch, capsys):
    """In this process, so that every backend is tried."""
    tuning, out = tuned.tuning(epochs=6, save_every=200), tmp_path / "out"
    real = module.Tuner.step_input
    seen = []

    def asks_to_stop(self, units):
        seen.append(1)
        if len(seen) == 24:
            signal.raise_signal(signal.SIGTERM)
        return real(self, units)

    monkeypatch.setattr(module.Tuner, "step_input", asks_to_stop)
    with pytest.raises(Interrupted, match="all is saved"):
        finetune(tuned.data("classify"), str(tuned.base), out, tuning)
    assert len(seen) == 24
    assert "Going on" not in capsys.readouterr().err
    finetune(tuned.data("classify"), str(tuned.base), out, tuning)
    total = json.loads((out / "run.json").read_text())["total_steps"]
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Going on")]
    assert told == [f"Going on after step 23 of {total}."]
    same(tuned("classify"), out)
