"""The same fine-tuning with several seeds: how much of a figure is luck."""

import dataclasses
import logging
import shutil
import statistics
from pathlib import Path
from typing import Any

from unmask.checkpoint.tensors import published_together
from unmask.errors import UserError
from unmask.files import expanded, read_json, write_json
from unmask.train.finetune import finetune
from unmask.train.labelled import Data
from unmask.train.run_folder import refuse_foreign
from unmask.train.tuning import Tuning

log = logging.getLogger("unmask")

_PARTS = "seeds"


def finetune_seeds(
    data: Data, model: str, out: str | Path, tuning: Tuning, *, n: int, backend_name: str | None = None
) -> Path:
    """Fine-tunes `n` times, with the seeds from `tuning.seed` on; the folder gets the model that did best.

    Its metrics.json tells the figures of the best, and for each figure mean, standard deviation and all values.
    """
    folder = expanded(out)
    if n == 1:
        return finetune(data, model, folder, tuning, backend_name=backend_name)
    if not (folder / _PARTS).is_dir():
        refuse_foreign(folder)
        if (folder / "run.json").is_file():
            raise UserError(f"{folder} holds a run of one seed; choose another --out for {n} seeds.")
    _refuse_others(folder, tuning.seed)
    found: dict[int, dict[str, Any]] = {}
    for seed in range(tuning.seed, tuning.seed + n):
        part = folder / _PARTS / str(seed)
        # The same examples are held out for all: figures of different ones could not be compared.
        of_seed = dataclasses.replace(tuning, seed=seed, split_seed=tuning.seed_of_split)
        log.info("Seed %d.", seed)
        finetune(data, model, part, of_seed, backend_name=backend_name)
        found[seed] = read_json(part / "metrics.json")
    metric = str(read_json(folder / _PARTS / str(tuning.seed) / "task.json")["metric"])
    best = max(found, key=lambda seed: found[seed][metric])
    with published_together(folder) as scratch:  # the model of one seed, never parts of two
        for path in (folder / _PARTS / str(best)).iterdir():
            if path.is_file() and path.name != ".lock":
                shutil.copy2(path, scratch / path.name)
        write_json(scratch / "metrics.json", {**found[best], "best_seed": best, "seeds": _spread(list(found.values()))})
    return folder


def _refuse_others(folder: Path, first: int) -> None:
    """More seeds may be added to a run; seeds that begin elsewhere are another run, whose best would replace its."""
    known = [int(path.name) for path in (folder / _PARTS).glob("*") if path.name.isdecimal()]
    if known and min(known) != first:
        raise UserError(f"{folder} holds a run of seeds from {min(known)} on; choose another --out for {first} and on.")


def _spread(metrics: list[dict[str, Any]]) -> dict[str, Any]:
    """For each figure its mean, its standard deviation and its values."""
    spread = {}
    for name in metrics[0]:
        values = [entry[name] for entry in metrics if isinstance(entry.get(name), float)]
        if len(values) == len(metrics):
            spread[name] = {"mean": statistics.mean(values), "deviation": statistics.stdev(values), "values": values}
    return spread
