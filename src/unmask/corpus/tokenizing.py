"""Documents → token ids on all cores, in order: the same ids for any number of workers."""

import multiprocessing
import os
import pickle
import re
import signal
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

from unmask.corpus.duplicates import Signer
from unmask.corpus.pieces import pieces_of
from unmask.corpus.scripts import count_scripts
from unmask.data.shards import SENTENCE, WORD, id_type
from unmask.errors import UserError
from unmask.text import Tokenizer
from unmask.text.words import BoundaryFinder, load_segmenter

_AT_ONCE = 1 << 18
"""Characters that are encoded at a time: the Rust library needs some hundred bytes for each token until it is read."""

_LONGEST_LINE = 200
_MOJIBAKE = re.compile("â€|Ã[\x80-\xbf©¨ª«¢¤¶¼Ÿ±]|ï»¿|Â[\xa0-\xbf]|锟斤拷|锘縸|烫烫烫|Ð[\x80-\xbf]")
"""UTF-8 that was read as Latin-1 or GBK and written again."""


class WorkerError(UserError):
    """Neither the files nor the options are to blame: the same command goes on from what is saved."""


@dataclass(frozen=True)
class Recipe:
    """What a worker must know; can be sent to a process."""

    tokenizer: str
    """tokenizer.json."""
    settings: dict[str, Any]
    segmenter: str
    with_signatures: bool


@dataclass(frozen=True)
class Tokenized:
    """Documents as ids, one after another, with figures of each."""

    ids: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    """Where each document ends among the ids."""
    figures: dict[str, np.ndarray]
    """For each document: tokens, words, sentences, unknown, characters, bytes."""
    signatures: list[np.ndarray] | None
    scripts: np.ndarray
    """Letters of each script, all documents together."""
    lines: dict[str, int]
    """Lines that occur more than once among these documents."""
    replaced: int
    """Replacement characters U+FFFD, all documents together."""
    mojibake: int


