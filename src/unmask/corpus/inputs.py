"""The inputs of a corpus or a tokenizer and its options: what makes one another, and how to say what differs."""

import hashlib
import select
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

from unmask.data.decode import Say
from unmask.data.source import Source
from unmask.errors import UserError

_BLOCK = 1 << 20


class Stopped(Exception):  # noqa: N818  (nothing went wrong)
    """Somebody asked the work to stop; what was done is saved."""


def outside(folder: Path, sources: Sequence[Source], say: Say) -> list[Source]:
    """The sources without the files of the folder that is to be written; standard input stays, wherever its copy is."""
    inside = folder.resolve()
    left = [source for source in sources if source.name != "-" and inside in source.path.resolve().parents]
    kept = [source for source in sources if source not in left]
    if not kept:
        raise UserError(f"All files to read lie in {folder}, which is to be written; choose another --out.")
    if left:
        more = f" and {len(left) - 1:,} more" if len(left) > 1 else ""
        say(f"Left out, for lying in the folder to write, {folder}: {left[0].name}{more}.")
    return kept


def fingerprints(sources: Sequence[Source], known: dict[str, Any], stop: Callable[[], bool]) -> list[dict[str, Any]]:
    """Name, size and SHA-256 of each file.

    Args:
        sources: the files.
        known: fingerprints by `stamp`, of files that were looked at before and have not changed since.
        stop: is asked now and then.
    """
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda source: known.get(stamp(source)) or _fingerprint(source, stop), sources))


def stamp(source: Source) -> str:
    """Changes when a file is written to: its path, size and time."""
    status = source.path.stat()
    return f"{source.path} {status.st_size} {status.st_mtime_ns}"


def _fingerprint(source: Source, stop: Callable[[], bool]) -> dict[str, Any]:
    with source.path.open("rb") as file:
        return {"name": source.name, **_hashed(file, None, stop)}


def _hashed(file: IO[bytes], copy: IO[bytes] | None, stop: Callable[[], bool]) -> dict[str, Any]:
    hashing, size = hashlib.sha256(), 0
    while block := file.read(_BLOCK):
        if stop():
            raise Stopped
        hashing.update(block)
        size += len(block)
        if copy is not None:
            copy.write(block)
    return {"bytes": size, "sha256": hashing.hexdigest()}


def spool(path: Path, stop: Callable[[], bool]) -> None:
    """Copies standard input to a file, which is there only once it is whole: input that is gone can be read again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name("stdin.part")
    with part.open("wb") as copy:
        _hashed(_Waiting(sys.stdin.buffer, stop), copy, stop)  # type: ignore[arg-type]
    part.replace(path)


def hash_of_stdin(stop: Callable[[], bool]) -> dict[str, Any]:
    """The fingerprint of standard input."""
    return {"name": "-", **_hashed(_Waiting(sys.stdin.buffer, stop), None, stop)}  # type: ignore[arg-type]


class _Waiting:
    """Standard input that a wish to stop can interrupt while nothing comes."""

    def __init__(self, file: Any, stop: Callable[[], bool]) -> None:
        self._file, self._stop = file, stop

    def read(self, size: int) -> bytes:
        while sys.platform != "win32" and not select.select([self._file], [], [], 0.5)[0]:
            if self._stop():
                raise Stopped
        return bytes(self._file.read1(size))


def refuse_if_different(folder: Path, before: dict[str, Any], now: dict[str, Any], what: str = "corpus") -> None:
    """Says what differs between two identities: options, the tokenizer if there is one, sources."""
    said = [
        f"--{name.replace('_', '-')} was {was}, is {now['options'].get(name)} now"
        for name, was in before["options"].items()
        if was != now["options"].get(name)
    ]
    if before.get("tokenizer") != now.get("tokenizer"):
        said.append("the tokenizer is another one")
    said.extend(_different_sources(before["sources"], now["sources"]))
    if said:
        raise UserError(
            f"{folder} holds the {what} of another command: {'; '.join(said)}. "
            "Choose another --out, or delete the folder."
        )


def _different_sources(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[str]:
    if len(before) != len(now):
        return [f"it had {len(before)} input files, {len(now)} come now"]
    for old, new in zip(before, now, strict=True):
        if (old["bytes"], old["sha256"]) != (new["bytes"], new["sha256"]):
            what = "has changed since" if old["name"] == new["name"] else f"comes in place of {old['name']}"
            return [f"{new['name']} {what}"]
    return []
