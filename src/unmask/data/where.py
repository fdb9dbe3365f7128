"""Where documents come from: files, folders, globs, standard input and datasets of Hugging Face's hub."""

import glob
import hashlib
import importlib
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, cast

from unmask.errors import UserError
from unmask.files import file_hash
from unmask.sources import from_hub

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


def optional(module: str, extra: str) -> Any:
    """A library that not everybody has."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise UserError(f"This needs the package {package}; run: pip install 'unmask[{extra}]'.") from None


def find_sources(
    sources: Sequence[str | PathLike[str]],
    *,
    spool: Path = STDIN,
    say: Callable[[str], None] | None = None,
) -> list[Source]:
    """Every file that is meant, each once, in the order given; those of a folder or a glob in order of their names.

    Args:
        sources: files, folders, globs, `-` or `hf:owner/name[:config][:split]`.
        spool: the file that standard input is, or will be, copied to.
        say: is told what was chosen from a dataset.
    """
    if isinstance(sources, str | PathLike):
        raise UserError(f"Sources must be a list, but {fspath(sources)!r} came; put it into a list.")
    found: dict[Path, Source] = {}
    for given in sources:
        for source in _found(fspath(given), spool, say):
            found.setdefault(source.path.resolve(), source)
    if not found:
        raise UserError("No file was given to read.")
    return list(found.values())


def source_hash(source: str) -> str:
    """What tells one input from another: what its files hold; a dataset's name; standard input is never the same."""
    if source == "-":
        return f"standard input of process {os.getpid()} at {time.time_ns()}"
    if source.startswith(("hf:", "tfds:")):
        return source
    hashes = [file_hash(found.path) for found in find_sources([source])]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def _found(text: str, spool: Path, say: Callable[[str], None] | None) -> list[Source]:
    if not text:
        raise UserError("The name of a file is empty; is it a variable of the shell that is not set?")
    if text == "-":
        return [Source("-", spool, "text", "")]
    if text.startswith("hf:"):
        return _of_dataset(text, say)
    path = Path(text).expanduser()
    if path.is_dir():
        return _of_folder(path, text)
    if path.is_file():
        return [_of_file(path)]
    if path.exists():
        raise UserError(f"{text} is no file that can be read twice; pipe it into standard input and write - for it.")
    if glob.has_magic(text):
        matches = sorted(Path(match) for match in glob.iglob(str(path), recursive=True))  # noqa: PTH207  (absolute patterns too)
        if files := [_of_file(match) for match in matches if not match.is_dir()]:
            return files
        raise UserError(f"No file matches {text}.")
    raise UserError(f"There is no file {text}.")


def _of_file(path: Path, name: str | None = None) -> Source:
    """A file by the ending of its name; any unknown ending is text."""
    ending, packing = ending_of(path)
    return Source(name or str(path), path, KINDS.get(ending, "text"), packing)


def ending_of(path: Path) -> tuple[str, Literal["", "gz", "zst"]]:
    """`a.csv.gz` → .csv and gz."""
    ending = path.suffix.lower()
    if ending not in _PACKINGS:
        return ending, ""
    return Path(path.stem).suffix.lower(), cast(Literal["gz", "zst"], _PACKINGS[ending])


def _is_known(path: Path) -> bool:
    name = path.stem if path.suffix.lower() in _PACKINGS else path.name
    return Path(name).suffix.lower() in KINDS and not path.name.startswith(".")


def _of_folder(folder: Path, text: str) -> list[Source]:
    paths = sorted(path for path in folder.rglob("*") if _is_known(path) and path.is_file())
    if not paths:
        endings = ", ".join(KINDS)
        raise UserError(f"The folder {text} holds no file that can be read: {endings}, each also with .gz or .zst.")
    return [_of_file(path) for path in paths]


def _of_dataset(text: str, say: Callable[[str], None] | None) -> list[Source]:
    """The files of one split of a dataset on the hub: Parquet if there is any, else JSON lines, CSV, text."""
    name, *parts = text.removeprefix("hf:").split(":")
    parts = [part for part in parts if part and part != "default"]
    if len(parts) > 2:
        raise UserError(f"{text} has too many parts; write hf:owner/name:config:split.")
    middles = dict.fromkeys(("*".join(parts), "*".join(reversed(parts))))  # en/train.csv, train.en.csv
    endings = [f"{ending}{packing}" for ending in KINDS for packing in ("", *_PACKINGS)]
    wanted = [f"*{middle}*{ending}" for middle in middles for ending in endings]
    folder = from_hub(name, kind="dataset", wanted=wanted)
    files = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if _is_known(path) and path.is_file()]
    for part in parts:
        files = [file for file in files if part in _words(file) or part in file.parts]
    if not parts or not any(part in _SPLITS for part in parts):
        trained = [file for file in files if "train" in _words(file)]
        files = trained or [file for file in files if not _SPLITS & _words(file)]
    kinds = [_of_file(file).kind for file in files]
    best = next((kind for kind in ("parquet", "jsonl", "csv", "tsv", "text") if kind in kinds), None)
    files = [file for file, kind in zip(files, kinds, strict=True) if kind == best]
    if not files:
        raise UserError(f"{text} has no file that can be read; look at its files on the hub, or name another split.")
    if say is not None:
        say(f"{text}: {len(files)} files, {files[0]}{' …' if len(files) > 1 else ''}.")
    return [_of_file(folder / file, f"hf:{name.partition('@')[0]}/{file}") for file in files]


_SPLITS = {"train", "validation", "valid", "dev", "test"}


def _words(file: Path) -> set[str]:
    """`data/train-00000-of-00002.parquet` → data, train, of; `train.fr.csv.gz` → train, fr."""
    ending, packing = ending_of(file)
    name = str(file)[: -len(f"{ending}.{packing}" if packing else ending) or None]
    return set(re.split(r"[^A-Za-z]+", name)) - {""}
