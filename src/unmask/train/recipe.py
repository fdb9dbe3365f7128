"""Recipes of pretraining: TOML files, overridden by what the command line says; unknown keys fail with a suggestion."""

import dataclasses
import difflib
import math
import re
import tomllib
import typing
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Self

from unmask.config import ModelConfig, preset
from unmask.data.blocks import FORMATS, PAIRS
from unmask.errors import UserError

_FOLDER = "recipes"
_MOST = {
    "length": 65_536,
    "max_positions": 65_536,
    "batch_tokens": 2**34,
    "piece_tokens": 2**34,
    "steps": 10**10,
    "epochs": 10**6,
}
_MOST |= {"hours": 10**5, "seed": 2**62}


SHAPE = ("family", "size", "n_layers", "n_heads", "d_model", "d_ff", "initializer_range", "max_positions")
"""Keys that decide what a new model is; a model to go on from has them already."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything that decides what a run computes; the defaults are RoBERTa's (Liu et al. 2019, table 9)."""

    family: Literal["roberta", "bert"] = "roberta"
    size: Literal["tiny", "mini", "small", "base", "large"] = "base"
    n_layers: int | None = None
    """These four change the size."""
    n_heads: int | None = None
    d_model: int | None = None
    d_ff: int | None = None
    dropout: float | None = None
    attention_dropout: float | None = None
    initializer_range: float | None = None
    """Deviation of the initial weights; the papers' 0.02 is small for a small width."""
    model: str | None = None
    """A model folder to go on from, in place of a new model."""

    objective: Literal["mlm", "mlm+nsp"] = "mlm"
    input_format: Literal["full-sentences", "doc-sentences", "segment-pair", "sentence-pair", "packed-documents"] = (
        "full-sentences"
    )
    length: int = 512
    """Tokens of a block, special ones counted."""
    max_positions: int | None = None
    """Tokens that the model can read, if more than a block has; fine-tuning must then teach the later positions."""
    masking: Literal["dynamic", "static"] = "dynamic"
    mask_unit: Literal["token", "word", "span"] = "token"
    mask_share: float = 0.15
    masked: float = 0.8
    random: float = 0.1
    static_masks: int = 10
    """With static masking, the number of masks that take turns."""

    batch_tokens: int = 8192 * 512
    """Tokens that one update learns from."""
    piece_tokens: int = 8192
    """Tokens that the machine computes at once; a batch is computed in so many pieces."""
    steps: int | None = None
    """One of these three says how long."""
    epochs: float | None = None
    hours: float | None = None
    peak_rate: float = 6e-4
    warmup: float = 0.048
    """Steps of warm-up, as a share of all (below 1) or as a number of steps."""
    beta_1: float = 0.9
    beta_2: float = 0.98
    epsilon: float = 1e-6
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    precision: Literal["float32", "mixed_bfloat16"] = "float32"
    checkpointing: bool = False
    """Computes activations again in the backward pass, which takes less memory and more time."""

    seed: int = 0
    save_every: int = 1000
    evaluate_every: int | None = None
    """Steps between two looks at the held-out part; ten in a run if not given."""
    heldout_tokens: int = 100_000
    """At most so much of the held-out part is looked at."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            _check_type(field.name, getattr(self, field.name), field.type)
        _check_values(self)

    @classmethod
    def read(cls, source: str | None, **changes: Any) -> Self:
        """A recipe of ours by name, or a TOML file; `changes` win, except those that are None."""
        values = _content(source) if source is not None else {}
        for key in values:
            _check_key(key, str(source))
        for key in changes:
            _check_key(key, "--set")
        wanted = {key: value for key, value in changes.items() if value is not None}
        if len({"steps", "epochs", "hours"} & set(wanted)) == 1:
            if "steps" not in wanted and values.get("warmup", 0) >= 1 and values.get("steps"):
                values["warmup"] /= values["steps"]  # steps of warm-up were meant for so many steps in all
            values = {key: value for key, value in values.items() if key not in ("steps", "epochs", "hours")}
        if "model" in values | wanted:
            if said := [key for key in SHAPE if key in wanted]:
                raise UserError(f"{said[0]} is that of the model to go on from, {wanted['model']}; leave it out.")
            values = {key: value for key, value in values.items() if key not in SHAPE}
        return cls(**(values | wanted))

    def to_json(self) -> dict[str, Any]:
        """All keys and values."""
        return dataclasses.asdict(self)

    def config(self, *, n_ids: int, **ids: int | None) -> ModelConfig:
        """The model that a run from scratch begins with."""
        named = ("n_layers", "n_heads", "d_model", "d_ff", "dropout", "attention_dropout", "initializer_range")
        changes = {name: getattr(self, name) for name in named if getattr(self, name) is not None}
        positions = self.max_positions or self.length
        return preset(self.family, self.size, vocab_size=n_ids, max_positions=positions, **_shaped(changes), **ids)


def _shaped(changes: dict[str, Any]) -> dict[str, Any]:
    """A new width brings the heads and the inner width that the papers give it, unless they are said too."""
    if "d_model" in changes:
        width = changes["d_model"]
        changes.setdefault("d_ff", 4 * width)
        changes.setdefault("n_heads", max(1, width // 64))
    return changes


def names() -> list[str]:
    """The recipes that come with unmask."""
    folder = resources.files("unmask") / _FOLDER
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def _content(source: str) -> dict[str, Any]:
    if source in names():
        text = (resources.files("unmask") / _FOLDER / f"{source}.toml").read_text(encoding="utf-8")
    elif Path(source).is_file():
        text = _read(Path(source))
    else:
        near = difflib.get_close_matches(source, names(), 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names())}, or write your own."
        raise UserError(f"There is no recipe and no file {source}; {hint}")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{source} is not valid TOML: {error}.") from None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8, as TOML must be.") from None


def _check_key(key: str, source: str) -> None:
    known = [field.name for field in dataclasses.fields(Recipe)]
    if key not in known:
        near = difflib.get_close_matches(key, known, 1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"it may hold {', '.join(known)}."
        raise UserError(f"{source} has the unknown key {key!r}; {hint}")


_IN_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def _check_type(key: str, value: Any, kind: Any) -> None:
    """Numbers must be numbers and choices must be among the choices; a whole number will do for any number."""
    allowed = typing.get_args(kind) or (kind,)
    if typing.get_origin(kind) is Literal:
        if value not in allowed:
            near = difflib.get_close_matches(str(value), [str(choice) for choice in allowed], 1)
            hint = f"; did you mean {near[0]}?" if near else "."
            raise UserError(f"{key} is {value!r}, but must be one of {', '.join(map(str, allowed))}{hint}")
        return
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{key} is {value}, but must be a finite number.")
    fits = isinstance(value, allowed) or (float in allowed and isinstance(value, int))
    if not fits or (isinstance(value, bool) and bool not in allowed):
        kinds = " or ".join(_IN_WORDS[k] for k in allowed if k is not type(None))
        raise UserError(f"{key} is {value!r}, but must be {kinds}.")


def _check_values(recipe: Recipe) -> None:
    said = [key for key in ("steps", "epochs", "hours") if getattr(recipe, key) is not None]
    if len(said) > 1:
        raise UserError(f"{' and '.join(said)} are both given; a run's length is said by one of them.")
    positive = (
        "length",
        "max_positions",
        "batch_tokens",
        "piece_tokens",
        "steps",
        "epochs",
        "hours",
        "save_every",
        "evaluate_every",
    )
    for key in (*positive, "peak_rate", "epsilon", "clip_norm", "heldout_tokens", "static_masks"):
        value = getattr(recipe, key)
        if value is not None and not value > 0:
            raise UserError(f"{key} is {value}, but must be more than 0.")
    if (recipe.max_positions or recipe.length) < recipe.length:
        raise UserError(f"max_positions is {recipe.max_positions}, but blocks have {recipe.length} tokens.")
    _check_shares(recipe)
    pairs = recipe.input_format in PAIRS
    if recipe.objective == "mlm+nsp" and not pairs:
        raise UserError(f"Next-sentence prediction needs pairs; pass --input-format {' or '.join(PAIRS)}.")
    if recipe.objective == "mlm+nsp" and recipe.family != "bert" and recipe.model is None:
        raise UserError(
            f"Hugging Face's folders know no {recipe.family} with next-sentence prediction; pass --set family=bert, "
            "or --config bert-mini."
        )
    if recipe.objective == "mlm" and pairs:
        others = ", ".join(form for form in FORMATS if form not in PAIRS)
        raise UserError(f"{recipe.input_format} is for --objective mlm+nsp; for mlm alone take one of {others}.")


def _check_shares(recipe: Recipe) -> None:
    for key, most in _MOST.items():
        if (getattr(recipe, key) or 0) > most:
            raise UserError(f"{key} is {getattr(recipe, key):g}, but must not be above {most:,}.")
    if recipe.steps is not None and recipe.warmup >= max(1, recipe.steps):
        raise UserError(f"warmup is {recipe.warmup:g} of {recipe.steps:,} steps; it must be shorter than the run.")
    for key in ("warmup", "weight_decay", "seed"):
        if not getattr(recipe, key) >= 0:
            raise UserError(f"{key} is {getattr(recipe, key)}, but must not be below 0.")
    for key in ("beta_1", "beta_2"):
        if not 0 <= getattr(recipe, key) < 1:
            raise UserError(f"{key} is {getattr(recipe, key)}, but must be at least 0 and below 1.")
    if not 0 < recipe.mask_share < 1:
        raise UserError(f"mask_share is {recipe.mask_share}, but must lie between 0 and 1.")
    if recipe.masked < 0 or recipe.random < 0 or recipe.masked + recipe.random > 1:
        raise UserError(f"masked is {recipe.masked} and random {recipe.random}; together they must not exceed 1.")


def differences(one: dict[str, Any], other: dict[str, Any], *, free: tuple[str, ...] = ()) -> list[str]:
    """What differs between two recipes, in words: `peak_rate was 0.0006 and is 0.001`."""
    keys = [key for key in {**one, **other} if key not in free]
    return [_difference(k, one.get(k), other.get(k)) for k in keys if one.get(k) != other.get(k)]


def _difference(key: str, one: Any, other: Any) -> str:
    if all(isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) for value in (one, other)):
        return f"the content of {key} is another"
    return f"{key} was {_in_words(one)} and is {_in_words(other)}"


def _in_words(value: Any) -> Any:
    """A value as whoever typed the command knows it: a hash tells nobody anything."""
    if isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value):
        return "a file"
    return "not given" if value is None else value
