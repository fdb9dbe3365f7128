"""The corpus on disk: memory-mapped shards of token ids with the places where words, sentences and documents begin.

- `manifest.json`: what was read and how, each shard with its hashes; written last, so its presence says "whole"
- `tokenizer.json` …: the tokenizer that made the ids
- `train/00000.ids.npy`: token ids without special tokens, uint16 or uint32
- `train/00000.begins.npy`: for each token, WORD | SENTENCE bits (uint8): what begins with it
- `train/00000.documents.npy`: where each document begins, and at the end the number of tokens (int64)
- `heldout/…`: the same, of documents that training never sees
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from unmask.errors import UserError
from unmask.files import expanded, file_hash, read_json, sync
from unmask.text.words import SENTENCE, WORD

__all__ = [
    "HELDOUT",
    "SENTENCE",
    "TRAIN",
    "VERSION",
    "WORD",
    "Corpus",
    "Document",
    "Documents",
    "OpenShard",
    "Shard",
    "file_hash",
    "id_type",
    "manifest_of",
    "write_documents",
    "write_shard",
]

TRAIN, HELDOUT = "train", "heldout"
VERSION = 1


@dataclass(frozen=True)
class Document:
    """One document, tokenized."""

    ids: np.ndarray
    begins: np.ndarray


@dataclass(frozen=True)
class Documents:
    """Many documents, one after another: an object for each would take more memory than its tokens."""

    ids: np.ndarray
    begins: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, documents: Sequence[Document]) -> Self:
        """From single ones."""
        return cls(
            np.concatenate([document.ids for document in documents]),
            np.concatenate([document.begins for document in documents]),
            np.array([len(document.ids) for document in documents], np.int64),
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """From parts."""
        return cls(
            np.concatenate([part.ids for part in parts]),
            np.concatenate([part.begins for part in parts]),
            np.concatenate([part.lengths for part in parts]),
        )


@dataclass(frozen=True)
class Shard:
    """One shard's entry in the manifest."""

    split: str
    name: str
    tokens: int
    documents: int
    hashes: dict[str, str]
    """SHA-256 of each of its files, by ending."""


def id_type(n_ids: int) -> type[np.unsignedinteger]:
    """The smallest type that holds every id of a tokenizer."""
    return np.uint16 if n_ids <= 1 << 16 else np.uint32


def write_shard(folder: Path, split: str, name: str, documents: Sequence[Document], n_ids: int) -> Shard:
    """Writes one shard's three files. They count only once the shard stands in a manifest."""
    return write_documents(folder, split, name, Documents.of(documents), n_ids)


def write_documents(folder: Path, split: str, name: str, documents: Documents, n_ids: int) -> Shard:
    """What `write_shard` does, with documents that are joined already."""
    (folder / split).mkdir(parents=True, exist_ok=True)
    arrays = {
        "ids": documents.ids.astype(id_type(n_ids), copy=False),
        "begins": documents.begins.astype(np.uint8, copy=False),
        "documents": np.concatenate([[0], np.cumsum(documents.lengths)]).astype(np.int64),
    }
    hashes = {}
    for ending, array in arrays.items():
        path = folder / split / f"{name}.{ending}.npy"
        np.save(path, array, allow_pickle=False)
        sync(path)
        hashes[ending] = file_hash(path)
    return Shard(split, name, len(documents.ids), len(documents.lengths), hashes)


class OpenShard:
    """One shard, mapped: a page is read when it is first used."""

    def __init__(self, folder: Path, shard: Shard) -> None:
        self.entry = shard
        self._folder = folder / shard.split
        self.ids, self.begins, self.documents = map(self._map, ("ids", "begins", "documents"))
        if not (len(self.ids) == len(self.begins) == shard.tokens and len(self.documents) == shard.documents + 1):
            raise UserError(f"Shard {shard.split}/{shard.name} is not as long as the manifest says; build it again.")

    def _map(self, ending: str) -> np.ndarray:
        path = self._folder / f"{self.entry.name}.{ending}.npy"
        try:
            return np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError):
            raise UserError(f"{path} is damaged; build the corpus again.") from None


class Corpus:
    """A corpus folder that `unmask corpus build` wrote."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = expanded(folder)
        path = self.folder / "manifest.json"
        if not path.is_file():
            raise UserError(f"{folder} has no manifest.json, so it is no finished corpus; run: unmask corpus build.")
        self.manifest: dict[str, Any] = read_json(path)
        if self.manifest.get("version") != VERSION:
            raise UserError(
                f"{path} has version {self.manifest.get('version')!r}, this unmask reads {VERSION}; build it again."
            )
        if not _is_manifest(self.manifest):
            raise UserError(f"{path} was changed or damaged; build the corpus again.")

    @cached_property
    def n_ids(self) -> int:
        """How many ids its tokenizer can give."""
        return int(self.manifest["n_ids"])

    @cached_property
    def fingerprint(self) -> str:
        """Changes with any token of the corpus, and with the tokenizer."""
        said = [shard["hashes"] for shard in self.manifest["shards"]], self.manifest["tokenizer_hash"]
        return hashlib.sha256(repr(said).encode()).hexdigest()

    def shards(self, split: str) -> list[OpenShard]:
        """The shards of a split, in order, mapped."""
        entries = [Shard(**entry) for entry in self.manifest["shards"] if entry["split"] == split]
        return [OpenShard(self.folder, entry) for entry in entries]

    def tokens(self, split: str) -> int:
        """How many tokens a split has."""
        return sum(entry["tokens"] for entry in self.manifest["shards"] if entry["split"] == split)


def _is_manifest(content: dict[str, Any]) -> bool:
    """Whether everything that is read later is there and of its type."""
    shards, report = content.get("shards"), content.get("report", {})
    if not (isinstance(content.get("n_ids"), int) and isinstance(content.get("tokenizer_hash"), str)):
        return False
    if not isinstance(shards, list) or not isinstance(report, dict):
        return False
    kinds = {"split": str, "name": str, "tokens": int, "documents": int, "hashes": dict}
    return all(
        isinstance(entry, dict)
        and entry.keys() == kinds.keys()
        and all(isinstance(entry[name], kind) for name, kind in kinds.items())
        for entry in shards
    )


def manifest_of(shards: Sequence[Shard], *, n_ids: int, tokenizer_hash: str, **more: Any) -> dict[str, Any]:
    """The manifest's content; `more` is whatever else a reader should know: sources, options, report."""
    entries = [asdict(shard) for shard in shards]
    return {"version": VERSION, "n_ids": n_ids, "tokenizer_hash": tokenizer_hash, "shards": entries, **more}
