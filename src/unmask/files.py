"""Files that are whole or not there: atomic writing, and one run at a time in a folder."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout

from unmask.errors import UserError


def expanded(path: str | PathLike[str]) -> Path:
    """The path that a user wrote, with the home folder that `~` stands for."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        text = os.fspath(path)
        home = text.partition("/")[0]
        own = f"~/{text[1:]} for what is in your own, or " if home != "~" else ""
        raise UserError(f"There is no home folder {home}; write {own}the whole path.") from None


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes under another name, then renames: a reader sees the old file or the new one, never a part."""
    # One name for all processes: what a killed one left is overwritten by the next.
    scratch = path.with_name(f".{path.name}.new")
    try:
        with scratch.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
    sync(path.parent)


def write_json(path: Path, content: Any) -> None:
    """JSON for people and programs, whole or not at all."""
    write_whole(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file of ours."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON ({error}); it was changed or damaged.") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} must hold a JSON object, but holds a {type(content).__name__}.")
    return content


def sync(path: Path) -> None:
    """Has the disk keep a file, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def only_run_in(folder: Path) -> Iterator[None]:
    """Makes the folder and holds it: a second run in it is refused. A killed run holds it no longer.

    A run that is refused before it has written anything leaves no new folder behind.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; --out must name a folder.")
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    with _held(lock, f"Another run is at work in {folder}; wait for it, or choose another --out."):
        try:
            yield
        finally:
            if is_new and [path.name for path in folder.iterdir()] == [".lock"]:
                Path(lock.lock_file).unlink()
                folder.rmdir()


@contextmanager
def only_writer_of(path: Path) -> Iterator[None]:
    """Holds the place of a file that is being written: a second writer is refused. A killed one holds it no longer."""
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    with _held(lock, f"Another run is writing {path}; wait for it, or choose another name."):
        try:
            yield
        finally:
            Path(lock.lock_file).unlink(missing_ok=True)


@contextmanager
def _held(lock: BaseFileLock, refusal: str) -> Iterator[None]:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError(refusal) from None
    try:
        yield
    finally:
        lock.release()
