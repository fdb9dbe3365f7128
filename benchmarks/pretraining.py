"""Pretraining, tokens a second: ours against `RobertaForMaskedLM` with its collator, in turns.

Both sides get the same blocks (full sentences of the Gutenberg books, special tokens included), the same configuration
(dropout 0.1 everywhere, unless --dropout), the same number of tokens an update and of threads, AdamW and clipping, and
mask 15 % as they go: ours with `unmask.data.batches`, theirs with `DataCollatorForLanguageModeling` on ready tensors.
Ours computes the vocabulary, and the last layer, at masked positions only; theirs everywhere. Ours adds up an update's
gradients in equal pieces of at most --piece-tokens, as `unmask pretrain` does by itself; theirs runs in the same,
with the batch in one piece, and in smaller ones, of which its user would have to find the best (--their-piece-tokens).
Each side lives in a process of its own, as at its users', and waits while another one has its turn of four updates:
what one does with its memory is nothing to the others.

The share of the machine's matrix-multiply speed counts the multiplications that each side does (forward and twice that
backward) against square products of 1,024, which have their turns too, by MKL, which PyTorch takes by itself, and by
oneDNN, which ours asks for: what the faster of the two does is the machine's speed.

    UNMASK_DATA=… python benchmarks/pretraining.py --rounds 9
"""

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import torch

from timing import Apart, machine, ratio, take_turns
from unmask import backend, load_tokenizer
from unmask.config import ModelConfig
from unmask.corpus.build import build_corpus
from unmask.corpus.documents import texts_of
from unmask.data.batches import Batches
from unmask.data.shards import Corpus
from unmask.memory import freed_memory_kept
from unmask.text.train import Plan, train_tokenizer
from unmask.train.pretrain import Trainer, step_input_of
from unmask.train.recipe import Recipe

UPDATES_A_TURN = 4
SHAPES = {
    "4 × 256, vocabulary 8,000": {"n_layers": 4, "d_model": 256, "vocabulary": 8000},
    "6 × 384, vocabulary 50,265": {"n_layers": 6, "d_model": 384, "vocabulary": 50265},
}


def corpus_with(vocabulary: int, data: Path, scratch: Path) -> Corpus:
    files = sorted(str(path) for path in (data / "data/corpus/gutenberg").glob("*.gz"))[:4]
    if vocabulary == 50265:
        tokenizer = load_tokenizer(data / "models/granite-embedding-30m-english")
    else:
        tokenizer = train_tokenizer(texts_of(files)(), Plan(kind="bpe", vocab_size=vocabulary)).tokenizer
    return build_corpus(files, tokenizer, scratch / str(vocabulary))


class Ours:
    """The loop's inner part, with the settings of `unmask pretrain`: batch, gradients, update."""

    def __init__(self, folder: Path, recipe: Recipe):
        backend.make_deterministic()
        self.trainer = Trainer(Corpus(folder), load_tokenizer(folder), recipe, workers=0)
        self.number = 0
        self.memory = freed_memory_kept()
        self.memory.__enter__()  # for as long as this lives, as in a run

    def turn(self) -> None:
        for _ in range(UPDATES_A_TURN):
            self.step()

    def step(self) -> None:
        step_input = step_input_of(self.trainer.batches.step(self.number))
        for piece in step_input.pieces:
            self.trainer.learner.add(piece)
        self.trainer.learner.update(rate=1e-4, max_norm=1.0)
        self.number += 1


class Transformers:
    """What its users write, or its Trainer does, without the bookkeeping; gradients are added up over pieces."""

    def __init__(self, config: ModelConfig, rows: list[np.ndarray], size: int, n_pieces: int, folder: Path):
        from transformers import AutoTokenizer, DataCollatorForLanguageModeling, RobertaConfig, RobertaForMaskedLM

        self.model = RobertaForMaskedLM(
            RobertaConfig(
                vocab_size=config.vocab_size,
                hidden_size=config.d_model,
                num_hidden_layers=config.n_layers,
                num_attention_heads=config.n_heads,
                intermediate_size=config.d_ff,
                max_position_embeddings=config.max_positions + 2,
                type_vocab_size=1,
                hidden_dropout_prob=config.dropout,
                attention_probs_dropout_prob=config.attention_dropout,
            )
        ).train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-4, (0.9, 0.98), 1e-6, 0.01, fused=True)
        self.collator = DataCollatorForLanguageModeling(AutoTokenizer.from_pretrained(folder), mlm_probability=0.15)
        self.rows = [{"input_ids": torch.from_numpy(ids.astype(np.int64))} for ids in rows]
        self.size, self.n_pieces, self.number = size, n_pieces, 0

    def turn(self) -> None:
        for _ in range(UPDATES_A_TURN):
            self.step()

    def step(self) -> None:
        first = self.number * self.size % (len(self.rows) - self.size + 1)
        for chosen in np.array_split(np.arange(first, first + self.size), self.n_pieces):
            batch = self.collator([self.rows[i] for i in chosen])
            (self.model(**batch).loss * (len(chosen) / self.size)).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.number += 1


