"""`unmask corpus build|info`: text becomes shards of token ids, and what is in them."""

import json
import shlex
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from unmask.cli import completions

if TYPE_CHECKING:
    from unmask.data.shards import Corpus

app = typer.Typer(
    no_args_is_help=True,
    help="Build a corpus for pretraining from text, and look at it.",
    epilog="Example: `unmask corpus build --tokenizer my-tokenizer --out my-corpus books/`",
)


class Form(Enum):
    """Normalizations."""

    nfc = "nfc"
    nfkc = "nfkc"
    none = "none"


class Errors(Enum):
    """What is done about a broken encoding."""

    replace = "replace"
    refuse = "refuse"


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


@app.command("build")
def build(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES…",
            help="Files (.txt .jsonl .csv .tsv .parquet, also .gz .zst), folders, globs, - or hf:owner/name.",
        ),
    ],
    tokenizer: Annotated[str, typer.Option(help="The folder of a tokenizer, hf:owner/name or py:package/path.")],
    out: Annotated[Path, typer.Option(help="The folder to write: a new one, or that of an interrupted build.")],
    kind: Annotated[
        str | None,
        typer.Option(
            help="What the files are: text, jsonl, csv, tsv or parquet.",
            show_default="by their names",
        ),
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="The field or column that holds the text.", show_default="guessed")
    ] = None,
    held_out: Annotated[
        float,
        typer.Option(
            min=0, metavar="SHARE", help="The part that training never sees: a share, or a number of documents."
        ),
    ] = 0.01,
    near_duplicates: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Leave out documents this like an earlier one, such as 0.8.",
            show_default="exact ones only",
        ),
    ] = None,
    keep_duplicates: Annotated[bool, typer.Option("--keep-duplicates", help="Keep documents that are equal.")] = False,
    normalize: Annotated[Form, typer.Option(help="Unicode's form, spaces and line ends; none: as it is.")] = Form.nfc,
    encoding: Annotated[str, typer.Option(help="Of text files, such as gb18030.")] = "utf-8",
    encoding_errors: Annotated[
        Errors, typer.Option(help="Broken bytes: replace and count them, or refuse the file.")
    ] = Errors.replace,
    quotes: Annotated[bool, typer.Option("--quotes/--no-quotes", help="Whether CSV and TSV quote fields.")] = True,
    segmenter: Annotated[
        str,
        typer.Option(
            help="Cuts Chinese into words: auto, rjieba, jieba, none or module:function.",
            autocompletion=completions.segmenters,
        ),
    ] = "auto",
    shard_tokens: Annotated[int, typer.Option(min=1, metavar="N", help="Tokens in a shard.")] = 1 << 24,
    seed: Annotated[int, typer.Option(help="Chooses the held-out documents.")] = 0,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Processes that tokenize.", show_default="one a core")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read text, drop duplicates, tokenize on all cores and write shards with a manifest.

    The same command again goes on where it was stopped or killed. Text files: blank lines part documents.

    Examples:

        unmask corpus build --tokenizer my-tokenizer --out my-corpus books/

        unmask corpus build --tokenizer my-tokenizer --out my-corpus 'crawl/**/*.jsonl.zst' --near-duplicates 0.8

        curl ADDRESS | unmask corpus build --tokenizer my-tokenizer --out my-corpus --kind csv -
    """
    from unmask.corpus.build import CorpusOptions, Stopped, build_corpus
    from unmask.interruption import Interruption
    from unmask.text import load_tokenizer

    options = CorpusOptions(
        kind=cast(Any, kind),
        text=text,
        encoding=encoding,
        encoding_errors=encoding_errors.value,
        quotes=quotes,
        normalize=normalize.value,
        keep_duplicates=keep_duplicates,
        near_duplicates=near_duplicates,
        held_out=held_out,
        seed=seed,
        shard_tokens=shard_tokens,
        segmenter=segmenter,
    )
    with Interruption() as interruption:
        try:
            made = build_corpus(
                files,
                load_tokenizer(tokenizer),
                out,
                options,
                workers=workers,
                stop=lambda: interruption.asked,
                say=_say,
            )
        except Stopped:
            _say(f"Stopped. To go on, run: {shlex.join(['unmask', *sys.argv[1:]])}")
            return
    _show(made, as_json=as_json)


@app.command("info")
def info(
    folder: Annotated[Path, typer.Argument(help="The folder of a corpus.")],
    verify: Annotated[bool, typer.Option("--verify", help="Compare every file with its hash in the manifest.")] = False,
    as_json: AsJson = False,
) -> None:
    """What is in a corpus, as its build reported it.

    Example:

        unmask corpus info my-corpus --verify
    """
    from unmask.corpus.verify import verify_corpus
    from unmask.data.shards import Corpus

    corpus = Corpus(folder)
    files = verify_corpus(corpus) if verify else None
    _show(corpus, as_json=as_json)
    if files is not None:
        _say(f"{files} files are as the manifest says.")


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _show(corpus: "Corpus", *, as_json: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    report = corpus.manifest["report"]
    if as_json:
        typer.echo(json.dumps(report, indent=2, ensure_ascii=False))
        return
    console = Console(highlight=False)
    table = Table(title=f"{corpus.folder}", title_justify="left", show_header=False, min_width=60)
    for name, value in _rows(report).items():
        table.add_row(name, value)
    console.print(table)
    longest = Table("tokens", "where", title="Longest documents", title_justify="left", min_width=60)
    for entry in report["longest"]:
        longest.add_row(f"{entry['tokens']:,}", f"{entry['source']}, {entry['place']}")
    console.print(longest)
    for warning in report["warnings"]:
        console.print(f"Warning: {warning}", markup=False)


def _rows(report: dict[str, Any]) -> dict[str, str]:
    counted = ("documents", "sentences", "words", "tokens", "characters", "bytes")
    rows = {name: f"{report[name]:,}" for name in counted}
    rows["bytes per token"] = f"{report['bytes_per_token']:.2f}"
    rows["held out"] = f"{report['held_out']['documents']:,} documents, {report['held_out']['tokens']:,} tokens"
    rows["documents read"] = f"{report['documents_read']:,}"
    rows["left out"] = (
        f"{report['exact_duplicates']:,} exact duplicates, {report['near_duplicates']:,} near-duplicates, "
        f"{report['empty']:,} empty"
    )
    rows["scripts"] = ", ".join(f"{name} {share:.1%}" for name, share in report["scripts"].items() if share >= 0.001)
    share = report["unknown_tokens"] / max(report["tokens"], 1)
    rows["unknown tokens"] = f"{report['unknown_tokens']:,} ({share:.2%})"
    rows["broken places replaced"] = f"{report['invalid']:,}"
    return rows
