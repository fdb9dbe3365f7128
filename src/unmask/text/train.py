"""Training of tokenizers: byte-level BPE as RoBERTa's, WordPiece as BERT's, Unigram as XLM-R's.

The same texts give the same bytes of tokenizer.json, whatever their order, the process and the number of threads.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors, trainers

from unmask.errors import UserError
from unmask.progress import Progress
from unmask.text.build import BERT_SPECIALS, ROBERTA_SPECIALS, byte_level_bpe, wordpiece
from unmask.text.counting import WordCounts
from unmask.text.tokenizer import Tokenizer
from unmask.text.unigram import most_seeds, train_unigram

KINDS = ("bpe", "wordpiece", "unigram")

_LONGEST = {"bpe": 256, "wordpiece": 100, "unigram": 128}
"""Characters of a word; longer ones are cut for training. BERT's WordPiece takes a longer word as unknown."""

_FIXED = 200 << 20
_PER_WORD = {"bpe": 700, "wordpiece": 700, "unigram": 400}
_PER_CHARACTER = {"bpe": 115, "wordpiece": 115, "unigram": 240}
_PER_SEED = 700
"""Bytes of memory at the peak; benchmarks/tokenizer_training.py measures that they suffice."""

_MOST_PAIRS = 2**31 - 1
"""The Rust trainer counts pairs in 32 bits and goes wrong without a word above this."""

_FEWEST_PAIRS = 2
_PRIVATE = 0xF0000
"""From here on Unicode has private characters only; a character inside a word is written as one of them in training."""


_LARGEST = 10_000_000
"""Ids; for many more the Rust library asks for memory that no machine has, and aborts."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What tokenizer to train.

    Args:
        kind: `bpe`, `wordpiece` or `unigram`.
        vocab_size: ids of the tokenizer, special tokens among them.
        lowercase: whether WordPiece lower-cases.
        strip_accents: whether WordPiece takes accents off; None: if it lower-cases, as BERT does.
        add_prefix_space: whether BPE puts a space before a text, so that its first word is like any other.
        coverage: the share of all characters that the alphabet of WordPiece and Unigram must cover.
        memory: ceiling of the process's memory in bytes; None: half of what the machine has.
    """

    kind: str
    vocab_size: int
    lowercase: bool = True
    strip_accents: bool | None = None
    add_prefix_space: bool = False
    coverage: float = 0.9999
    memory: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UserError(f"There is no kind {self.kind!r} of tokenizer; choose one of {', '.join(KINDS)}.")
        least = len(ROBERTA_SPECIALS) + (256 if self.kind == "bpe" else 1)
        if self.vocab_size < least:
            raise UserError(
                f"A vocabulary of {self.vocab_size:,} is too small: {self.kind} needs {least:,} ids at least, for its "
                f"special tokens and {'the 256 bytes' if self.kind == 'bpe' else 'the alphabet'}."
            )
        if self.vocab_size > _LARGEST:
            raise UserError(f"A vocabulary of {self.vocab_size:,} is too large; {_LARGEST:,} is the most.")
        if not 0 < self.coverage <= 1:
            raise UserError(f"Coverage must lie above 0 and not above 1, but is {self.coverage}.")
        least = self.fixed_memory + _FIXED
        if self.memory is not None and self.memory < least:
            raise UserError(
                f"Training {self.vocab_size:,} ids of {self.kind} cannot do with {self.memory >> 20:,} MiB of memory; "
                f"it needs {-(-least >> 20):,} MiB at least."
            )

    @property
    def fixed_memory(self) -> int:
        """Bytes that training takes however short the text."""
        return _FIXED + (_PER_SEED * most_seeds(self.vocab_size) if self.kind == "unigram" else 0)


@dataclass(frozen=True)
class Trained:
    """A trained tokenizer and what was seen on the way."""

    tokenizer: Tokenizer
    n_texts: int
    n_bytes: int
    share: float
    """The share of the bytes that was trained on; below 1 where all of them would not have fitted into memory."""
    bytes_per_token: float
    """On some two hundred lines of the texts."""
    unknown_share: float


