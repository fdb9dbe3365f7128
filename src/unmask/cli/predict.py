"""`unmask predict MODEL [TEXT…] [--input FILE --output FILE]`: a fine-tuned model's answers."""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from unmask.cli import options
from unmask.errors import UserError


def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A fine-tuned model: a folder, hf:… or py:….")],
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT…", help="Texts; for a model of pairs and for `read`, two.")
    ] = None,
    source: Annotated[str | None, typer.Option("--input", metavar="FILE", help="A file of examples.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where the answers go, with what was asked: .csv, .tsv, .jsonl, or .gz of it."
        ),
    ] = None,
    max_length: options.MaxLength = None,
    stride: options.Stride = None,
    text: options.Text = None,
    pair: options.Pair = None,
    tokens: options.Tokens = None,
    question: options.Question = None,
    context: options.Context = None,
    choices: options.Choices = None,
    kind: options.Kind = None,
    header: options.Header = None,
    quotes: options.Quotes = None,
    encoding: options.Encoding = "utf-8",
    backend: options.Backend = None,
    as_json: options.AsJson = False,
) -> None:
    """Predict: labels, numbers, entities, answers. A file keeps its order and its columns, and may be of any size.

    Examples:

        unmask predict my-model "A joy to watch." "Two hours that I will not get back."

        unmask predict my-model --input reviews.csv --output labelled.csv

        unmask predict my-reader "Who wrote it?" "The book was written by Mary Shelley in 1818."
    """
    from unmask.predict import load

    if bool(texts) == (source is not None):
        raise UserError("Give either texts, or --input FILE with --output FILE.")
    if source is None:
        predictor = load(model, backend)
        asked, answers = _of_texts(predictor, texts or [], {"max_length": max_length, "stride": stride})
        _give(asked, answers, output, as_json=as_json)
        return
    if output is None:
        raise UserError("Say with --output where the answers go, such as --output answers.csv.")
    from unmask.interruption import told_how_to_go_on
    from unmask.predict_file import predict_file

    columns = {"text": text, "pair": pair, "tokens": tokens, "question": question}
    columns |= {"context": context, "choices": choices}
    with told_how_to_go_on(f"unmask {shlex.join(sys.argv[1:])}"):
        n_rows = predict_file(
            load(model, backend),
            source,
            output,
            said=columns,
            reading=options.reading(kind, header, quotes, encoding),
            max_length=max_length,
            stride=stride,
        )
        told = json.dumps({"rows": n_rows, "output": str(output)}, ensure_ascii=False)
        typer.echo(told if as_json else f"{n_rows:,} rows are in {output}.")


def _of_texts(predictor: Any, texts: list[str], said: dict[str, Any]) -> tuple[list[dict[str, Any]], list[Any]]:
    """What is asked, as rows with named columns, and the answer to each."""
    task = predictor.task_for(None)
    if task.name in ("read", "choose") and len(texts) < 2:
        raise UserError(f"A model for {task.name} needs a question and what it is about: two texts or more.")
    if task.name == "read":
        asked: list[dict[str, Any]] = [{"question": texts[0], "context": context} for context in texts[1:]]
        return asked, [predictor.answer(**row, **said) for row in asked]
    if task.name == "choose":
        answer = predictor.choose(texts[1:], question=texts[0], **said)
        return [{"question": texts[0], "choices": texts[1:]}], [answer]
    if "pair" in predictor.settings.get("columns", {}):
        if len(texts) % 2:
            raise UserError("This model reads pairs of texts; give two, four, … of them.")
        firsts, seconds = texts[::2], texts[1::2]
        asked = [{"text": first, "pair": second} for first, second in zip(firsts, seconds, strict=True)]
        return asked, getattr(predictor, task.name)(firsts, seconds, **said)
    return [{"text": text} for text in texts], getattr(predictor, task.name)(texts, **said)


def _give(asked: list[dict[str, Any]], answers: list[Any], output: Path | None, *, as_json: bool) -> None:
    from unmask.predict_file import answer_row, write_answers

    rows = [answer_row(answer) for answer in answers]
    if output is not None:
        write_answers(asked, answers, output)
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    if output is not None:
        typer.echo(f"{len(rows):,} rows are in {output}.")
        return
    console = Console(highlight=False, soft_wrap=True)
    for row in rows:
        shown = {name: value for name, value in row.items() if name not in ("probabilities", "words")}
        console.print("  ".join(f"[dim]{name}[/dim] {escape(_shown(value))}" for name, value in shown.items()))


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "; ".join(f"{e['text']} = {e['label']} ({e['start']}–{e['end']}, {e['probability']:.3f})" for e in value)
    return " ".join(map(str, value)) or "(none)" if isinstance(value, list) else str(value)
