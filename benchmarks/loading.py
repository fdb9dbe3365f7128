"""Loading a 125 M-parameter folder (RoBERTa-base): time and peak memory, ours on each backend and `transformers`.

Every load is a process of its own that has imported its framework before; memory is what the load added at its peak,
over the size of the weights in float32. PyTorch maps the file, ours as theirs, and reads it at the first use: hence the
time with a first forward pass of 128 tokens. Run: python benchmarks/loading.py
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

from timing import in_its_own_process, machine, ratio

IDS = np.arange(128)[None] + 5
CONTESTANTS = ("torch", "jax", "tensorflow", "transformers")


def peak_bytes():
    """The most memory that this process ever held since `forget_peak`; Linux keeps count."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


def forget_peak():
    Path("/proc/self/clear_refs").write_text("5")


def loader(contestant):
    if contestant == "transformers":
        import torch
        from transformers import RobertaForMaskedLM

        def forward(model):
            with torch.inference_mode():
                return model(torch.tensor(IDS)).logits.numpy()

        return RobertaForMaskedLM.from_pretrained, forward
    import unmask
    from unmask import backend

    backend.choose(contestant)
    from keras import ops

    import unmask.checkpoint
    import unmask.model

    ops.convert_to_numpy(ops.zeros(1))  # starts the backend
    return unmask.load_model, lambda model: ops.convert_to_numpy(model(IDS))


def worker(contestant, folder):
    load, forward = loader(contestant)
    before = psutil.Process().memory_info().rss
    forget_peak()
    start = time.perf_counter()
    model = load(folder)
    seconds = time.perf_counter() - start
    peak = peak_bytes() - before
    forward(model)
    print(json.dumps({"seconds": seconds, "with forward": time.perf_counter() - start, "bytes": peak}))


def write_model(folder):
    from unmask import backend, preset, save_model

    backend.choose("torch")
    from unmask.model import Bert

    model = Bert(preset("roberta", "base"), "mlm", seed=0)
    save_model(model, None, folder)
    print(json.dumps({"bytes": 4 * sum(v.value.numel() for v in model.trainable_variables)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", nargs=2, metavar=("CONTESTANT", "FOLDER"))
    parser.add_argument("--write", metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.worker:
        return worker(*options.worker)
    if options.write:
        return write_model(options.write)
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    with tempfile.TemporaryDirectory() as folder:
        weights = in_its_own_process(__file__, "--write", folder, environment=environment)["bytes"]
        runs = {name: [] for name in CONTESTANTS}
        for _ in range(options.rounds):
            for name in CONTESTANTS:
                runs[name].append(in_its_own_process(__file__, "--worker", name, folder, environment=environment))
    print(f"{machine()}; RoBERTa-base with its masked-LM head, {weights / 2**20:,.0f} MiB of float32; medians\n")
    columns = ("load, s", "/ transformers", "and forward, s", "/ transformers", "peak / weights")
    print(f"{'loaded by':<22}{columns[0]:>9}" + "".join(f"{column:>16}" for column in columns[1:]))
    for name, results in runs.items():
        print(f"{name if name == 'transformers' else f'unmask on {name}':<22}", end="")
        for what, width in (("seconds", 9), ("with forward", 16)):
            own, theirs = ([run[what] for run in runs[who]] for who in (name, "transformers"))
            print(f"{statistics.median(own):>{width}.2f}{ratio(own, theirs):>16.2f}", end="")
        print(f"{statistics.median(run['bytes'] for run in results) / weights:>16.2f}")
    return None


if __name__ == "__main__":
    main()
