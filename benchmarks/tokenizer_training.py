"""Training of tokenizers: time, and peak memory against the ceiling that was asked for.

    python benchmarks/tokenizer_training.py [--megabytes 200] [--memory 700M] [--files FILES…]

Each run is a process of its own on one made-up text, English-like words by Zipf's law with ever new ones among them and
unbroken Chinese clauses, or on the files given. The text is larger than what fits, so the sample is at work.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import in_its_own_process, machine


def write_text(path, megabytes):
    """Half Latin, half Chinese; half of the words are new ones, which is what fills memory."""
    draw = random.Random(0)
    common = ["".join(draw.choices("etaoinshrdlu", k=draw.randint(2, 9))) for _ in range(20_000)]
    han = [chr(0x4E00 + i) for i in range(3_000)]
    weights = [1 / (i + 1) for i in range(3_000)]
    with path.open("w", encoding="utf-8") as file:
        size = 0
        while size < megabytes * 1_000_000:
            words = [common[int(20_000 * draw.random() ** 3)] for _ in range(40)]
            words += ["".join(draw.choices("etaoinshrdlucmfwyp", k=10)) for _ in range(8)]
            draw.shuffle(words)
            clauses = ["".join(draw.choices(han, weights, k=draw.randint(3, 20))) for _ in range(8)]
            size += file.write(" ".join(words) + "\n" + "，".join(clauses) + "。\n\n") * 1.6


def one_run(kind, vocab_size, memory, files):
    """In its own process: the verb itself, and the greatest memory that it took."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["tokenizer", "train", "--kind", kind, "--vocab-size", vocab_size, "--out", f"{folder}/out"]
        start = time.perf_counter()
        ran = subprocess.run(
            [str(Path(sys.executable).parent / "unmask"), *command, *(["--memory", memory] if memory else []), *files],
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - start
        if ran.returncode:
            sys.exit(ran.stderr)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "peak": peak, "said": ran.stdout.splitlines()[:2]}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--memory", default="700M")
    parser.add_argument("--vocab-size", default="20000")
    parser.add_argument("--kinds", nargs="+", default=["bpe", "wordpiece", "unigram"])
    parser.add_argument("--files", nargs="+")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one_run(given.one, given.vocab_size, given.memory, given.files)
        return
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        files = given.files
        if not files:
            files = [str(Path(folder) / "text.txt")]
            write_text(Path(files[0]), given.megabytes)
        for kind in given.kinds:
            arguments = ["--one", kind, "--vocab-size", given.vocab_size, "--memory", given.memory, "--files", *files]
            found = in_its_own_process(__file__, *arguments, environment=dict(os.environ))
            print(f"{kind:10} {found['seconds']:7.1f} s  peak {found['peak']:7,.0f} MiB  {' '.join(found['said'])}")


if __name__ == "__main__":
    main()
