"""Documents of a split become shards, one after another; what waits for its shard survives a kill in the ledger."""

from dataclasses import asdict
from pathlib import Path

from unmask.corpus.ledger import Ledger
from unmask.data.shards import Document, Documents, Shard, write_documents
from unmask.files import sync


class ShardWriter:
    """Documents of a split, gathered until a shard is full."""

    def __init__(self, folder: Path, split: str, ledger: Ledger, n_ids: int, shard_tokens: int) -> None:
        self._folder, self._split, self._ledger = folder, split, ledger
        self._n_ids, self._shard_tokens = n_ids, shard_tokens
        self.shards = [Shard(**entry) for entry in ledger.read(f"shards of {split}") or []]
        self._parts = ledger.waiting(split)
        self._loose: list[Document] = []
        self._tokens = sum(len(part.ids) for part in self._parts)
        self._saved = len(self._parts)

    def add(self, document: Document) -> None:
        """One more; what is gathered becomes a shard first, if both would be too much for one."""
        if self._tokens and self._tokens + len(document.ids) > self._shard_tokens:
            self.flush()
        self._loose.append(document)
        self._tokens += len(document.ids)

    def settle(self) -> None:
        """Joins the documents of a batch."""
        if self._loose:
            self._parts.append(Documents.of(self._loose))
            self._loose = []

    def flush(self) -> None:
        """Writes what is gathered as a shard."""
        self.settle()
        if self._parts:
            name, documents = f"{len(self.shards):05d}", Documents.joined(self._parts)
            self.shards.append(write_documents(self._folder, self._split, name, documents, self._n_ids))
            sync(self._folder / self._split)  # the ledger must not know of a file whose name the disk has lost
            self._ledger.clear_waiting(self._split)
            self._parts, self._tokens, self._saved = [], 0, 0

    def save(self) -> None:
        """Into the ledger."""
        self.settle()
        for part in self._parts[self._saved :]:
            self._ledger.add_waiting(self._split, part)
        self._saved = len(self._parts)
        self._ledger.write(f"shards of {self._split}", [asdict(shard) for shard in self.shards])

    def total(self) -> tuple[int, int]:
        """Documents and tokens in shards."""
        return sum(shard.documents for shard in self.shards), sum(shard.tokens for shard in self.shards)
