"""Hugging Face folders whose weights are a pickle, `pytorch_model.bin`, whole or in shards, made safetensors."""

import re
from pathlib import Path

import numpy as np

from unmask import backend
from unmask.checkpoint import config_json, names
from unmask.checkpoint.fit import fit, shown
from unmask.checkpoint.folder import read_config
from unmask.checkpoint.imported import Imported, refuse_occupied, shapes_of, write_folder
from unmask.errors import UserError
from unmask.files import read_json

WEIGHTS = "pytorch_model.bin"
INDEX = "pytorch_model.bin.index.json"
_NOT_COPIED = {".bin", ".pt", ".pth", ".pkl", ".ckpt", ".h5", ".msgpack", ".ot", ".onnx", ".safetensors", ".tflite"}
"""Weights in other formats, and pickles: neither belongs in the new folder."""

_CONSTANT, _, _TIED_WEIGHT, _TIED_BIAS = names.NO_PARAMETERS
_Identity = tuple[int, tuple[int, ...], tuple[int, ...], np.dtype]


def import_torch(source: Path, destination: Path) -> Imported:
    """Writes the same folder with model.safetensors in place of pytorch_model.bin.

    Tensors keep their names and number formats, but for `gamma` and `beta` of the first BERT files.

    Args:
        source: a Hugging Face folder with config.json and pytorch_model.bin.
        destination: a new or an empty folder.
    """
    refuse_occupied(destination)
    if not source.is_dir():
        raise UserError(f"{source} is no folder; name the one with config.json and {WEIGHTS} in it.")
    config, raw = read_config(source)
    tensors, notes = stored_once(_newer_names(_read(source), source), source)
    fitting = fit(config, "encoder", shapes_of(tensors))
    fitting.refuse_if_unfit(source)
    for name in fitting.found.values():
        if tensors[name].dtype.name not in ("float64", "float32", "float16", "bfloat16"):
            raise UserError(f"{source}: {name} is {tensors[name].dtype.name}, not floating point.")
    if "__metadata__" in tensors:
        raise UserError(f"{source} has a tensor named __metadata__, a name that safetensors keeps for itself.")
    raw = {"model_type": config_json.model_type_of(config), **raw}
    left = sorted(path.name for path in source.iterdir() if path.is_dir() and not path.name.startswith("."))
    if left:
        notes.append(f"Not copied: the folders {', '.join(left)} in {source}.")
    write_folder(destination, raw, tensors, files=_companions(source))
    return Imported(config, config_json.head_of(raw, set(tensors)), tuple(notes))


def _companions(source: Path) -> list[Path]:
    """The tokenizer, the vocabulary and whatever else is neither weights nor a pickle."""
    files = sorted(path for path in source.iterdir() if path.is_file() and not path.name.startswith("."))
    return [path for path in files if path.suffix not in _NOT_COPIED and path.name not in (INDEX, "config.json")]


def _read(source: Path) -> dict[str, np.ndarray]:
    if any(source.glob("model*.safetensors")):
        raise UserError(f"{source} holds safetensors already, which unmask opens as they are.")
    if (source / WEIGHTS).is_file():
        return backend.torch_arrays(backend.read_torch_file(source / WEIGHTS), source / WEIGHTS)
    if not (source / INDEX).is_file():
        raise UserError(f"{source} has no {WEIGHTS} and no {INDEX}, so there are no weights to import.")
    file_of = read_json(source / INDEX).get("weight_map")
    if not isinstance(file_of, dict) or not all(isinstance(file, str) for file in file_of.values()):
        raise UserError(f"{source / INDEX} is damaged: its weight_map must map the name of each tensor to a file.")
    shards = sorted(set(file_of.values()))
    missing = [shard for shard in shards if Path(shard).name != shard or not (source / shard).is_file()]
    if missing:
        raise UserError(
            f"{source} lacks {len(missing)} of its {len(shards)} shards: {shown(missing)}; copy them there."
        )
    tensors: dict[str, np.ndarray] = {}
    for shard in shards:
        tensors |= backend.torch_arrays(backend.read_torch_file(source / shard), source / shard)
    lost = sorted(file_of.keys() - tensors.keys())
    if lost:
        raise UserError(f"{source} lacks {len(lost)} tensors that {INDEX} lists: {shown(lost)}; copy it again.")
    return tensors


def _newer_names(tensors: dict[str, np.ndarray], source: Path) -> dict[str, np.ndarray]:
    """TensorFlow's words for LayerNorm's parameters, found in the first BERT files, become PyTorch's."""
    words = {".gamma": ".weight", ".beta": ".bias"}
    renamed = {re.sub(r"\.(gamma|beta)$", lambda word: words[word[0]], name): array for name, array in tensors.items()}
    if len(renamed) < len(tensors):
        twice = [name for name in tensors if name not in renamed]
        raise UserError(
            f"{source} has some parameters under an old and a new name: {shown(twice)}; remove one of them."
        )
    return renamed


def stored_once(tensors: dict[str, np.ndarray], source: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """The tensors without constants and without the copies that tied weights leave, and what to say of it."""
    kept: dict[str, np.ndarray] = {}
    first: dict[_Identity, str] = {}
    copies = []
    # Those that may be copies come last, so that what they copy is found.
    for name in sorted(tensors, key=lambda name: (names.meaning_of(name) in names.NO_PARAMETERS, name)):
        array = tensors[name]
        if names.meaning_of(name) == _CONSTANT:
            continue
        original = first.get(_identity(array)) or _tied_to(name, kept)
        if original is None:
            first[_identity(array)] = name
            kept[name] = np.ascontiguousarray(array)
        elif np.array_equal(array, tensors[original]):
            copies.append(f"{name} = {original}")
        else:
            raise UserError(f"{source}: {name} differs from {original}, but unmask has one tensor for both.")
    return dict(sorted(kept.items())), [f"Stored once, since they are tied: {shown(copies)}."] if copies else []


def _identity(array: np.ndarray) -> _Identity:
    """What two names of one tensor have in common."""
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype


def _tied_to(name: str, kept: dict[str, np.ndarray]) -> str | None:
    """The tensor, if it is there, that this one is a copy of by the model's definition."""
    meaning = names.meaning_of(name)
    if meaning == _TIED_WEIGHT:
        return next((other for other in kept if re.search(r"(word_embeddings|shared)\.weight$", other)), None)
    if meaning == _TIED_BIAS:
        return next((other for other in kept if other == name.replace(".decoder.", ".")), None)
    return None
