"""Options that several verbs share: which column plays which role, and how files are read."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli import completions

if TYPE_CHECKING:
    from unmask.data.readers import Reading

_COLUMNS = "Which column is which (guessed, and said, if not given)"
_FILES = "How files are read"
_TEXTS = "How long texts are read"


def _column(name: str, what: str) -> Any:
    return typer.Option(f"--{name}", metavar="COLUMN", help=what, rich_help_panel=_COLUMNS)


Text = Annotated[str | None, _column("text", "The text.")]
Pair = Annotated[str | None, _column("pair", "The second text of a pair; `none` if there is none.")]
Label = Annotated[
    str | None, _column("label", "The label, or the number; `a,b,c` for columns of 0 and 1 with --multi-label.")
]
Tokens = Annotated[str | None, _column("tokens", "A sentence's words, for `tag`.")]
Tags = Annotated[str | None, _column("tags", "Their tags.")]
Spans = Annotated[str | None, _column("spans", "Labelled spans of the text, by character, in place of tags.")]
Question = Annotated[str | None, _column("question", "The question, for `read` and `choose`.")]
Context = Annotated[str | None, _column("context", "The text that it is about.")]
Answers = Annotated[str | None, _column("answers", "The answers, for `read`.")]
Choices = Annotated[str | None, _column("choices", "A list of choices, or several columns: `a,b,c`.")]

Kind = Annotated[
    str | None,
    typer.Option(
        help="csv, tsv, jsonl, json, parquet, conll, squad, text …",
        rich_help_panel=_FILES,
        autocompletion=completions.kinds_of_files,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row names the columns, else 1, 2 …",
        rich_help_panel=_FILES,
    ),
]
Quotes = Annotated[bool | None, typer.Option("--quotes/--no-quotes", help="Quoted fields.", rich_help_panel=_FILES)]
Encoding = Annotated[str, typer.Option(help="Such as utf-8, gb18030, latin-1.", rich_help_panel=_FILES)]
MaxLength = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Tokens that are read of a text at once.", rich_help_panel=_TEXTS),
]
Stride = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="N", help="Read longer texts in windows that share N tokens; else cut.", rich_help_panel=_TEXTS
    ),
]
Backend = Annotated[
    str | None,
    typer.Option(help="torch, jax or tensorflow.", show_default="the best there", autocompletion=completions.backends),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


def reading(kind: str | None, header: bool | None, quotes: bool | None, encoding: str) -> "Reading":
    """How files are read."""
    from unmask.data.readers import Reading

    said: Any = kind
    return Reading(kind=said, header=header, quotes=quotes, encoding=encoding)
