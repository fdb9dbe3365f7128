"""Model folders: `load_model` and `save_model`."""

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unmask import backend as backends
from unmask import sources
from unmask.checkpoint import config_json, names
from unmask.checkpoint.fit import Fit, fit, shown
from unmask.checkpoint.tensors import TensorFiles, published_together, write_tensors
from unmask.config import ModelConfig
from unmask.errors import UserError
from unmask.files import expanded

if TYPE_CHECKING:
    from unmask.model import Bert, Transformer
    from unmask.text import Tokenizer

log = logging.getLogger("unmask")

MAX_SHARD_BYTES = 5 * 10**9


def read_config(folder: Path) -> tuple[ModelConfig, dict[str, Any]]:
    """The configuration in a folder, and its config.json as it stands."""
    path = folder / "config.json"
    if not path.is_file():
        raise UserError(f"{folder} has no config.json, so it is no model folder.")
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
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
    dropouts: Mapping[str, float] | None = None,
) -> "Bert | Transformer":
    """Loads a model from a folder, `hf:owner/name` or `py:package/path`.

    Args:
        source: where it is.
        head: what stands on the encoder; by default what the folder holds. A head that the folder lacks is made
            new, which is logged and told in `model.report`.
        backend: torch, jax or tensorflow; the first call in a process decides.
        classes: names of the labels of a new classification or tagging head.
        seed: of new weights and of dropout.
        dropouts: `dropout` and `attention_dropout`, where they shall be others than the folder's.
    """
    backends.choose(backend)
    folder = sources.resolve(source)
    config, raw = read_config(folder)
    config = config.replace(**(dropouts or {}))
    tensors = TensorFiles(folder)
    stored_head = config_json.head_of(raw, set(tensors.shapes))
    head = head or stored_head
    stored_classes = config.classes
    if classes is not None:
        config = config.replace(classes=_distinct(classes))
    # The output layer of another task has the same name in many folders, and another meaning.
    new_classes = classes is not None or head != stored_head
    model = build_model(config, head, tensors, seed=seed, new_classes=new_classes)
    labels = f"the labels {shown(list(stored_classes))}" if stored_classes else "other labels"
    _tell_of_new(source, model.report, labels if head == stored_head else f"the head {stored_head}")
    if unknown := model.report.unused.get("unknown"):
        log.warning("%s: not used, since this model has no place for them: %s.", source, shown(unknown))
    return model


def _tell_of_new(source: str | os.PathLike[str], report: Fit, stored_for: str) -> None:
    lacking = [name for name in report.new if name not in report.replaced]
    for names_of, why in ((lacking, "it lacks them"), (report.replaced, f"it has them for {stored_for} only")):
        if names_of:
            log.warning("%s: new and untrained, since %s: %s; fine-tune before use.", source, why, shown(names_of))


def _distinct(classes: Sequence[str]) -> tuple[str, ...]:
    names_of = tuple(classes) if isinstance(classes, list | tuple) else ()
    if not names_of or len(set(names_of)) != len(names_of) or not all(isinstance(name, str) for name in names_of):
        raise UserError(f"classes must be a list of different names, in their order, but {classes!r} came.")
    return names_of


def build_model(
    config: ModelConfig, head: str, tensors: TensorFiles, *, seed: int, new_classes: bool = False
) -> "Bert | Transformer":
    """A model with the values of these tensors; `model.report` tells what was missing and what left over."""
    from unmask.model import Bert, Transformer  # noqa: PLC0415  (imports Keras, for which the backend is chosen)

    config_json.refuse_foreign_head(config, head)
    weights = FolderWeights(config, head, tensors, seed=seed, new_classes=new_classes)
    if config.family != "transformer":
        model = Bert(config, head, seed=seed, weights=weights)
    else:
        model = Transformer(config, seed=seed, weights=weights)
    model.report = weights.report
    return model


class FolderWeights:
    """The values of a model's variables: from a folder's tensors, or drawn where its head is new."""

    def __init__(
        self, config: ModelConfig, head: str, tensors: TensorFiles, *, seed: int, new_classes: bool = False
    ) -> None:
        self.config, self.tensors, self.seed = config, tensors, seed
        self.report = fit(config, head, tensors.shapes, new_classes=new_classes)
        self.report.refuse_if_unfit(tensors.folder)
        tensors.refuse_other_than_floats(self.report.found.values())

    def __call__(self, variables: Sequence[Any]) -> Mapping[str, Callable[[], np.ndarray]]:
        """For each variable, how to get its value."""
        from unmask.model.initialize import drawn  # noqa: PLC0415  (imports Keras)

        values = dict(drawn(self.config, self.seed)(variables))
        for variable in stored_variables(variables):
            name = self.report.found.get(variable.path.partition("/")[2])
            if name is not None:
                values[variable.path] = partial(self._value, name, transposed=variable.path.endswith("kernel"))
        return values

    def _value(self, name: str, *, transposed: bool) -> np.ndarray:
        stored = self.tensors.read(name)
        return stored.T if transposed else stored


def stored_variables(variables: Sequence[Any]) -> list[Any]:
    """The variables that a folder holds: all but the state of dropout's random numbers and LoRA's thin matrices."""
    other = ("seed_generator", "lora_kernel")
    return [variable for variable in variables if not any(word in variable.path for word in other)]


def _has_lora(part: Any) -> bool:
    return bool(getattr(part, "lora_enabled", False))


def stored_tensors(model: "Bert | Transformer") -> dict[str, np.ndarray]:
    """The model's weights under Hugging Face's names, tied ones once."""
    from keras import ops  # noqa: PLC0415  (imports Keras)

    # LoRA's thin matrices are added to their kernels, so that the folder is like any other.
    with_lora = {id(part._kernel): part.kernel for part in model._flatten_layers() if _has_lora(part)}
    stored = {}
    for variable in stored_variables(model.variables):
        place = names.place_of(variable.path, model.config, model.head_name)
        value = ops.convert_to_numpy(with_lora.get(id(variable), variable.value)).astype(np.float32, copy=False)
        value = value[None] if place.name == "final_logits_bias" else value
        stored[place.name] = np.ascontiguousarray(value.T if place.transposed else value)
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
    destination = expanded(folder)
    with published_together(destination) as scratch:
        write_tensors(stored_tensors(model), scratch, max_bytes=max_shard_bytes)
        if tokenizer is not None:
            tokenizer.save(scratch, max_length=model.config.max_positions)
        (scratch / "config.json").write_text(json.dumps(raw, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return destination


def check_vocabulary(tokenizer: "Tokenizer", config: ModelConfig) -> None:
    """A tokenizer that can give an id for which the model has no embedding does not belong to it."""
    if tokenizer.n_ids > config.vocab_size:
        raise UserError(
            f"The tokenizer knows {tokenizer.n_ids} ids, but the model has embeddings for {config.vocab_size}; "
            "they do not belong together."
        )
