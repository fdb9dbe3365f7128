"""The held-out part: documents that training never sees, chosen by a hash of their text and never by their place."""

import hashlib
import heapq
from collections.abc import Iterator

from unmask.corpus.ledger import Ledger
from unmask.data.shards import HELDOUT, TRAIN, Document
from unmask.errors import UserError

_KEYS = 1 << 63


def key_of(digest: bytes, seed: int) -> int:
    """A number below 2⁶³ that decides, from a document's digest and the seed."""
    made = hashlib.blake2b(digest, digest_size=8, key=seed.to_bytes(8, "little", signed=True))
    return int.from_bytes(made.digest(), "little") >> 1


def check_held_out(held_out: float) -> None:
    """Refuses what is neither a share nor a number of documents."""
    if held_out < 0 or (held_out > 1 and held_out != int(held_out)):
        raise UserError(f"--held-out is {held_out}; it must be a share below 1, or a number of documents.")


class HeldOut:
    """Says of each document to which split it goes; of a few it can say so only later.

    A share: every document whose key lies below the share, and if there is none, the one with the smallest key.
    A number: the documents with the smallest keys. Either way the same documents in any order.

    Args:
        held_out: a share below 1, or a number of documents from 1 on; 0 holds nothing out.
        ledger: keeps the documents of which nothing can be said yet.
    """

    def __init__(self, held_out: float, ledger: Ledger) -> None:
        check_held_out(held_out)
        self._ledger = ledger
        self._limit = int(held_out * _KEYS) if held_out < 1 else 0
        self._room = 0 if held_out == 0 else 1 if held_out < 1 else int(held_out)
        self._below = bool(ledger.read("held out by share"))
        self._heap = [(-key, -ordinal) for key, ordinal in ledger.candidates()]
        heapq.heapify(self._heap)

    def place(self, key: int, ordinal: int, document: Document) -> Iterator[tuple[str, Document]]:
        """The documents whose split is now known, perhaps among them this one."""
        if key < self._limit:
            if not self._below:
                self._below = True
                self._ledger.write("held out by share", True)
                yield from ((TRAIN, self._ledger.take_candidate(-number)) for _, number in self._heap)
                self._heap = []
            yield HELDOUT, document
        elif self._below or not self._room or self._is_too_large(key, ordinal):
            yield TRAIN, document
        else:
            self._ledger.add_candidate(key, ordinal, document)
            heapq.heappush(self._heap, (-key, -ordinal))
            if len(self._heap) > self._room:
                yield TRAIN, self._ledger.take_candidate(-heapq.heappop(self._heap)[1])

    def _is_too_large(self, key: int, ordinal: int) -> bool:
        return len(self._heap) == self._room and (-key, -ordinal) < self._heap[0]

    def rest(self, documents: int) -> Iterator[tuple[str, Document]]:
        """At the end: the documents of which nothing was said, in order; a corpus of one document holds none out."""
        split = HELDOUT if documents > 1 else TRAIN
        if len(self._heap) == documents > 1:
            raise UserError(f"--held-out {self._room} would hold out all {documents} documents; ask for fewer.")
        for _, ordinal in self._ledger.candidates():
            yield split, self._ledger.take_candidate(ordinal)
        self._heap = []
