"""Google's BERT checkpoints (Devlin et al. 2018), `bert_model.ckpt` with `vocab.txt`, as Hugging Face folders.

Hugging Face took its names from these files: `/` became `.`, and TensorFlow's `kernel`, `gamma` and `beta` became
`weight` and `bias`. A kernel stands in×out in TensorFlow and out×in there.
"""

import re
from pathlib import Path

import numpy as np

from unmask import backend
from unmask.checkpoint import config_json, names
from unmask.checkpoint.fit import expected_shapes, fit, shown
from unmask.checkpoint.imported import (
    Imported,
    read_lines,
    refuse_occupied,
    shapes_of,
    write_folder,
)
from unmask.config import ModelConfig
from unmask.errors import UserError
from unmask.files import read_json
from unmask.text import Tokenizer
from unmask.text.build import wordpiece

CONFIG = "bert_config.json"
VOCABULARY = "vocab.txt"
_LEAVES = {
    "kernel": "weight",
    "gamma": "weight",
    "beta": "bias",
    "output_weights": "weight",
    "output_bias": "bias",
    "word_embeddings": "word_embeddings.weight",
    "position_embeddings": "position_embeddings.weight",
    "token_type_embeddings": "token_type_embeddings.weight",
}
_OPTIMIZER = re.compile(r"(^|/)(adam_[mv]|global_step|beta[12]_power|_CHECKPOINTABLE_OBJECT_GRAPH)(/|$)")


def import_google_bert(source: Path, destination: Path, *, lowercase: bool | None = None) -> Imported:
    """Writes the checkpoint in `source` as a Hugging Face folder.

    Args:
        source: a folder with bert_config.json, bert_model.ckpt.* and vocab.txt.
        destination: a new or an empty folder.
        lowercase: whether text is lower-cased; guessed from the folder's name or the vocabulary if not given.
    """
    refuse_occupied(destination)
    prefix = _checkpoint(source)
    vocabulary = read_lines(_needed(source, VOCABULARY))
    lowercase, note = _lowercase(source, vocabulary) if lowercase is None else (lowercase, None)
    config = _config(source, vocabulary)
    tensors, head = _tensors(prefix, config)
    fit(config, head, shapes_of(tensors)).refuse_if_unfit(prefix, with_head=True)
    settings = {"do_lower_case": lowercase, "model_max_length": config.max_positions}
    tokenizer = Tokenizer(wordpiece(vocabulary, lowercase=lowercase), settings)
    # The vocabulary is copied over the tokenizer's own: a token that stands there twice keeps both its lines.
    write_folder(destination, config_json.to_json(config, head), tensors, tokenizer, [source / VOCABULARY])
    return Imported(config, head, (note,) if note else ())


def _needed(source: Path, name: str) -> Path:
    if not (source / name).is_file():
        raise UserError(
            f"{source} has no {name}; Google's BERT is a folder with {CONFIG}, bert_model.ckpt.* and {VOCABULARY}."
        )
    return source / name


def _checkpoint(source: Path) -> Path:
    """What the names of the checkpoint's files begin with."""
    if not source.is_dir():
        raise UserError(f"{source} is no folder; name the one with {CONFIG}, bert_model.ckpt.* and {VOCABULARY} in it.")
    found = sorted(path.name.removesuffix(".index") for path in source.glob("*.index"))
    if "bert_model.ckpt" in found:
        return source / "bert_model.ckpt"
    if len(found) > 1:
        raise UserError(f"{source} has {len(found)} checkpoints: {shown(found)}; leave the one to import.")
    if not found:
        _needed(source, "bert_model.ckpt.index")
    return source / found[0]


def _config(source: Path, vocabulary: list[str]) -> ModelConfig:
    # Google's GELU was exact at first and its tanh approximation later, under one name; Hugging Face computes the
    # exact one for these very models, and so does unmask.
    path = _needed(source, CONFIG)
    raw = {"model_type": "bert", **read_json(path)}
    try:
        config = config_json.from_json(raw)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    if len(vocabulary) != config.vocab_size:
        raise UserError(
            f"{source / VOCABULARY} has {len(vocabulary)} lines, but {CONFIG} says vocab_size {config.vocab_size}; "
            "they do not belong together (if the embeddings were padded, add lines such as [unused9999])."
        )
    pad_id = vocabulary.index("[PAD]") if "[PAD]" in vocabulary else 0
    return config.replace(pad_id=pad_id)


def _lowercase(source: Path, vocabulary: list[str]) -> tuple[bool, str]:
    """Whether text is lower-cased, and by what that was guessed."""
    name = source.resolve().name
    for part, lowercase in (("uncased", True), ("cased", False), ("chinese", True)):
        if part in name.lower():
            return lowercase, _told(lowercase, f"the folder's name, {name}")
    capital = next((token for token in vocabulary if not _is_special(token) and token != token.lower()), None)
    if capital is not None:
        return False, _told(False, f"the token {capital!r} of the vocabulary")
    return True, _told(True, "the vocabulary, which has no capital letter")


def _is_special(token: str) -> bool:
    return token.startswith("[") and token.endswith("]")


def _told(lowercase: bool, reason: str) -> str:
    """One sentence on the guess."""
    if lowercase:
        return f"Text is lower-cased, going by {reason}; --cased says otherwise."
    return f"Text is not lower-cased, going by {reason}; --uncased says otherwise."


def _tensors(prefix: Path, config: ModelConfig) -> tuple[dict[str, np.ndarray], str]:
    """The weights under Hugging Face's names, and the head that they make."""
    stored = dict(backend.read_tensorflow_checkpoint(prefix, lambda name: not _OPTIMIZER.search(name)))
    head = _head(set(stored))
    known = {names.place_of(f"model/{path}", config, head).name for path in expected_shapes(config, head)}
    tensors, unknown = {}, []
    for name, array in stored.items():
        theirs = _their_name(name, bare=head in ("encoder", "pooler"))
        # A pooler without next-sentence prediction is kept for whoever fine-tunes the model.
        if theirs not in known and names.meaning_of(theirs) is None:
            unknown.append(name)
        else:
            tensors[theirs] = np.ascontiguousarray(array.T if name.endswith("/kernel") else array, np.float32)
    if unknown:
        raise UserError(f"{prefix} has tensors that BERT, as {CONFIG} describes it, does not have: {shown(unknown)}.")
    return tensors, head


def _head(stored: set[str]) -> str:
    if any(name.startswith("cls/predictions/") for name in stored):
        return "mlm+nsp" if any(name.startswith("cls/seq_relationship/") for name in stored) else "mlm"
    return "pooler" if any(name.startswith("bert/pooler/") for name in stored) else "encoder"


def _their_name(name: str, *, bare: bool) -> str:
    """Hugging Face's name: `bert/encoder/layer_0/output/dense/kernel` → `bert.encoder.layer.0.output.dense.weight`."""
    module, _, leaf = re.sub(r"/layer_(\d+)/", r"/layer/\1/", name).rpartition("/")
    renamed = f"{module}/{_LEAVES.get(leaf, leaf)}".replace("/", ".")
    return renamed.removeprefix("bert.") if bare else renamed
