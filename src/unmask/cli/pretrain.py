"""`unmask pretrain --corpus DIR --out DIR`: a corpus becomes an encoder."""

import shlex
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from unmask.cli import completions, options
from unmask.errors import UserError

Text = str | None
_DATA = "What it learns from"
_LEARNING = "How it learns"


def _key(name: str, what: str, panel: str) -> Any:
    """An option that is a key of a recipe with few values."""
    return typer.Option(help=what, rich_help_panel=panel, autocompletion=completions.of_recipe(name))


def pretrain(
    corpus: Annotated[Path, typer.Option(help="A corpus that `unmask corpus build` wrote.")],
    out: Annotated[Path, typer.Option(help="The run's folder; at its end a Hugging Face folder.")],
    config: Annotated[
        str,
        typer.Option(
            metavar="RECIPE",
            help="A recipe of ours (see above) or a TOML file; options override it.",
            autocompletion=completions.recipes,
        ),
    ] = "roberta-mini",
    size: Annotated[
        Text, typer.Option(help="tiny, mini, small, base or large.", autocompletion=completions.of_recipe("size"))
    ] = None,
    model: Annotated[Text, typer.Option(metavar="SOURCE", help="Go on from this model (domain adaptation).")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any other key of a recipe.")
    ] = None,
    objective: Annotated[Text, _key("objective", "mlm, or mlm+nsp: with next-sentence prediction.", _DATA)] = None,
    input_format: Annotated[
        Text,
        _key("input_format", "full-sentences, doc-sentences, segment-pair, sentence-pair or packed-documents.", _DATA),
    ] = None,
    masking: Annotated[Text, _key("masking", "dynamic, or static: ten masks in turn.", _DATA)] = None,
    mask_unit: Annotated[Text, _key("mask_unit", "token, word (whole words) or span.", _DATA)] = None,
    mask_share: Annotated[
        float | None, typer.Option(help="The share of tokens to predict.", rich_help_panel=_DATA)
    ] = None,
    length: Annotated[int | None, typer.Option(help="Tokens of a block.", rich_help_panel=_DATA)] = None,
    steps: Annotated[int | None, typer.Option(help="How long: updates, or …", rich_help_panel=_LEARNING)] = None,
    epochs: Annotated[
        float | None, typer.Option(help="… times through the corpus, or …", rich_help_panel=_LEARNING)
    ] = None,
    hours: Annotated[float | None, typer.Option(help="… hours.", rich_help_panel=_LEARNING)] = None,
    batch_tokens: Annotated[
        int | None, typer.Option(help="Tokens that one update learns from.", rich_help_panel=_LEARNING)
    ] = None,
    peak_rate: Annotated[
        float | None, typer.Option(help="The highest learning rate.", rich_help_panel=_LEARNING)
    ] = None,
    precision: Annotated[Text, _key("precision", "float32 or mixed_bfloat16.", _LEARNING)] = None,
    seed: Annotated[
        int | None, typer.Option(help="Decides weights, order, masks and dropout.", rich_help_panel=_LEARNING)
    ] = None,
    save_every: Annotated[
        int | None,
        typer.Option(metavar="STEPS", help="Steps between two saved states.", rich_help_panel=_LEARNING),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Threads that prepare batches, to the same result.", rich_help_panel=_LEARNING
        ),
    ] = 2,
    backend: options.Backend = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the final figures as JSON.")] = False,
) -> None:
    """Pretrain RoBERTa or BERT. The same command again goes on where it stopped, bit by bit.

    Without --steps, --epochs or --hours the recipe says how long. `--set` takes any key that a recipe file may have.

    Recipes: `roberta-tiny`, `roberta-mini`, `roberta-mini-words` and `bert-mini` for two cores, `roberta` and `bert` as
    in the papers, for accelerators.

    Examples:

        unmask pretrain --corpus corpus --out my-roberta --hours 2

        unmask pretrain --corpus corpus --out my-bert --config bert-mini --epochs 3 --set dropout=0.1

        unmask pretrain --corpus corpus --out adapted --model hf:FacebookAI/roberta-base --steps 2000 --peak-rate 1e-4
    """
    from unmask.interruption import told_how_to_go_on
    from unmask.train.pretrain import pretrain as run
    from unmask.train.recipe import Recipe

    said = {
        "size": size,
        "model": model,
        "objective": objective,
        "input_format": input_format,
        "masking": masking,
        "mask_unit": mask_unit,
        "mask_share": mask_share,
        "length": length,
        "steps": steps,
        "epochs": epochs,
        "hours": hours,
        "batch_tokens": batch_tokens,
        "peak_rate": peak_rate,
        "precision": precision,
        "seed": seed,
        "save_every": save_every,
    }
    recipe = Recipe.read(config, **(_settings(settings or []) | {k: v for k, v in said.items() if v is not None}))
    with told_how_to_go_on(f"unmask {shlex.join(sys.argv[1:])}"):
        _tell(run(corpus, out, recipe, backend_name=backend, workers=workers), as_json=as_json)


def _settings(said: list[str]) -> dict[str, Any]:
    """`key=value` pairs; a value is a number, true or false where it looks like one, else a text."""
    values = {}
    for setting in said:
        key, equals, text = setting.partition("=")
        if not equals:
            raise UserError(f"--set {setting} has no value; write --set key=value.")
        try:
            values[key] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            values[key] = text
    return values


def _tell(folder: Path, *, as_json: bool) -> None:
    metrics = (folder / "metrics.json").read_text(encoding="utf-8")
    if as_json:
        typer.echo(metrics.strip())
        return
    typer.echo(f"The model is in {folder}: figures in metrics.json, the curve in curve.png, its card in README.md.")
    typer.echo(f'Try it: unmask fill {folder} "…"  ·  look: tensorboard --logdir {folder}/tensorboard')
