"""Model folders: `load_model` and `save_model`."""

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unmask import backend as backends
from unmask import sources
from unmask.checkpoint import config_json, names
from unmask.checkpoint.tensors import TensorFiles, published_together, shown, write_tensors
from unmask.config import ModelConfig
from unmask.errors import UserError

if TYPE_CHECKING:
    from unmask.model import Bert, Transformer
    from unmask.text import Tokenizer

log = logging.getLogger("unmask")

MAX_SHARD_BYTES = 5 * 10**9


@dataclass
class LoadReport:
    """What became of the tensors of a folder."""

    new: list[str] = field(default_factory=list)
    """Tensors of the head that the folder lacks; they were drawn at random and want training."""
    unused: dict[str, list[str]] = field(default_factory=dict)
    """Tensors that the model has no place for, by what they are."""

    def sentences(self) -> list[str]:
        """What a user should know, if anything."""
        told = []
        if self.new:
            told.append(f"New and untrained, since the folder lacks them: {shown(self.new)}; fine-tune before use.")
        if unknown := self.unused.get("unknown"):
            told.append(f"Not used, since this model has no place for them: {shown(unknown)}.")
        return told


def read_config(folder: Path) -> tuple[ModelConfig, dict[str, Any]]:
    """The configuration in a folder, and its config.json as it stands."""
    path = folder / "config.json"
    if not path.is_file():
        raise UserError(f"{folder} has no config.json, so it is no model folder.")
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid JSON ({error}).") from None
    if not isinstance(raw, dict):
        raise UserError(f"{path} must hold a JSON object, but holds a {type(raw).__name__}.")
    try:
        return config_json.from_json(raw), raw
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def load_model(
    source: str | os.PathLike[str],
    head: str | None = None,
    backend: str | None = None,
    *,
    classes: Sequence[str] | None = None,
    seed: int = 0,
) -> "Bert | Transformer":
    """Loads a model from a folder, `hf:owner/name` or `py:package/path`.

    Args:
        source: where it is.
        head: what stands on the encoder; by default what the folder holds. A head that the folder lacks is made
            new, which is logged and told in `model.report`.
        backend: torch, jax or tensorflow; the first call in a process decides.
        classes: names of the labels of a new classification or tagging head.
        seed: of new weights and of dropout.
    """
    backends.choose(backend)
    folder = sources.resolve(source)
    config, raw = read_config(folder)
    tensors = TensorFiles(folder)
    head = head or config_json.head_of(raw, set(tensors.shapes))
    if classes is not None:
        config = config.replace(classes=tuple(classes))
    model = build_model(config, head, tensors, seed=seed, new_classes=classes is not None)
    for sentence in model.report.sentences():
        log.warning("%s: %s", source, sentence)
    return model


def build_model(
    config: ModelConfig, head: str, tensors: TensorFiles, *, seed: int, new_classes: bool = False
) -> "Bert | Transformer":
    """A model with the values of these tensors; `model.report` tells what was missing and what left over."""
    from unmask.model import Bert, Transformer  # noqa: PLC0415  (imports Keras, for which the backend is chosen)

    weights = FolderWeights(config, head, tensors, seed=seed, new_classes=new_classes)
    if config.family != "transformer":
        model = Bert(config, head, seed=seed, weights=weights)
    elif head == "translate":
        model = Transformer(config, seed=seed, weights=weights)
    else:
        raise UserError(f"A transformer has the head 'translate', not {head!r}.")
    model.report = weights.report
    return model


