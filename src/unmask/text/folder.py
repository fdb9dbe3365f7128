"""The folder of a trained tokenizer: a new one of its own, in which each file is whole or not there."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unmask.errors import UserError
from unmask.files import sync, write_json
from unmask.text.tokenizer import Tokenizer

MADE_FROM = "trained_from.json"
"""The file beside a tokenizer that tells what it was trained from; transformers does not look at it."""

_SCRATCH = ".saving"
_ORDER = {"tokenizer_config.json": 0, "tokenizer.json": 1, MADE_FROM: 3}
"""Vocabulary files, 2, are not moved first: from them alone another tokenizer would be made."""


def refuse_used_folder(folder: Path) -> None:
    """Refuses an output folder that holds something already, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; --out must name a new or an empty folder.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _SCRATCH).is_dir():
        raise UserError(f"{folder} is not empty; --out must name a new or an empty folder.")


def save_whole(tokenizer: Tokenizer, folder: Path, made_from: Mapping[str, Any] | None = None) -> None:
    """Writes the tokenizer's files into a folder inside the folder, then moves them out: each is whole or not there.

    The folder itself is never replaced: somebody may stand in it, or it may be a disk of its own.

    Args:
        tokenizer: what to save.
        folder: a new or an empty one.
        made_from: what it was trained from, for `MADE_FROM`, which comes last: where it is, all is there.
    """
    refuse_used_folder(folder)
    is_new = not folder.exists()
    scratch = folder / _SCRATCH
    shutil.rmtree(scratch, ignore_errors=True)  # left by one who was killed
    scratch.mkdir(parents=True)
    try:
        tokenizer.save(scratch)
        if made_from is not None:
            write_json(scratch / MADE_FROM, made_from)
        for path in scratch.iterdir():
            sync(path)
        for path in sorted(scratch.iterdir(), key=lambda path: _ORDER.get(path.name, 2)):
            path.replace(folder / path.name)
        sync(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        if is_new and not any(folder.iterdir()):  # nothing came of it
            folder.rmdir()