def our_turn(folder: Path, recipe: Recipe) -> Callable[[], None]:
    return Ours(folder, recipe).turn


def their_turn(*arguments: Any) -> Callable[[], None]:
    return Transformers(*arguments).turn


def their_rows(batches: Batches) -> list[np.ndarray]:
    """The blocks of some updates, each without padding."""
    blocks, order = batches.blocks, batches.blocks.order(0)
    return [
        blocks.batch(0, [index], blocks.row_length(0, int(index))).ids_BL[0] for index in order[: 40 * batches.size]
    ]


def multiplications(recipe: Recipe, vocabulary: int, *, everywhere: bool) -> float:
    """Floating-point operations of matrix products for one token, forward and backward."""
    width, length = recipe.d_model, recipe.length
    predicted = 1.0 if everywhere else recipe.mask_share
    layer, attention = 2 * 12 * width**2, 2 * 2 * length * width
    # Of the last layer, keys and values are needed everywhere, the rest where something is predicted.
    last = 2 * 2 * width**2 + predicted * (2 * 10 * width**2 + attention)
    head = predicted * 2 * (width**2 + width * vocabulary)
    return 3 * ((recipe.n_layers - 1) * (layer + attention) + last + head)


class MatrixProducts:
    """What this machine multiplies at best, measured in turns with the others, since its speed changes."""

    operations = 100 * 2 * 1024**3

    def __init__(self) -> None:
        self.square, self.zeros = torch.randn(1024, 1024), torch.zeros(1024)

    def by_mkl(self) -> None:
        for _ in range(100):
            self.square @ self.square

    @torch.inference_mode()
    def by_onednn(self) -> None:
        for _ in range(100):
            backend.linear(self.square, self.square, self.zeros)


def compare(name: str, data: Path, scratch: Path, options: argparse.Namespace) -> None:
    shape = dict(SHAPES[name])
    vocabulary = shape.pop("vocabulary")
    recipe = Recipe(
        size="mini",
        **shape,
        length=options.length,
        batch_tokens=options.batch_tokens,
        piece_tokens=options.piece_tokens,
        dropout=options.dropout,
        attention_dropout=options.dropout,
        steps=1,
    )
    corpus = corpus_with(vocabulary, data, scratch)
    trainer = Trainer(corpus, load_tokenizer(corpus.folder), recipe, workers=0)
    batches, rows = trainer.batches, their_rows(trainer.batches)
    pieces = {"transformers": 1}
    for tokens in options.their_piece_tokens:
        if options.batch_tokens > tokens:
            pieces[f"its pieces of {tokens:,}"] = -(-batches.size // (tokens // batches.blocks.length))
    sides = {"unmask": Apart(our_turn, corpus.folder, recipe)} | {
        name: Apart(their_turn, trainer.model.config, rows, batches.size, n_pieces, corpus.folder)
        for name, n_pieces in pieces.items()
    }
    products = {"MKL": MatrixProducts().by_mkl, "oneDNN": MatrixProducts().by_onednn}
    turns = {name: side.turn for name, side in sides.items()} | products
    seconds = take_turns(turns, rounds=options.rounds)
    for side in sides.values():
        side.end()
    speeds = {name: MatrixProducts.operations / statistics.median(seconds[name]) for name in products}
    speed = max(speeds.values())
    tokens = batches.size * batches.blocks.mean_length
    print(f"\n{name}, {tokens:,.0f} tokens an update, length {options.length}, dropout {options.dropout}")
    print(", ".join(f"{name} {flops / 1e9:,.0f} GFLOP/s" for name, flops in speeds.items()))
    print(f"{'':22}{'tokens/s':>10}{'share of matrix speed':>24}{'ours is':>12}")
    for side in sides:
        per_second = UPDATES_A_TURN * tokens / statistics.median(seconds[side])
        share = per_second * multiplications(recipe, vocabulary, everywhere=side != "unmask") / speed
        print(f"{side:22}{per_second:>10,.0f}{share:>23.0%}{1 / ratio(seconds['unmask'], seconds[side]):>10.2f} ×")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--batch-tokens", type=int, default=8192, help="of an update")
    parser.add_argument("--piece-tokens", type=int, default=4096)
    parser.add_argument("--their-piece-tokens", type=int, nargs="*", default=[2048, 4096])
    parser.add_argument("--dropout", type=float, default=0.1, help="everywhere; our small recipes have 0")
    parser.add_argument("--only", type=int, choices=range(len(SHAPES)), help="one shape alone")
    options = parser.parse_args()
    if not os.environ.get("UNMASK_DATA"):
        sys.exit("Set UNMASK_DATA to the folder with data/ and models/; see CONTRIBUTING.md.")
    print(f"{machine()}, PyTorch {torch.__version__}, {torch.get_num_threads()} threads")
    with tempfile.TemporaryDirectory() as scratch:
        for number, name in enumerate(SHAPES):
            if options.only in (None, number):
                compare(name, Path(os.environ["UNMASK_DATA"]), Path(scratch), options)


if __name__ == "__main__":
    main()