class FolderWeights:
    """The values of a model's variables: from a folder's tensors, or drawn where its head is new."""

    def __init__(
        self, config: ModelConfig, head: str, tensors: TensorFiles, *, seed: int, new_classes: bool = False
    ) -> None:
        self.config, self.head, self.tensors = config, head, tensors
        self.seed, self.new_classes = seed, new_classes
        self.report = LoadReport()

    def __call__(self, variables: Sequence[Any]) -> Mapping[str, Callable[[], np.ndarray]]:
        """Finds each variable's tensor; refuses a folder whose encoder is incomplete or of another shape."""
        from unmask.model.initialize import drawn  # noqa: PLC0415  (imports Keras)

        values = dict(drawn(self.config, self.seed)(variables))
        missing: list[str] = []
        misshapen: list[str] = []
        used: set[str] = set()
        for variable in stored_variables(variables):
            place = names.place_of(variable.path, self.config, self.head)
            name = self._found(variable.path, place)
            if name is None:
                (self.report.new if "/head/" in variable.path else missing).append(place.name)
                continue
            used.add(name)
            has, needs = self.tensors.shapes[name], _stored_shape(variable, place)
            if has != needs:
                misshapen.append(f"{name} is {_times(has)} where config.json asks for {_times(needs)}")
            values[variable.path] = partial(_value, self.tensors, name, place)
        _refuse(self.tensors.folder, [name for name in missing if name not in names.ZERO_IF_MISSING], misshapen)
        for name in sorted(self.tensors.shapes.keys() - used):
            self.report.unused.setdefault(names.meaning_of(name) or "unknown", []).append(name)
        return values

    def _found(self, path: str, place: names.Place) -> str | None:
        if self.new_classes and path.endswith(("/head/dense/kernel", "/head/dense/bias")):
            return None
        return place.found_among(set(self.tensors.shapes))


def stored_variables(variables: Sequence[Any]) -> list[Any]:
    """The variables that a folder holds: all but the state of dropout's random numbers."""
    return [variable for variable in variables if "seed_generator" not in variable.path]


def _refuse(folder: Path, missing: list[str], misshapen: list[str]) -> None:
    if misshapen:
        raise UserError(f"{folder}: config.json and the weights do not belong together: {shown(misshapen, 3)}.")
    if missing:
        raise UserError(
            f"{folder} lacks {len(missing)} tensors of the encoder: {shown(missing)}; "
            "the file is incomplete or of another family."
        )


def _stored_shape(variable: Any, place: names.Place) -> tuple[int, ...]:
    shape = tuple(variable.shape)
    if place.name == "final_logits_bias":
        return (1, *shape)
    return shape[::-1] if place.transposed else shape


def _value(tensors: TensorFiles, name: str, place: names.Place) -> np.ndarray:
    stored = tensors.read(name)
    return stored.T if place.transposed else stored


def _times(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "a single number"


def stored_tensors(model: "Bert | Transformer") -> dict[str, np.ndarray]:
    """The model's weights under Hugging Face's names, tied ones once."""
    from keras import ops  # noqa: PLC0415  (imports Keras)

    stored = {}
    for variable in stored_variables(model.variables):
        place = names.place_of(variable.path, model.config, model.head_name)
        value = ops.convert_to_numpy(variable.value).astype(np.float32, copy=False)
        value = value.T if place.transposed else value.reshape(_stored_shape(variable, place))
        stored[place.name] = np.ascontiguousarray(value)
    if model.config.positions == "sinusoidal":
        # Marian would compute its own layout; with the table in the file it takes the paper's.
        table = np.asarray(model.embeddings.positions.embeddings)
        stored |= {f"model.{side}.embed_positions.weight": table.copy() for side in ("encoder", "decoder")}
    return dict(sorted(stored.items()))


def save_model(
    model: "Bert | Transformer",
    tokenizer: "Tokenizer | None",
    folder: str | os.PathLike[str],
    *,
    max_shard_bytes: int = MAX_SHARD_BYTES,
) -> Path:
    """Writes a Hugging Face folder: config.json, model.safetensors and the tokenizer's files, all or none.

    Args:
        model: what to save.
        tokenizer: its tokenizer, or None for the weights alone.
        folder: where to; a model that is there already is replaced, other files stay.
        max_shard_bytes: larger weights are split into several files.
    """
    raw = config_json.to_json(model.config, model.head_name)
    if tokenizer is not None:
        check_vocabulary(tokenizer, model.config)
    destination = Path(folder)
    with published_together(destination) as scratch:
        write_tensors(stored_tensors(model), scratch, max_bytes=max_shard_bytes)
        if tokenizer is not None:
            tokenizer.save(scratch)
        (scratch / "config.json").write_text(json.dumps(raw, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return destination


def check_vocabulary(tokenizer: "Tokenizer", config: ModelConfig) -> None:
    """A tokenizer that can give an id for which the model has no embedding does not belong to it."""
    if tokenizer.n_ids > config.vocab_size:
        raise UserError(
            f"The tokenizer knows {tokenizer.n_ids} ids, but the model has embeddings for {config.vocab_size}; "
            "they do not belong together."
        )
