"""Do these tensors and this configuration belong together? Told from shapes alone, before anything is built."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from unmask.checkpoint import names
from unmask.config import ModelConfig
from unmask.errors import UserError

Shapes = dict[str, tuple[int, ...]]


@dataclass
class Fit:
    """What becomes of the tensors of a model."""

    found: dict[str, str] = field(default_factory=dict)
    """Our variable's path, without the model's name → the tensor that holds it."""
    missing: list[str] = field(default_factory=list)
    """Tensors of the encoder or decoder that are not there."""
    new: list[str] = field(default_factory=list)
    """Tensors of the head that are not there: they must be drawn at random and want training."""
    replaced: list[str] = field(default_factory=list)
    """Those of the new ones that are there, but mean something else."""
    misshapen: list[str] = field(default_factory=list)
    """What is wrong with tensors of another shape than the configuration asks for."""
    unused: dict[str, list[str]] = field(default_factory=dict)
    """Tensors that the model has no place for, by what they are."""

    def refuse_if_unfit(self, source: Path, *, with_head: bool = False) -> None:
        """A UserError that lists what is wrong; a missing head is wrong only if it is asked for."""
        if self.misshapen:
            raise UserError(f"{source}: configuration and weights do not belong together: {shown(self.misshapen, 3)}.")
        missing = self.missing + (self.new if with_head else [])
        if missing:
            part = "model" if with_head else "encoder"
            raise UserError(
                f"{source} lacks {len(missing)} of the {part}'s tensors: {shown(missing)}; "
                "it is incomplete or of another family."
            )


def fit(config: ModelConfig, head: str, shapes: Mapping[str, tuple[int, ...]], *, new_classes: bool = False) -> Fit:
    """Finds the tensor of each variable; with `new_classes` the output layer of the head counts as not there."""
    result = Fit()
    for path, needed in expected_shapes(config, head).items():
        place = names.place_of(f"model/{path}", config, head)
        renewed = new_classes and path.startswith("head/dense/")
        stored = place.found_among(set(shapes))
        name = None if renewed else stored
        if renewed and stored is not None:
            result.replaced.append(place.name)
        if name is None:
            if place.name not in names.ZERO_IF_MISSING:
                (result.new if path.startswith("head/") else result.missing).append(place.name)
            continue
        result.found[path] = name
        if shapes[name] != needed:
            has, needs = times(shapes[name]), times(needed)
            result.misshapen.append(f"{name} is {has} where the configuration asks for {needs}")
    for name in sorted(shapes.keys() - set(result.found.values())):
        result.unused.setdefault(names.meaning_of(name) or "unknown", []).append(name)
    return result


def expected_shapes(config: ModelConfig, head: str) -> Shapes:
    """The shape, as Hugging Face stores it, of every variable of a model."""
    if config.family == "transformer":
        shapes: Shapes = {"embeddings/tokens/embeddings": (config.vocab_size, config.d_model)}
        for i in range(config.n_decoder_layers):
            shapes |= _layer(config, f"decoder/layer_{i}", ("attention", "cross_attention"))
        shapes["logits_bias"] = (1, config.vocab_size)
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
    if head in ("pooler", "nsp", "mlm+nsp", "classify", "choose"):
        shapes |= _linear("head/pooler/dense", config.d_model, config.d_model)
    if head in ("nsp", "mlm+nsp"):
        shapes |= _linear("head/next_sentence", 2, config.d_model)
    outputs = {"classify": config.n_classes, "tag": config.n_classes, "read": 2, "choose": 1}
    return shapes | (_linear("head/dense", outputs[head], config.d_model) if head in outputs else {})


def _linear(module: str, n_out: int, n_in: int) -> Shapes:
    return {f"{module}/kernel": (n_out, n_in), f"{module}/bias": (n_out,)}


def _norm(module: str, width: int) -> Shapes:
    return {f"{module}/gamma": (width,), f"{module}/beta": (width,)}


def times(shape: tuple[int, ...]) -> str:
    """A shape for a message."""
    return " × ".join(map(str, shape)) or "a single number"


def shown(items: list[str], most: int = 5) -> str:
    """The first few of many, for a message."""
    return ", ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")
