"""`unmask fill MODEL TEXT…`: the words that a model expects in the place of masks."""

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unmask.cli import options
from unmask.errors import UserError

if TYPE_CHECKING:
    from unmask.tasks.fill import FilledText


def fill(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A folder, hf:owner/name or py:package/path.")],
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT…", help="Texts with `<mask>` or `[MASK]` in them; else one a line from stdin."),
    ] = None,
    top_k: Annotated[int, typer.Option(help="How many candidates for each mask.")] = 5,
    as_json: options.AsJson = False,
    backend: options.Backend = None,
) -> None:
    """Fill masks with the likeliest tokens. Each mask is predicted as if it were alone.

    Examples:

        `unmask fill ./my-roberta "Paris is the <mask> of France."`

        `unmask fill ./my-bert "巴黎是法国的首[MASK]。" --top-k 3 --json`
    """
    from unmask.predict import load

    if not texts and not sys.stdin.isatty():
        texts = [line.rstrip("\r\n") for line in sys.stdin if line.strip()]
    if not texts:
        raise UserError("Give a text with <mask> in it, or texts on stdin, one a line.")
    answers = load(model, backend).fill_many(texts, top_k=top_k)
    if as_json:
        typer.echo(json.dumps([asdict(answer) for answer in answers], indent=2, ensure_ascii=False))
        return
    console = Console(highlight=False, soft_wrap=True)
    for answer in answers:
        _show(console, answer)


def _show(console: Console, answer: "FilledText") -> None:
    for number, mask in enumerate(answer.masks, start=1):
        title = escape(answer.text) if len(answer.masks) == 1 else f"{escape(answer.text)}: mask {number}"
        table = Table("probability", "token", "text", title=title, title_justify="left")
        for candidate in mask.candidates:
            table.add_row(f"{candidate.probability:.4f}", escape(candidate.token), escape(candidate.filled))
        console.print(table)
    if len(answer.masks) > 1:
        console.print(f"The likeliest of each: {escape(answer.filled)}")
