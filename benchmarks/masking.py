"""Masking 32 × 512 tokens of real English text: ours against the collators of `transformers`, in turns.

Both begin with the same 32 blocks of 510 tokens between <s> and </s>, and end with masked ids and what is to be
predicted. "Collator" is all of it; "masking alone" leaves out the first step of both, which makes 32 blocks one batch.

- ours gets each block as our corpus gives it: arrays of ids and, for whole words, of where words begin. It stacks them
  and hides exactly 15 % of each block's tokens (whole words: at most).
- `transformers` gets each block in the form with which it is fastest: token-wise, a tensor (pt) or array (np) of ids,
  in which it finds special tokens itself, as ours does; for whole words, lists of ids, of offsets and of which tokens
  are special. It hides 15 % on average.

A turn is ten batches, one after another. Whole words become masks alone on both sides, since theirs know no 80/10/10
there. Theirs begin at gaps between offsets, so that a mark belongs to the word before it; ours are the pre-tokenizer's.
Run: UNMASK_DATA=… python benchmarks/masking.py
"""

import argparse
import gzip
import os
import statistics
import warnings
from pathlib import Path

import numpy as np

from timing import machine, ratio, take_turns

BATCH, LENGTH, SHARE = 32, 512, 0.15
BATCHES_A_TURN = 10


def read_blocks(folder):
    """(tokenizer, ids_BL, starts_BL, offsets_BL2) of the first tokens of a novel."""
    from unmask import load_tokenizer
    from unmask.text.words import WORD, BoundaryFinder

    tokenizer = load_tokenizer(folder / "models" / "granite-embedding-30m-english")
    with gzip.open(folder / "data" / "corpus" / "gutenberg" / "austen-emma.txt.gz", "rt", encoding="utf-8") as file:
        text = file.read(40 * BATCH * 80)
    encodings = tokenizer.rust.encode_batch([text], add_special_tokens=False)
    begins = BoundaryFinder(tokenizer, None).begins([text], encodings)[0]
    framed = np.zeros((BATCH, LENGTH, 4), np.int32)
    body = np.column_stack([encodings[0].ids, begins & WORD, encodings[0].offsets])[: BATCH * (LENGTH - 2)]
    framed[:, 1:-1] = body.reshape(BATCH, LENGTH - 2, 4)
    first, last = tokenizer.encode("").ids
    framed[:, 0, 0], framed[:, -1, 0] = first, last
    return tokenizer, framed[..., 0].copy(), framed[..., 1].astype(bool), framed[..., 2:].copy()


def ours(tokenizer, ids_BL, starts_BL, *, unit):
    """(with stacking, masking alone) of ours."""
    from unmask.data.masking import Masking, mask_blocks

    added = tokenizer.rust.get_added_tokens_decoder()
    masking = Masking(
        mask_id=tokenizer.mask_id,
        vocab_size=tokenizer.n_ids,
        special_ids=tuple(token for token, how in added.items() if how.special),
        share=SHARE,
        unit=unit,
        masked=1.0 if unit == "word" else 0.8,
        random=0.0 if unit == "word" else 0.1,
    )
    indices_B, epoch = np.arange(BATCH), iter(range(1 << 30))
    words = {"starts_BL": starts_BL} if unit == "word" else {}
    ids_rows, words_rows = [ids.copy() for ids in ids_BL], {"starts_BL": [starts.copy() for starts in starts_BL]}

    def stacked():
        return masked(np.stack(ids_rows), {name: np.stack(words_rows[name]) for name in words})

    def masked(ids, words):
        return mask_blocks(ids, indices_B, masking, seed=0, epoch=next(epoch), **words)

    return stacked, lambda: masked(ids_BL, words)


def theirs(tokenizer, ids_BL, offsets_BL2, *, unit, kind):
    """(the collator, its masking alone) of `transformers`, giving tensors of PyTorch (pt) or arrays (np)."""
    import torch
    import transformers

    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.rust, pad_token="<pad>", mask_token="<mask>", bos_token="<s>", eos_token="</s>"
    )
    words = {"whole_word_mask": True, "mask_replace_prob": 1, "random_replace_prob": 0} if unit == "word" else {}
    collator = transformers.DataCollatorForLanguageModeling(fast, mlm_probability=SHARE, return_tensors=kind, **words)
    special_BL = np.zeros_like(ids_BL)
    special_BL[:, [0, -1]] = 1
    given = {"input_ids": ids_BL.astype(np.int64), "special_tokens_mask": special_BL}
    given |= {"offset_mapping": offsets_BL2} if unit == "word" else {}
    if unit == "word":
        examples = [{name: values[row].tolist() for name, values in given.items()} for row in range(BATCH)]
    else:
        examples = [torch.tensor(ids) if kind == "pt" else ids for ids in given["input_ids"]]
    tensors = {name: torch.tensor(values) if kind == "pt" else values for name, values in given.items()}
    inputs = tensors.pop("input_ids")
    mask = collator.torch_mask_tokens if kind == "pt" else collator.numpy_mask_tokens

    # A collator takes its keys out of the batch, not out of the examples; masking writes into its input.
    return lambda: collator(examples), lambda: mask(inputs.clone() if kind == "pt" else inputs.copy(), **tensors)


def several(batch):
    """A turn: one batch after another, as in training."""
    return lambda: [batch() for _ in range(BATCHES_A_TURN)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    if not os.environ.get("UNMASK_DATA"):
        parser.error("set UNMASK_DATA to the folder with the real data; see CONTRIBUTING.md")
    warnings.simplefilter("ignore")
    tokenizer, ids_BL, starts_BL, offsets_BL2 = read_blocks(Path(os.environ["UNMASK_DATA"]))
    print(f"{machine()}; {BATCH} × {LENGTH} tokens of RoBERTa's vocabulary, {starts_BL.sum():,} words; medians of")
    print(f"{options.rounds} turns; theirs / ours is the median of ratios within a turn\n")
    columns = f"{'ours, ms':>11}{'theirs pt':>11}{'theirs np':>11}{'pt / ours':>11}{'np / ours':>11}"
    print(f"{'unit':<8}{'what':<16}{columns}")
    for unit in ("token", "word"):
        contestants = {
            "ours": ours(tokenizer, ids_BL, starts_BL, unit=unit),
            **{kind: theirs(tokenizer, ids_BL, offsets_BL2, unit=unit, kind=kind) for kind in ("pt", "np")},
        }
        for index, what in enumerate(("collator", "masking alone")):
            turns = {name: several(pair[index]) for name, pair in contestants.items()}
            seconds = take_turns(turns, rounds=options.rounds)
            times = "".join(f"{1e3 * statistics.median(of) / BATCHES_A_TURN:>11.2f}" for of in seconds.values())
            ratios = "".join(f"{1 / ratio(seconds['ours'], seconds[kind]):>11.1f}" for kind in ("pt", "np"))
            print(f"{unit:<8}{what:<16}{times}{ratios}", flush=True)


if __name__ == "__main__":
    main()
