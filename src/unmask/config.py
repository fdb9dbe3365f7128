"""ModelConfig: what a model is, in the papers' words, checked once; and the papers' sizes as presets."""

import dataclasses
import difflib
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal

from unmask.errors import UserError

FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "transformer")
ACTIVATIONS = ("gelu", "gelu_tanh", "relu", "silu")
POSITIONS = ("learned", "sinusoidal", "sinusoidal_halves")
PROBLEMS = ("single_label_classification", "multi_label_classification", "regression")
_AT_MOST = {"n_layers": 10_000, "n_decoder_layers": 10_000, "d_model": 10**6, "d_ff": 10**7}
_AT_MOST |= {"n_heads": 10**6, "max_positions": 10**6, "vocab_size": 10**8, "n_segments": 10**6}
SIZES = ("tiny", "mini", "small", "base", "large")


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape and numerics of one model. No layer has a numeric default of its own: all come from here."""

    family: str
    vocab_size: int
    n_layers: int
    n_heads: int
    d_model: int
    d_ff: int
    max_positions: int
    """How many tokens a text may have; RoBERTa's two spare rows are not counted."""
    n_segments: int
    pad_id: int
    dropout: float
    attention_dropout: float
    norm: Literal["post", "pre"]
    """Where LayerNorm stands: after the residual sum (all the papers here) or before each sub-layer."""
    norm_eps: float
    activation: Literal["gelu", "gelu_tanh", "relu", "silu"]
    positions: Literal["learned", "sinusoidal", "sinusoidal_halves"]
    """`sinusoidal` interleaves sine and cosine as the paper does; `sinusoidal_halves` is Marian's layout."""
    positions_after_pad: bool
    """RoBERTa's: positions start at pad_id + 1 and padding has none of its own."""
    embedding_norm: bool
    embedding_scale: bool
    """Token embeddings are multiplied by √d_model (Vaswani et al. 2017, section 3.4)."""
    initializer_range: float
    n_decoder_layers: int = 0
    activation_dropout: float = 0.0
    classifier_dropout: float | None = None
    """Dropout in a classification head; None means `dropout`."""
    bos_id: int | None = None
    eos_id: int | None = None
    decoder_start_id: int | None = None
    classes: tuple[str, ...] = ()
    """Names of the labels, in the order of the head's outputs."""
    problem: Literal["single_label_classification", "multi_label_classification", "regression"] | None = None
    extra: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """Entries of config.json that the model does not need but a reader of the folder might."""

    def __post_init__(self) -> None:
        _check_choices(self)
        _check_numbers(self)
        _check_ids(self)
        if self.d_model % self.n_heads:
            raise UserError(
                f"{self.n_heads} heads do not divide a width of {self.d_model}; "
                f"use a number of heads that divides it, such as {_nearest_divisor(self.d_model, self.n_heads)}."
            )
        if self.family == "transformer" and self.n_decoder_layers < 1:
            raise UserError("A transformer needs a decoder: n_decoder_layers must be 1 or more, but it is 0.")
        if self.positions.startswith("sinusoidal") and self.d_model % 2:
            raise UserError(f"Sinusoidal positions need an even d_model, but it is {self.d_model}.")

    @property
    def d_head(self) -> int:
        """d_k of the paper: the width of one head."""
        return self.d_model // self.n_heads

    @property
    def first_position(self) -> int:
        """The row of the position table that the first token of a text takes."""
        return self.pad_id + 1 if self.positions_after_pad else 0

    @property
    def n_classes(self) -> int:
        """How many outputs a classification head has; two unless the classes are named."""
        return len(self.classes) or 2

    def replace(self, **changes: Any) -> "ModelConfig":
        """A copy with some fields changed, checked again."""
        return dataclasses.replace(self, **changes)


def _check_choices(config: ModelConfig) -> None:
    allowed = {
        "family": FAMILIES,
        "norm": ("post", "pre"),
        "activation": ACTIVATIONS,
        "positions": POSITIONS,
        "problem": (None, *PROBLEMS),
    }
    for name, choices in allowed.items():
        value = getattr(config, name)
        if value not in choices:
            raise UserError(f"{name} is {value!r}; it may be {', '.join(map(str, choices))}.")


def _check_numbers(config: ModelConfig) -> None:
    at_least = {"vocab_size": 1, "n_layers": 1, "n_heads": 1, "d_model": 1, "d_ff": 1, "max_positions": 1}
    at_least |= {"n_segments": 0, "n_decoder_layers": 0, "pad_id": 0}
    for name, least in at_least.items():
        value = getattr(config, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise UserError(f"{name} is {value!r}; it must be a whole number of at least {least}.")
    for name, most in _AT_MOST.items():
        if getattr(config, name) > most:
            raise UserError(f"{name} is {getattr(config, name)}; more than {most:,} is surely a mistake.")
    for name in ("dropout", "attention_dropout", "activation_dropout", "classifier_dropout"):
        value = getattr(config, name)
        if value is not None and not (isinstance(value, int | float) and 0 <= value < 1):
            raise UserError(f"{name} is {value!r}; it must be at least 0 and less than 1.")
    for name in ("norm_eps", "initializer_range"):
        value = getattr(config, name)
        if not (isinstance(value, int | float) and 0 < value < float("inf")):
            raise UserError(f"{name} is {value!r}; it must be a positive number.")


def _check_ids(config: ModelConfig) -> None:
    for name in ("pad_id", "bos_id", "eos_id", "decoder_start_id"):
        value = getattr(config, name)
        if value is not None and not (isinstance(value, int) and 0 <= value < config.vocab_size):
            raise UserError(f"{name} is {value!r}, outside the vocabulary of {config.vocab_size} tokens.")


def _nearest_divisor(width: int, heads: int) -> int:
    return min((d for d in range(1, width + 1) if width % d == 0), key=lambda d: abs(d - heads))


@cache
def _presets() -> dict[str, Any]:
    return tomllib.loads(resources.files("unmask").joinpath("presets.toml").read_text(encoding="utf-8"))


def preset(family: str, size: str, **changes: Any) -> ModelConfig:
    """The configuration of a paper's model, such as `preset("roberta", "base", vocab_size=8000)`."""
    presets = _presets()
    if family not in presets:
        raise UserError(f"There are presets for {', '.join(presets)}; {family!r} is not among them.")
    if size not in presets[family]["sizes"]:
        raise UserError(f"{family} comes in the sizes {', '.join(presets[family]['sizes'])}, not {size!r}.")
    fields = {name: value for name, value in presets[family].items() if name != "sizes"}
    known = {f.name for f in dataclasses.fields(ModelConfig)}
    for name in changes:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            raise UserError(f"A model has no {name!r}" + (f"; did you mean {close[0]!r}?" if close else "."))
    return ModelConfig(family=family, **{**fields, **presets[family]["sizes"][size], **changes})
