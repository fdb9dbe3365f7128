"""A file of data: what its name says of it."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal, cast

Kind = Literal["text", "jsonl", "csv", "tsv", "parquet"]

KINDS: dict[str, Kind] = {
    ".txt": "text",
    ".text": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}
RECORD_ENDINGS = (
    *KINDS,
    *(".tab", ".conll", ".conllu", ".conllx", ".iob", ".iob2", ".bio", ".bioes", ".bmes"),
)
"""What files with examples for a task end in; `kinds.ENDINGS` tells which of them are what."""
_ABOUT_DATA = re.compile(
    r"(?:readme|licen[cs]e)(?![a-z]).*\.te?xt|(?:dataset_infos?|dataset_dict|state|config)\.json", re.IGNORECASE
)
"""Files that lie beside data and are none."""
_PACKINGS = {".gz": "gz", ".zst": "zst"}
STDIN = Path("/dev/stdin")


@dataclass(frozen=True)
class Source:
    """One file with documents in it."""

    name: str
    """What the user calls it."""
    path: Path
    kind: Kind
    packing: Literal["", "gz", "zst"]


def source_of(path: Path, name: str | None = None) -> Source:
    """A file by the ending of its name; any unknown ending is text."""
    ending, packing = ending_of(path)
    return Source(name or str(path), path, KINDS.get(ending, "text"), packing)


def ending_of(path: PurePath) -> tuple[str, Literal["", "gz", "zst"]]:
    """`a.csv.gz` → .csv and gz."""
    ending = path.suffix.lower()
    if ending not in _PACKINGS:
        return ending, ""
    return Path(path.stem).suffix.lower(), cast(Literal["gz", "zst"], _PACKINGS[ending])


def is_known(path: PurePath, endings: Collection[str]) -> bool:
    """Whether a file in a folder or a dataset is one of data, by its name."""
    ending, packing = ending_of(path)
    name = path.stem if packing else path.name
    return ending in endings and not name.startswith(".") and not _ABOUT_DATA.fullmatch(name)
