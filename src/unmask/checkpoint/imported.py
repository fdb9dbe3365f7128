"""What the importers share: the files that they read and the folder that they write."""

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmask.checkpoint.folder import MAX_SHARD_BYTES
from unmask.checkpoint.tensors import published_together, write_tensors
from unmask.config import ModelConfig
from unmask.errors import UserError
from unmask.text import Tokenizer


@dataclass(frozen=True)
class Imported:
    """What an import made."""

    config: ModelConfig
    head: str
    notes: tuple[str, ...]
    """What a user should know of it, one sentence each."""


def refuse_occupied(destination: Path) -> None:
    """An import never mixes with what is there already."""
    if destination.is_dir() and any(destination.iterdir()):
        raise UserError(f"{destination} is not empty; an import needs a new or an empty folder, so name another one.")
    if destination.exists() and not destination.is_dir():
        raise UserError(f"{destination} is a file, so no model can be written there; name another folder.")


def read_lines(path: Path) -> list[str]:
    """The lines of a vocabulary, parted by newlines alone: a token may be any of Unicode's other line ends."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text ({error}).") from None
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def shapes_of(tensors: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor."""
    return {name: tensor.shape for name, tensor in tensors.items()}


def write_folder(
    destination: Path,
    raw: Mapping[str, Any],
    tensors: Mapping[str, np.ndarray],
    tokenizer: Tokenizer | None = None,
    files: Iterable[Path] = (),
) -> None:
    """Writes config.json, the weights, the tokenizer and copies of `files`: all of them or none."""
    with published_together(destination) as scratch:
        write_tensors(tensors, scratch, max_bytes=MAX_SHARD_BYTES)
        if tokenizer is not None:
            tokenizer.save(scratch)
        for file in files:
            shutil.copyfile(file, scratch / file.name)
        (scratch / "config.json").write_text(json.dumps(raw, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
