"""Makes the curves of the guide to pretraining: small models on real text, English and Chinese, on this machine.

    UNMASK_DATA=… python docs/curves.py [--steps 3000] [--only gutenberg|reviews-zh]

Tokenizer, corpus and model are made by the commands that the page shows; the pictures and the figures go into docs/.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
UNMASK = str(Path(sys.executable).parent / "unmask")

RUNS = {
    "gutenberg": {
        "files": "data/corpus/gutenberg/*.gz",
        "tokenizer": ["--kind", "bpe", "--vocab-size", "8000"],
        "recipe": ["--config", "roberta-tiny"],
        "fill": ["The old man went down to the <mask> and looked at the ships.", "And God said unto <mask>, Go."],
    },
    "reviews-zh": {
        "files": "data/corpus/shopping_reviews_zh/*.gz",
        "tokenizer": ["--kind", "wordpiece", "--vocab-size", "6000"],
        "recipe": ["--config", "roberta-tiny", "--mask-unit", "word"],
        "fill": ["这本书的内容很[MASK][MASK]，值得一看。", "酒店的服务[MASK]度很好，房间也很干净。"],
    },
}


def unmask(*arguments: str) -> str:
    print("$ unmask", *arguments, flush=True)
    return subprocess.run([UNMASK, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def make(name: str, data: Path, scratch: Path, steps: int) -> None:
    run = RUNS[name]
    files = sorted(str(path) for path in data.glob(run["files"]))
    tokenizer, corpus, model = (str(scratch / name / part) for part in ("tokenizer", "corpus", "model"))
    unmask("tokenizer", "train", *run["tokenizer"], "--out", tokenizer, *files)
    report = json.loads(unmask("corpus", "build", "--tokenizer", tokenizer, "--out", corpus, "--json", *files))
    unmask("pretrain", "--corpus", corpus, "--out", model, *run["recipe"], "--steps", str(steps))
    shutil.copy(Path(model) / "curve.png", HERE / f"curve-{name}.png")
    filled = [json.loads(unmask("fill", model, text, "--top-k", "3", "--json")) for text in run["fill"]]
    metrics = json.loads((Path(model) / "metrics.json").read_text(encoding="utf-8"))
    print(json.dumps({"run": name, "metrics": metrics, "filled": filled}, indent=1, ensure_ascii=False))
    print(json.dumps(report, ensure_ascii=False)[:1500])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--only", choices=RUNS)
    options = parser.parse_args()
    if not os.environ.get("UNMASK_DATA"):
        sys.exit("Set UNMASK_DATA to the folder with data/ and models/; see CONTRIBUTING.md.")
    with tempfile.TemporaryDirectory() as scratch:
        for name in [options.only] if options.only else RUNS:
            make(name, Path(os.environ["UNMASK_DATA"]), Path(scratch), options.steps)


if __name__ == "__main__":
    main()
