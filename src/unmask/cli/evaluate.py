"""`unmask evaluate MODEL --data FILE`: how good a model is, and where it errs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unmask.cli import options

if TYPE_CHECKING:
    from unmask.report import Evaluation


def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A fine-tuned model: a folder, hf:… or py:….")],
    data: Annotated[str, typer.Option(metavar="FILE", help="Labelled examples that the model has not seen.")],
    out: Annotated[
        Path | None, typer.Option(help="Where the page goes.", show_default="MODEL/evaluation, or ./evaluation")
    ] = None,
    max_length: options.MaxLength = None,
    stride: options.Stride = None,
    samples: Annotated[int, typer.Option(min=2, help="Bootstrap samples for the intervals.")] = 1000,
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
    """Evaluate a model: figures with confidence intervals, metrics.json, and a page to look at, evaluation.html.

    Examples:

        unmask evaluate my-model --data test.csv

        unmask evaluate my-reader --data dev.json.gz --stride 128 --out report
    """
    from unmask.evaluate import evaluate as run
    from unmask.predict import load
    from unmask.report import write_evaluation

    columns = {"text": text, "pair": pair, "label": label, "tokens": tokens, "tags": tags, "spans": spans}
    columns |= {"question": question, "context": context, "answers": answers, "choices": choices}
    found = run(
        load(model, backend),
        data,
        said=columns,
        reading=options.reading(kind, header, quotes, encoding),
        max_length=max_length,
        stride=stride,
        samples=samples,
    )
    folder = out or (Path(model) / "evaluation" if Path(model).is_dir() else Path("evaluation"))
    page = write_evaluation(found, folder)
    if as_json:
        typer.echo((folder / "metrics.json").read_text(encoding="utf-8").strip())
        return
    _show(found)
    typer.echo(f"Look at {page}; the figures are in {folder / 'metrics.json'}.")


def _show(found: "Evaluation") -> None:
    from unmask.report.glossary import OF_A_CLASS

    title = f"{found.task}, {found.n_examples:,} examples of {found.data}"
    table = Table("figure", "value", "95 % interval", title=escape(title))
    for name, value in found.metrics.items():
        between = found.intervals.get(name)
        shown = "" if between is None else f"{between[0]:.4g} – {between[1]:.4g}"
        of = f" of '{found.positive}'" if found.positive is not None and name in OF_A_CLASS else ""
        table.add_row(escape(name.replace("_", " ") + of), f"{value:.4g}", shown)
    Console(highlight=False, soft_wrap=True).print(table)
