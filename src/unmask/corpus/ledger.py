"""The ledger of a corpus build: all that is known at a moment, in one SQLite file; it changes whole or not at all."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np

from unmask.data.shards import Document, Documents
from unmask.errors import UserError

_CACHE_KIB = 32 * 1024


class Ledger:
    """Facts by name, documents that wait for their shard, and those that may yet be held out.

    Args:
        path: the file; made if it is not there.
        id_type: of token ids.
    """

    def __init__(self, path: Path, id_type: type[np.unsignedinteger]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(path)
        self._id_type = id_type
        try:
            self.connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            self.connection.execute("CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT)")
            self.connection.execute(
                "CREATE TABLE IF NOT EXISTS waiting "
                "(number INTEGER PRIMARY KEY, split TEXT, ids BLOB, begins BLOB, lengths BLOB)"
            )
            self.connection.execute(
                "CREATE TABLE IF NOT EXISTS candidates "
                "(key INTEGER, ordinal INTEGER PRIMARY KEY, ids BLOB, begins BLOB)"
            )
        except sqlite3.DatabaseError as error:
            if "disk" in str(error):
                raise
            raise UserError(f"{path} is damaged ({error}); delete the folder and build the corpus again.") from None

    def close(self) -> None:
        """What was not committed is forgotten."""
        self.connection.close()

    def commit(self) -> None:
        """From now on all this is so, whatever happens."""
        self.connection.commit()

    def read(self, name: str) -> Any:
        """A fact, or None."""
        row = self.connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def write(self, name: str, value: Any) -> None:
        """A fact, as JSON."""
        self.connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value)))

    def add_waiting(self, split: str, documents: Documents) -> None:
        """More documents of a split that wait for a full shard."""
        ids = documents.ids.astype(self._id_type, copy=False)
        self.connection.execute(
            "INSERT INTO waiting (split, ids, begins, lengths) VALUES (?, ?, ?, ?)",
            (split, ids.tobytes(), documents.begins.tobytes(), documents.lengths.tobytes()),
        )

    def waiting(self, split: str) -> list[Documents]:
        """The documents that wait, in order, as they were added."""
        rows = self.connection.execute(
            "SELECT ids, begins, lengths FROM waiting WHERE split = ? ORDER BY number", (split,)
        )
        return [
            Documents(
                np.frombuffer(ids, self._id_type), np.frombuffer(begins, np.uint8), np.frombuffer(lengths, np.int64)
            )
            for ids, begins, lengths in rows
        ]

    def clear_waiting(self, split: str) -> None:
        """They are in a shard."""
        self.connection.execute("DELETE FROM waiting WHERE split = ?", (split,))

    def add_candidate(self, key: int, ordinal: int, document: Document) -> None:
        """A document that may yet be held out."""
        ids = document.ids.astype(self._id_type).tobytes()
        self.connection.execute(
            "INSERT INTO candidates VALUES (?, ?, ?, ?)", (key, ordinal, ids, document.begins.tobytes())
        )

    def candidates(self) -> list[tuple[int, int]]:
        """Key and number of each candidate, in the order of the documents."""
        return self.connection.execute("SELECT key, ordinal FROM candidates ORDER BY ordinal").fetchall()

    def take_candidate(self, ordinal: int) -> Document:
        """Takes one out."""
        row = self.connection.execute("SELECT ids, begins FROM candidates WHERE ordinal = ?", (ordinal,)).fetchone()
        self.connection.execute("DELETE FROM candidates WHERE ordinal = ?", (ordinal,))
        return Document(np.frombuffer(row[0], self._id_type), np.frombuffer(row[1], np.uint8))
