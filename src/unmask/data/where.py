"""Where documents come from: files, folders, globs, standard input and datasets of Hugging Face's hub."""

import glob
import hashlib
import importlib
import os
import time
from collections.abc import Callable, Collection, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from unmask.data.hub import SPLITS, sources_of_dataset, words_of_path
from unmask.data.source import KINDS, RECORD_ENDINGS, STDIN, Source, is_known, source_of
from unmask.errors import UserError
from unmask.files import expanded, file_hash


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
    endings: Collection[str] = tuple(KINDS),
    say: Callable[[str], None] | None = None,
) -> list[Source]:
    """Every file that is meant, each once, in the order given; those of a folder or a glob in order of their names.

    Args:
        sources: files, folders, globs, `-` or `hf:owner/name[:config][:split]`.
        spool: the file that standard input is, or will be, copied to.
        endings: of the names of files that are taken from folders and datasets.
        say: is told what was chosen from a dataset.
    """
    if isinstance(sources, str | PathLike):
        raise UserError(f"Sources must be a list, but {fspath(sources)!r} came; put it into a list.")
    found: dict[Path, Source] = {}
    for given in sources:
        for source in _found(fspath(given), spool, endings, say):
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
    hashes = [file_hash(found.path) for found in find_sources([source], endings=RECORD_ENDINGS)]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def _found(text: str, spool: Path, endings: Collection[str], say: Callable[[str], None] | None) -> list[Source]:
    if not text:
        raise UserError("The name of a file is empty; is it a variable of the shell that is not set?")
    if text == "-":
        return [Source("-", spool, "text", "")]
    if text.startswith("hf:"):
        return sources_of_dataset(text, endings, say)
    path = expanded(text)
    if path.is_dir():
        return _of_folder(path, text, endings, say)
    if path.is_file():
        return [source_of(path)]
    if path.exists():
        raise UserError(f"{text} is no file that can be read twice; pipe it into standard input and write - for it.")
    if glob.has_magic(text):
        matches = sorted(Path(match) for match in glob.iglob(str(path), recursive=True))  # noqa: PTH207  (absolute patterns too)
        if files := [source_of(match) for match in matches if not match.is_dir()]:
            return files
        raise UserError(f"No file matches {text}.")
    raise UserError(f"There is no file {text}.")


def _of_folder(folder: Path, text: str, endings: Collection[str], say: Callable[[str], None] | None) -> list[Source]:
    paths = sorted(path for path in folder.rglob("*") if is_known(path, endings) and path.is_file())
    if not paths:
        known = ", ".join(endings)
        raise UserError(f"The folder {text} holds no file that can be read: {known}, each also with .gz or .zst.")
    # What is trained on must not be measured with, and a folder often holds both.
    splits = {split for path in paths for split in words_of_path(path.name) & SPLITS}
    if say is not None and len(splits) > 1:
        say(
            f"{text} is read as a whole: {', '.join(path.name for path in paths[:8])}{' …' if len(paths) > 8 else ''}; "
            "name one file to train on it alone."
        )
    return [source_of(path) for path in paths]
