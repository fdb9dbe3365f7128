"""`unmask info SOURCE`: what a model is, without computing anything with it."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table


def info(
    source: Annotated[str, typer.Argument(help="A folder, hf:owner/name or py:package/path.")],
    length: Annotated[int | None, typer.Option(help="Count operations at this many tokens.", min=1)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")] = False,
) -> None:
    """Family, configuration, parameters by part, memory, operations per token and heads of a model.

    Examples:

        unmask info ./my-model

        unmask info hf:FacebookAI/roberta-base --length 128
    """
    from unmask.checkpoint.describe import describe

    facts = describe(source, length=length)
    if as_json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    console = Console(highlight=False)
    console.print(_table(f"{source}: {facts['family']}", facts["configuration"]))
    parameters = facts["parameters"] | {"total": sum(facts["parameters"].values())}
    console.print(_table("Parameters", {part: f"{count:,}" for part, count in parameters.items()}))
    console.print(_table("Cost", _cost(facts)))
    console.print(_table("Weights and tokenizer", _content(facts)))


def _table(title: str, rows: dict[str, Any]) -> Table:
    table = Table(title=title, title_justify="left", show_header=False, min_width=60)
    for name, value in rows.items():
        table.add_row(name, ", ".join(value) if isinstance(value, tuple) else str(value))
    return table


def _cost(facts: dict[str, Any]) -> dict[str, str]:
    operations = facts["operations"]
    return {
        "weights in float32": f"{facts['memory_bytes'] / 2**20:,.1f} MiB",
        "training with AdamW, without activations": f"{4 * facts['memory_bytes'] / 2**20:,.1f} MiB",
        f"floating-point operations per token, at {operations['length']} tokens": f"{operations['per_token']:,}",
        "of which attention's scores and sums": f"{operations['of_which_attention']:,}",
        "and for each token predicted from the vocabulary": f"{operations['per_predicted_token']:,}",
    }


def _content(facts: dict[str, Any]) -> dict[str, str]:
    weights = facts["weights"]
    return {
        "head": facts["head"],
        "tensors": f"{weights['tensors']} ({', '.join(weights['types'])}), {weights['bytes'] / 2**20:,.1f} MiB on disk",
        "not counted": "; ".join(f"{name}: {what}" for name, what in facts["not_counted"].items()) or "none",
        "tokenizer": facts["tokenizer"] or "none",
    }
