"""What the importers share: the shapes that a model's tensors must have, and the folder that they write."""

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmask.checkpoint import names
from unmask.checkpoint.folder import MAX_SHARD_BYTES
from unmask.checkpoint.tensors import published_together, shown, write_tensors
from unmask.config import ModelConfig
from unmask.errors import UserError
from unmask.text import Tokenizer

Shapes = dict[str, tuple[int, ...]]


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


def read_json(path: Path) -> dict[str, Any]:
    """A file that holds a JSON object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON ({error}).") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} must hold a JSON object, but holds a {type(content).__name__}.")
    return content


def read_lines(path: Path) -> list[str]:
    """The lines of a vocabulary, parted by newlines alone: a token may be any of Unicode's other line ends."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text ({error}).") from None
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def refuse_unfit(tensors: Mapping[str, np.ndarray], config: ModelConfig, head: str, source: Path) -> None:
    """Every tensor of the encoder must be there, and of the head if one is named, each in the shape of `config`."""
    missing, misshapen = [], []
    for path, needed in expected_shapes(config, head).items():
        place = names.place_of(f"model/{path}", config, head)
        name = place.found_among(set(tensors))
        if name is None:
            missing.append(place.name)
        elif tensors[name].shape != needed:
            misshapen.append(f"{name} is {_times(tensors[name].shape)} and must be {_times(needed)}")
    if misshapen:
        raise UserError(f"{source}: the tensors and the configuration do not belong together: {shown(misshapen, 3)}.")
    if missing:
        raise UserError(f"{source} lacks {len(missing)} of the model's tensors: {shown(missing)}; it is incomplete.")


def _times(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "a single number"


def expected_shapes(config: ModelConfig, head: str) -> Shapes:
    """The shape, as Hugging Face stores it, of each variable of an encoder (and decoder) and of the head."""
    if config.family == "transformer":
        shapes: Shapes = {"embeddings/tokens/embeddings": (config.vocab_size, config.d_model)}
        for i in range(config.n_decoder_layers):
            shapes |= _layer(config, f"decoder/layer_{i}", ("attention", "cross_attention"))
    else:
        shapes = _embeddings(config) | _head(config, head)
    for i in range(config.n_layers):
        shapes |= _layer(config, f"encoder/layer_{i}", ("attention",))
    return shapes


def _embeddings(config: ModelConfig) -> Shapes:
    rows = {"tokens": config.vocab_size, "positions": config.max_positions + config.first_position}
    if config.n_segments:
        rows["segments"] = config.n_segments
    shapes: Shapes = {f"encoder/embeddings/{name}/embeddings": (n, config.d_model) for name, n in rows.items()}
    shapes |= _norm("encoder/embeddings/norm", config.d_model)
    return shapes | (_norm("encoder/norm", config.d_model) if config.norm == "pre" else {})


def _layer(config: ModelConfig, layer: str, attentions: tuple[str, ...]) -> Shapes:
    shapes: Shapes = {}
    for attention in attentions:
        for part in ("query", "key", "value", "out"):
            shapes |= _linear(f"{layer}/{attention}/{part}", config.d_model, config.d_model)
    shapes |= _linear(f"{layer}/feed_forward/inner", config.d_ff, config.d_model)
    shapes |= _linear(f"{layer}/feed_forward/outer", config.d_model, config.d_ff)
    for part in (*attentions, "feed_forward"):
        shapes |= _norm(f"{layer}/around_{part}/norm", config.d_model)
    return shapes


def _head(config: ModelConfig, head: str) -> Shapes:
    shapes: Shapes = {}
    if head in ("mlm", "mlm+nsp"):
        shapes |= {"head/masked_lm/bias": (config.vocab_size,)} | _norm("head/masked_lm/norm", config.d_model)
        shapes |= _linear("head/masked_lm/dense", config.d_model, config.d_model)
    if head in ("mlm+nsp", "pooler", "classify"):
        shapes |= _linear("head/pooler/dense", config.d_model, config.d_model)
    if head == "mlm+nsp":
        shapes |= _linear("head/next_sentence", 2, config.d_model)
    if head == "classify":
        shapes |= _linear("head/dense", config.n_classes, config.d_model)
    return shapes


def _linear(module: str, n_out: int, n_in: int) -> Shapes:
    return {f"{module}/kernel": (n_out, n_in), f"{module}/bias": (n_out,)}


def _norm(module: str, width: int) -> Shapes:
    return {f"{module}/gamma": (width,), f"{module}/beta": (width,)}


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
