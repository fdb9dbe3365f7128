"""What a model folder holds and costs, told from its headers: no framework is imported, no weight is read."""

import math
import os
import re
from pathlib import Path
from typing import Any

from unmask import sources
from unmask.checkpoint import config_json, names
from unmask.checkpoint.fit import fit
from unmask.checkpoint.folder import check_vocabulary, read_config
from unmask.checkpoint.tensors import TensorFiles
from unmask.config import ModelConfig
from unmask.errors import UserError
from unmask.text import has_tokenizer, load_tokenizer

_SHOWN: tuple[str, ...] = (
    "vocab_size",
    "n_layers",
    "n_decoder_layers",
    "n_heads",
    "d_model",
    "d_ff",
    "max_positions",
    "n_segments",
)
_SHOWN += ("norm", "norm_eps", "activation", "positions", "dropout", "attention_dropout", "classes", "problem")
_USUAL_LENGTH = 128

_PARTS = (
    (r"(shared|embed_tokens|word_embeddings|token_type_embeddings|position_embeddings)\.", "embeddings"),
    (r"embeddings\.LayerNorm", "embeddings"),
    (r"decoder\.layers\.", "decoder"),
    (r"(encoder|transformer)\.layers?\.|(^|\.)LayerNorm\.(weight|bias)$", "encoder"),
)


def describe(source: str | os.PathLike[str], *, length: int | None = None) -> dict[str, Any]:
    """Family, configuration, parameters by part, memory, operations per token, heads and tokenizer of a source."""
    folder = sources.resolve(source)
    config, raw = read_config(folder)
    tensors = TensorFiles(folder)
    head = config_json.head_of(raw, set(tensors.shapes))
    fitting = fit(config, head, tensors.shapes)
    fitting.refuse_if_unfit(folder)
    tensors.refuse_other_than_floats(fitting.found.values())
    length = min(_USUAL_LENGTH, config.max_positions) if length is None else length
    if length > config.max_positions:
        raise UserError(f"{length} tokens, but this model reads {config.max_positions}; pass a smaller --length.")
    parameters, left_out = parameters_by_part(tensors)
    return {
        "family": config.family,
        "head": head,
        "configuration": {name: getattr(config, name) for name in _SHOWN if getattr(config, name) not in (0, (), None)},
        "parameters": parameters,
        "memory_bytes": 4 * sum(parameters.values()),
        "operations": operations_per_token(config, length),
        "weights": {"tensors": len(tensors.shapes), "types": tensors.types(), "bytes": tensors.stored_bytes()},
        "not_counted": left_out,
        "tokenizer": _tokenizer(folder, config),
    }


def parameters_by_part(tensors: TensorFiles) -> tuple[dict[str, int], dict[str, str]]:
    """How many parameters each part has, tied ones counted once; and the tensors that are none, with what they are."""
    counts: dict[str, int] = {}
    left_out = {}
    for name, shape in tensors.shapes.items():
        meaning = names.meaning_of(name)
        if meaning in names.NO_PARAMETERS and not _is_the_only_copy(name, tensors):
            left_out[name] = meaning
            continue
        part = next((part for pattern, part in _PARTS if re.search(pattern, name)), meaning or "unknown")
        counts[part] = counts.get(part, 0) + math.prod(shape)
    return counts, left_out


def _is_the_only_copy(name: str, tensors: TensorFiles) -> bool:
    """A Marian file may hold its shared embeddings under one side's name alone."""
    return name == "model.encoder.embed_tokens.weight" and "model.shared.weight" not in tensors.shapes


def operations_per_token(config: ModelConfig, length: int) -> dict[str, int]:
    """Floating-point operations (a multiplication and an addition are two) of one forward pass, per token.

    A layer multiplies each token with 4 D² weights of attention and 2 D F of the feed-forward network, and takes
    L scores and L weighted values of width D. Training takes about three times as much.
    """
    d_model, d_ff = config.d_model, config.d_ff
    attention = 4 * length * d_model  # QKᵀ and the weighted sum of V
    encoder = config.n_layers * (8 * d_model**2 + 4 * d_model * d_ff + attention)
    decoder = config.n_decoder_layers * (16 * d_model**2 + 4 * d_model * d_ff + 2 * attention)
    return {
        "length": length,
        "per_token": encoder + decoder,
        "of_which_attention": (config.n_layers + 2 * config.n_decoder_layers) * attention,
        "per_predicted_token": 2 * d_model * config.vocab_size + (2 * d_model**2 if not config.n_decoder_layers else 0),
    }


def _tokenizer(folder: Path, config: ModelConfig) -> str | None:
    if not has_tokenizer(folder):
        return None
    tokenizer = load_tokenizer(folder)
    check_vocabulary(tokenizer, config)
    return f"{type(tokenizer.rust.model).__name__}, {tokenizer.n_ids:,} ids"
