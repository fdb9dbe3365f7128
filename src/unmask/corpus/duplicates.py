"""Duplicates: equal documents by a hash, similar ones by MinHash (Broder 1997) with banding (Indyk, Motwani 1998).

What was seen lies in SQLite on disk, so memory has a bound whatever the size of the corpus, and a build that was
killed finds it again. Both kinds keep the first of its like, in the order of the documents.
"""

import hashlib
import sqlite3
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from unmask.data.where import optional
from unmask.errors import UserError

PERMUTATIONS = 128
SHINGLE = 5
"""Tokens in a row: the sets whose likeness is measured are those of a document's shingles."""

_CHUNK = 4096  # shingles permuted at a time: 2 MiB
_CANDIDATES = 64


def digest_of(text: str) -> bytes:
    """16 bytes that stand for a text."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


class ExactDuplicates:
    """Which documents came before."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.execute(
            "CREATE TABLE IF NOT EXISTS seen (digest BLOB PRIMARY KEY, ordinal INTEGER NOT NULL) WITHOUT ROWID"
        )

    def is_new(self, digest: bytes, ordinal: int) -> bool:
        """Whether no document of a smaller number has this digest. Asking again gives the same answer."""
        added = self._connection.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (digest, ordinal))
        if added.rowcount:
            return True
        first = self._connection.execute("SELECT ordinal FROM seen WHERE digest = ?", (digest,)).fetchone()
        return bool(first[0] >= ordinal)


class Signer:
    """Makes MinHash signatures of tokenized documents."""

    @cached_property
    def _empty(self) -> Any:
        # The scheme is named, so that signatures on disk stay comparable if the library's default changes.
        return optional("datasketch", "data").MinHash(PERMUTATIONS, seed=1, hashfunc=int, scheme="affine32")

    def signature(self, ids: np.ndarray) -> np.ndarray:
        """The signature of a document's shingles; a shorter document is one shingle."""
        sketch = self._empty.copy()
        shingles = np.unique(_shingles(ids))
        for start in range(0, len(shingles), _CHUNK):
            sketch.update_batch(shingles[start : start + _CHUNK].tolist())
        return np.asarray(sketch.hashvalues, np.uint32)


def _shingles(ids: np.ndarray) -> np.ndarray:
    """32 bits for each run of tokens."""
    ids, size = ids.astype(np.uint64), min(SHINGLE, len(ids))
    hashes = np.zeros(len(ids) - size + 1, np.uint64)
    for offset in range(size):
        hashes = (hashes + ids[offset : offset + len(hashes)] + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    return (hashes >> np.uint64(32)).astype(np.uint32)


class NearDuplicates:
    """Which documents are like one that was kept.

    Args:
        connection: where signatures are kept.
        threshold: the Jaccard similarity of shingles from which on a document is a duplicate.
    """

    def __init__(self, connection: sqlite3.Connection, threshold: float) -> None:
        if not 0 < threshold < 1:
            raise UserError(f"Near-duplicates are alike by a share between 0 and 1, such as 0.8, not {threshold}.")
        self._connection, self.threshold = connection, threshold
        # Candidates are compared by their signatures afterwards, so missing one weighs more than finding too many.
        lsh = optional("datasketch", "data").MinHashLSH(threshold, PERMUTATIONS, weights=(0.1, 0.9))
        self._bands, self._rows = int(lsh.b), int(lsh.r)
        connection.execute("CREATE TABLE IF NOT EXISTS signatures (ordinal INTEGER PRIMARY KEY, signature BLOB)")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS bands (key INTEGER, ordinal INTEGER, PRIMARY KEY (key, ordinal)) WITHOUT ROWID"
        )

    def is_new(self, signature: np.ndarray, ordinal: int) -> bool:
        """Whether no kept document is like this one; it is kept then."""
        keys = self._keys(signature)
        for other in self._candidates(keys):
            if np.mean(other == signature) >= self.threshold:
                return False
        self._connection.execute("INSERT INTO signatures VALUES (?, ?)", (ordinal, signature.tobytes()))
        self._connection.executemany("INSERT OR IGNORE INTO bands VALUES (?, ?)", [(key, ordinal) for key in keys])
        return True

    def _keys(self, signature: np.ndarray) -> list[int]:
        bands = signature[: self._bands * self._rows].reshape(self._bands, self._rows)
        hashes = (hashlib.blake2b(band.tobytes(), digest_size=8, salt=bytes([i])) for i, band in enumerate(bands))
        return [int.from_bytes(made.digest(), "little", signed=True) for made in hashes]

    def _candidates(self, keys: Sequence[int]) -> list[np.ndarray]:
        marks = ", ".join("?" * len(keys))
        rows = self._connection.execute(
            "SELECT signature FROM signatures WHERE ordinal IN "
            f"(SELECT DISTINCT ordinal FROM bands WHERE key IN ({marks}) ORDER BY ordinal LIMIT {_CANDIDATES})",
            keys,
        )
        return [np.frombuffer(signature, np.uint32) for (signature,) in rows]