class BatchTokenizer:
    """Tokenizes documents and counts what is in them."""

    def __init__(self, recipe: Recipe) -> None:
        rust = tokenizers.Tokenizer.from_str(recipe.tokenizer)
        # "<mask>" in a document is what somebody wrote, not a mask.
        rust.encode_special_tokens = True
        tokenizer = Tokenizer(rust, recipe.settings)
        self._rust = tokenizer.rust
        self._id_type = id_type(tokenizer.n_ids)
        self._unknown = unknown_id(tokenizer)
        self._finder = BoundaryFinder(tokenizer, load_segmenter(recipe.segmenter))
        self._signer = Signer() if recipe.with_signatures else None

    def __call__(self, texts: Sequence[str]) -> Tokenized:
        """All of these documents."""
        ids, begins, lengths = self._encoded(texts)
        ends = np.cumsum(lengths)
        everything = "\n".join(texts)
        unknown = ids == self._unknown if self._unknown is not None else np.zeros(len(ids), bool)
        figures = {
            "tokens": lengths,
            "words": _sums((begins & WORD) != 0, ends),
            "sentences": _sums((begins & SENTENCE) != 0, ends),
            "unknown": _sums(unknown, ends),
            "characters": np.array([len(text) for text in texts], np.int64),
            "bytes": np.array([len(text.encode()) for text in texts], np.int64),
        }
        signatures = None
        if self._signer is not None:
            signatures = [self._signer.signature(part) for part in np.split(ids, ends[:-1])] if texts else []
        lines = Counter(line[:_LONGEST_LINE] for line in everything.split("\n"))
        return Tokenized(
            ids,
            begins,
            ends,
            figures,
            signatures,
            scripts=count_scripts(everything),
            lines={line: count for line, count in lines.items() if count > 1 and line},
            replaced=everything.count("\ufffd"),
            mojibake=sum(1 for _ in _MOJIBAKE.finditer(everything)) if not everything.isascii() else 0,
        )

    def _encoded(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        lengths = np.zeros(len(texts), np.int64)
        ids, begins = [np.zeros(0, self._id_type)], [np.zeros(0, np.uint8)]
        for group in _groups(texts):
            numbers, pieces, bits = zip(*group, strict=True)
            encodings = self._rust.encode_batch(list(pieces), add_special_tokens=False)
            found = self._finder.begins(pieces, encodings)
            for part, allowed in zip(found, bits, strict=True):
                part[:1] &= allowed  # a piece in the middle of a sentence begins none
            begins.extend(found)
            ids.append(np.fromiter(chain.from_iterable(encoding.ids for encoding in encodings), self._id_type))
            np.add.at(lengths, list(numbers), [len(encoding) for encoding in encodings])
        return np.concatenate(ids), np.concatenate(begins), lengths


def unknown_id(tokenizer: Tokenizer) -> int | None:
    """The id of unknown tokens, if the tokenizer has any."""
    token = tokenizer.settings.get("unk_token")
    token = token.get("content") if isinstance(token, dict) else token
    return None if token is None else tokenizer.rust.token_to_id(token)


def _groups(texts: Sequence[str]) -> Iterator[list[tuple[int, str, int]]]:
    """Pieces with the number of their document, a limited number of characters at a time."""
    group: list[tuple[int, str, int]] = []
    size = 0
    for number, text in enumerate(texts):
        for piece, bits in pieces_of(text):
            group.append((number, piece, bits))
            size += len(piece)
            if size >= _AT_ONCE:
                yield group
                group, size = [], 0
    if group:
        yield group


def _sums(values: np.ndarray, ends: np.ndarray) -> np.ndarray:
    totals = np.append(0, np.cumsum(values))
    return np.diff(totals[ends], prepend=0)


@dataclass
class Batch:
    """Documents on their way, and what was left out between them."""

    texts: list[str]
    """Taken away once they are sent to a worker."""
    ordinals: list[int]
    """The number of each among all documents read, from 0."""
    digests: list[bytes]
    places: list[tuple[str, str]]
    """The file of each, and where in it."""
    counts: dict[str, int]
    """For the report: `read`, `exact_duplicates`, `empty`, `invalid`, `mojibake`."""
    position: dict[str, int]
    """Where reading goes on after this batch."""


def tokenized(batches: Iterator[Batch], recipe: Recipe, workers: int, room: int) -> Iterator[tuple[Batch, Tokenized]]:
    """Each batch with its ids, in order.

    Processes, since most of the Python side holds the interpreter's lock. They end with this one, however it ends.

    Args:
        batches: what to tokenize.
        recipe: how.
        workers: processes; with 1 the work is done in this one.
        room: how many characters may be on their way at a time.
    """
    if workers == 1:
        tokenize = BatchTokenizer(recipe)
        for batch in batches:
            texts, batch.texts = batch.texts, []
            yield batch, tokenize(texts)
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy the locks of other threads as they are
    with tempfile.TemporaryDirectory() as folder:
        # In a file: a worker that dies before it has read a large argument leaves Python writing to it for ever.
        path = Path(folder) / "recipe"
        path.write_bytes(pickle.dumps(recipe))
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start, initargs=(path,))
        try:
            yield from _in_order(batches, pool, room)
        except BrokenProcessPool:
            raise WorkerError(
                "A worker died, most likely of too little memory: try fewer --workers; in a script of your own, the "
                'call must stand below `if __name__ == "__main__":`, since each worker reads the script.'
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _in_order(batches: Iterator[Batch], pool: ProcessPoolExecutor, room: int) -> Iterator[tuple[Batch, Tokenized]]:
    waiting: deque[tuple[Batch, int, Future[Tokenized]]] = deque()
    size = 0
    for batch in batches:
        texts, batch.texts = batch.texts, []
        with _without_signals():
            future = pool.submit(_tokenize, texts)
        waiting.append((batch, sum(map(len, texts)), future))
        size += waiting[-1][1]
        while waiting and (size >= room or waiting[0][2].done()):
            done, n, future = waiting.popleft()
            size -= n
            yield done, future.result()
    while waiting:
        done, _, future = waiting.popleft()
        yield done, future.result()


@contextmanager
def _without_signals() -> Iterator[None]:
    """Processes that are started here never hear of Ctrl-C, which a terminal sends to all; this one does, later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_worker: BatchTokenizer | None = None


def _start(recipe: Path) -> None:
    """A worker's beginning."""
    global _worker  # noqa: PLW0603  (a process of the pool has no other place for it)
    for number in (signal.SIGINT, signal.SIGTERM):  # both may reach all processes; the first one decides
        signal.signal(number, signal.SIG_IGN)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker = BatchTokenizer(pickle.loads(recipe.read_bytes()))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _tokenize(texts: list[str]) -> Tokenized:
    if _worker is None:
        raise RuntimeError("the worker was not started")
    return _worker(texts)