def train_tokenizer(texts: Iterable[str], plan: Plan, *, n_bytes: int | None = None) -> Trained:
    """Trains a tokenizer on texts, each read once.

    Args:
        texts: the texts, in any order.
        plan: what to train.
        n_bytes: bytes of all texts, for the progress bar, if anybody knows.
    """
    counted = _count(texts, plan, n_bytes)
    if not counted.n_words:
        raise UserError(f"There is nothing to train on: {counted.n_texts:,} texts came, and no word in them.")
    _stay_countable(counted, plan)
    share = counted.share
    if share < 1:
        print(
            f"Training on {share:.1%} of the text, lines chosen by hash: all of it needs more than the memory allowed.",
            file=sys.stderr,
        )
    counts = counted.counts()
    counted.forget_words()
    rust, settings = {"bpe": _train_bpe, "wordpiece": _train_wordpiece, "unigram": _train_unigram}[plan.kind](
        counts, plan
    )
    tokenizer = Tokenizer(rust, settings)
    bytes_per_token, unknown_share = _measure(tokenizer, counted.shown())
    return Trained(tokenizer, counted.n_texts, counted.n_bytes, share, bytes_per_token, unknown_share)


def _count(texts: Iterable[str], plan: Plan, n_bytes: int | None) -> WordCounts:
    per_word, per_character = _PER_WORD[plan.kind], _PER_CHARACTER[plan.kind]
    ceiling = (memory_of_machine() // 2 if plan.memory is None else plan.memory) - plan.fixed_memory
    counted = WordCounts(
        split=_splitter(plan),
        cost=lambda word: per_word + per_character * len(word),
        ceiling=ceiling,
        opening=" " if plan.kind == "bpe" and plan.add_prefix_space else "",
        han_apart=plan.kind == "wordpiece",
    )
    with Progress("counting words", n_bytes, "bytes") as progress:
        for size in counted.add(texts):
            progress.advance(size, distinct=f"{counted.n_words:,}")
    return counted


def memory_of_machine() -> int:
    """Bytes of memory that this process may have at most."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no such limit, or the word "max"
        return total


def _splitter(plan: Plan) -> Callable[[str], list[str]]:
    longest = _LONGEST[plan.kind]
    if plan.kind == "bpe":
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)

        def bpe(chunk: str) -> list[str]:
            return [part for word, _ in byte_level.pre_tokenize_str(chunk) for part in _cut(word, longest)]

        return bpe
    if plan.kind == "wordpiece":
        normalizer, before = _bert_normalizer(plan), pre_tokenizers.BertPreTokenizer()

        def bert(chunk: str) -> list[str]:
            words = before.pre_tokenize_str(normalizer.normalize_str(chunk))
            return [word for word, _ in words if len(word) <= longest]

        return bert
    return lambda chunk: _cut("▁" + chunk.strip(), longest) if chunk.strip() else []


def _cut(word: str, longest: int) -> list[str]:
    return [word] if len(word) <= longest else [word[i : i + longest] for i in range(0, len(word), longest)]


def _stay_countable(counted: WordCounts, plan: Plan) -> None:
    """Thins the texts until no pair of neighbours occurs more often than the Rust trainer can count."""
    while plan.kind != "unigram" and counted.n_words > 1 and most_frequent_pair(counted.counts()) > _MOST_PAIRS:
        counted.thin()


def most_frequent_pair(counts: Mapping[str, int]) -> int:
    """How often the most frequent two neighbouring characters occur; no pair of longer tokens is more frequent."""
    if sum(counts.values()) * max(map(len, counts), default=0) <= _MOST_PAIRS:
        return 0  # too few characters for it to matter
    found: dict[tuple[str, str], int] = {}
    for word, n in counts.items():
        for pair in pairwise(word):
            found[pair] = found.get(pair, 0) + n
    return max(found.values(), default=0)


def _train_bpe(counts: dict[str, int], plan: Plan) -> tuple[tokenizers.Tokenizer, dict[str, Any]]:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens, merges = _merge(counts, alphabet, plan.vocab_size - len(ROBERTA_SPECIALS))
    _suffices(len(tokens) + len(ROBERTA_SPECIALS), plan, len(alphabet))
    ids = {token: i for i, token in enumerate([*ROBERTA_SPECIALS[:4], *tokens, ROBERTA_SPECIALS[4]])}
    rust = byte_level_bpe(ids, merges)
    if plan.add_prefix_space:
        rust.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        rust.post_processor = processors.RobertaProcessing(
            ("</s>", ids["</s>"]), ("<s>", ids["<s>"]), trim_offsets=True, add_prefix_space=True
        )
    return rust, {"bos_token": "<s>", "eos_token": "</s>", "add_prefix_space": plan.add_prefix_space}


def _train_wordpiece(counts: dict[str, int], plan: Plan) -> tuple[tokenizers.Tokenizer, dict[str, Any]]:
    """WordPiece as the merges of BPE over characters, where a character inside a word is another than at its start.

    The Rust trainer of WordPiece numbers the characters inside words in the order of a hash table, which decides
    between pairs of one frequency, so that each run gives another vocabulary; that of BPE has an order of its own.
    """
    covered = _alphabet(counts, plan.coverage, below=_PRIVATE)
    inside = sorted({c for word in counts if len(word) > 1 for c in word if c in covered})
    to_private = {ord(c): _PRIVATE + i for i, c in enumerate(inside)}
    words = {w[0] + w[1:].translate(to_private): n for w, n in counts.items() if covered.issuperset(w)}
    alphabet = [*sorted(covered), *map(chr, to_private.values())]
    _suffices(plan.vocab_size, plan, len(alphabet))
    tokens, _ = _merge(words, alphabet, plan.vocab_size - len(BERT_SPECIALS))
    _suffices(len(tokens) + len(BERT_SPECIALS), plan, len(alphabet))
    from_private = {private: ord_c for ord_c, private in to_private.items()}
    named = [("##" if ord(t[0]) >= _PRIVATE else "") + t.translate(from_private) for t in tokens]
    rust = wordpiece([*BERT_SPECIALS, *named], lowercase=plan.lowercase)
    rust.normalizer = _bert_normalizer(plan)
    settings = {"do_lower_case": plan.lowercase, "strip_accents": plan.strip_accents, "tokenize_chinese_chars": True}
    return rust, settings


def _bert_normalizer(plan: Plan) -> normalizers.BertNormalizer:
    return normalizers.BertNormalizer(lowercase=plan.lowercase, strip_accents=plan.strip_accents)


def _train_unigram(counts: dict[str, int], plan: Plan) -> tuple[tokenizers.Tokenizer, dict[str, Any]]:
    covered = _alphabet(counts, plan.coverage) | {"▁"}
    _suffices(plan.vocab_size, plan, len(covered))
    words: dict[str, int] = {}
    for word, n in counts.items():
        for part in [word] if covered.issuperset(word) else _known_parts(word, covered):
            words[part] = words.get(part, 0) + n
    print(f"Training pieces on {len(words):,} distinct words.", file=sys.stderr)
    # In order again: parts of words with unknown characters came between.
    ordered = {word: words[word] for word in sorted(words)}
    pieces = train_unigram(ordered, plan.vocab_size - len(ROBERTA_SPECIALS), forbidden=ROBERTA_SPECIALS)
    _suffices(len(pieces) + len(ROBERTA_SPECIALS), plan, len(covered))
    return _unigram(pieces), {"bos_token": "<s>", "eos_token": "</s>"}


def _unigram(pieces: list[tuple[str, float]]) -> tokenizers.Tokenizer:
    """XLM-R's tokenizer, without its table of normal forms: transformers takes no other normalizer than that table."""
    specials = [(token, 0.0) for token in ROBERTA_SPECIALS]
    rust = tokenizers.Tokenizer(models.Unigram([*specials[:4], *pieces, specials[4]], 3, byte_fallback=False))
    rust.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    )
    rust.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    rust.post_processor = processors.TemplateProcessing(
        single=["<s>", "$A", "</s>"],
        pair=["<s>", "$A", "</s>", "</s>", "$B", "</s>"],
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    rust.add_special_tokens(
        [AddedToken(token, special=True, lstrip=token == "<mask>", normalized=False) for token in ROBERTA_SPECIALS]
    )
    return rust


def _known_parts(word: str, covered: set[str]) -> list[str]:
    return "".join(c if c in covered else " " for c in word).split()


def _alphabet(counts: Mapping[str, int], coverage: float, *, below: int = sys.maxunicode + 1) -> set[str]:
    """The most frequent characters that make up so great a share of all; of one frequency, all or none."""
    found: dict[str, int] = {}
    for word, n in counts.items():
        for c in word:
            found[c] = found.get(c, 0) + n
    ranked = sorted((-n, c) for c, n in found.items() if ord(c) < below)
    sums = np.cumsum([-n for n, _ in ranked]) if ranked else np.zeros(1)
    needed = int(np.searchsorted(sums, coverage * sums[-1] * (1 - 1e-12))) + 1
    return {c for n, c in ranked if n <= ranked[min(needed, len(ranked)) - 1][0]}


def _suffices(possible: int, plan: Plan, n_alphabet: int) -> None:
    least = n_alphabet + len(ROBERTA_SPECIALS)
    if plan.vocab_size < least:
        raise UserError(
            f"A vocabulary of {plan.vocab_size:,} is too small for this text: its alphabet and the special tokens are "
            f"{least:,}; ask for {least:,} or more, or for a lower coverage than {plan.coverage}."
        )
    if possible < plan.vocab_size:
        raise UserError(
            f"The text yields a vocabulary of {possible:,} at most, but {plan.vocab_size:,} was asked for; "
            "lower the size, or give more text or, where only a sample of it fitted, more memory."
        )


def _merge(counts: Mapping[str, int], alphabet: list[str], size: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Byte-pair encoding of words by the Rust trainer: the tokens in order of their ids, and the merges."""
    rust = tokenizers.Tokenizer(models.BPE())
    rust.pre_tokenizer = pre_tokenizers.CharDelimiterSplit(" ")
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=_FEWEST_PAIRS,
        initial_alphabet=alphabet,
        show_progress=sys.stderr.isatty() and sys.stdout.isatty(),
    )
    print(f"Learning merges from {len(counts):,} distinct words.", file=sys.stderr)
    _interruptibly(lambda: rust.train_from_iterator(_repeated(counts), trainer))
    model = json.loads(rust.to_str())["model"]
    return sorted(model["vocab"], key=model["vocab"].__getitem__), [(left, right) for left, right in model["merges"]]


def _repeated(counts: Mapping[str, int], size: int = 1 << 15) -> Iterator[str]:
    """Each word as often as it was counted, for a trainer that counts by itself; many words to a string."""
    line: list[str] = []
    length = 0
    for word, count in counts.items():
        left = count
        while left:
            now = min(left, size // (len(word) + 1) + 1)
            line.append(" ".join([word] * now))
            length += now * (len(word) + 1)
            left -= now
            if length >= size:
                yield " ".join(line)
                line, length = [], 0
    yield " ".join(line)


def _interruptibly(work: Callable[[], object]) -> None:
    """Runs work that hears no Ctrl-C, being in Rust, in a thread that ends with the process."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  (raised again below)
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if failed:
        raise failed[0]


def _measure(tokenizer: Tokenizer, texts: list[str]) -> tuple[float, float]:
    encodings = tokenizer.rust.encode_batch(texts, add_special_tokens=False)
    tokens = [token for encoding in encodings for token in encoding.ids]
    unknown = tokens.count(tokenizer.rust.token_to_id(tokenizer.settings["unk_token"]) or 0)
    size = sum(len(text.encode()) for text in texts)
    return size / max(len(tokens), 1), unknown / max(len(tokens), 1)
