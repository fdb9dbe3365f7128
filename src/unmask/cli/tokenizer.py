"""`unmask tokenizer train --kind bpe|wordpiece|unigram --vocab-size N --out DIR FILES…`: a tokenizer from text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from unmask.cli import completions
from unmask.errors import UserError

if TYPE_CHECKING:
    from unmask.corpus.documents import Reading
    from unmask.data.decode import Seen
    from unmask.data.source import Source
    from unmask.text.train import Plan, Trained

app = typer.Typer(
    no_args_is_help=True,
    help="Train a tokenizer.",
    epilog="Example: `unmask tokenizer train --kind bpe --vocab-size 8000 --out my-tokenizer books/`",
)

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


@app.command("train")
def train(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILES…", help="Files, folders, globs, - for standard input, or hf:owner/name."),
    ],
    kind: Annotated[
        str,
        typer.Option(
            help="bpe as RoBERTa's, wordpiece as BERT's, or unigram as XLM-R's.",
            autocompletion=completions.kinds_of_tokenizers,
        ),
    ],
    vocab_size: Annotated[int, typer.Option(metavar="N", help="Ids, special tokens among them.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write: a new or an empty one.")],
    cased: Annotated[
        bool | None, typer.Option("--cased/--uncased", help="WordPiece keeps capitals, or not.", show_default="uncased")
    ] = None,
    strip_accents: Annotated[
        bool | None,
        typer.Option(
            "--strip-accents/--keep-accents", help="WordPiece takes accents off, or not.", show_default="if uncased"
        ),
    ] = None,
    add_prefix_space: Annotated[
        bool | None, typer.Option("--add-prefix-space", help="BPE takes a text's first word as if a space preceded.")
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="The share of characters in the alphabet of WordPiece and Unigram.",
            show_default="0.9999",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Ceiling of memory, such as 2G.", show_default="half the machine's"),
    ] = None,
    text: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column that holds the text.")] = None,
    quotes: Annotated[bool, typer.Option("--quotes/--no-quotes", help="Whether CSV quotes its fields.")] = True,
    encoding: Annotated[str, typer.Option(help="The encoding of the files.")] = "utf-8",
    encoding_errors: Annotated[
        str, typer.Option(help="What is done about bytes that are not of the encoding: replace or refuse.")
    ] = "replace",
    normalize: Annotated[str, typer.Option(help="The form of the text: nfc, nfkc or none.")] = "nfc",
) -> None:
    """Train a tokenizer on text, JSON lines, CSV or Parquet. The same files in any order give the same tokenizer.

    Examples:

        unmask tokenizer train --kind bpe --vocab-size 50265 --out my-bpe books/*.txt.gz

        unmask tokenizer train --kind wordpiece --cased --vocab-size 21128 --out my-wordpiece reviews.csv --text review

        unmask tokenizer train --kind unigram --vocab-size 32000 --out my-unigram --memory 4G wiki.jsonl.zst
    """
    from unmask.corpus.documents import Reading
    from unmask.corpus.inputs import outside, refuse_if_different
    from unmask.corpus.normalize import check_form
    from unmask.data.decode import Seen
    from unmask.data.where import find_sources
    from unmask.files import read_json
    from unmask.text.folder import MADE_FROM, save_whole
    from unmask.text.train import Plan, train_tokenizer

    _only_for(kind, ["wordpiece"], "--cased or --uncased", cased)
    _only_for(kind, ["wordpiece"], "--strip-accents or --keep-accents", strip_accents)
    _only_for(kind, ["bpe"], "--add-prefix-space", add_prefix_space)
    _only_for(kind, ["wordpiece", "unigram"], "--coverage", coverage)
    given: dict[str, Any] = {} if coverage is None else {"coverage": coverage}
    plan = Plan(
        kind=kind,
        vocab_size=vocab_size,
        lowercase=not cased,
        strip_accents=strip_accents,
        add_prefix_space=bool(add_prefix_space),
        memory=None if memory is None else parse_size(memory),
        **given,
    )
    check_form(normalize)
    reading = Reading(text=text, encoding=encoding, encoding_errors=cast(Any, encoding_errors), quotes=quotes)
    sources, seen = outside(out, find_sources(files, say=_say), _say), Seen()
    is_made = _is_made(out, sources)
    made_from = _identity(plan, reading, normalize, sources)
    if is_made:
        refuse_if_different(out, read_json(out / MADE_FROM), made_from, "tokenizer")
        _say(f"{out} is finished already, from the same files with the same options.")
    else:
        trained = train_tokenizer(_texts(sources, reading, seen, normalize), plan, n_bytes=_bytes_of(sources))
        save_whole(trained.tokenizer, out, made_from)
        if seen.invalid:
            _say(f"{seen.invalid:,} places were not {encoding} and were replaced.")
        _tell(trained, kind, out)
    typer.echo(
        f"Next: unmask corpus build --tokenizer {out} --out CORPUS {' '.join(files[:3])}{' …' * (len(files) > 3)}"
    )


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _is_made(out: Path, sources: "Sequence[Source]") -> bool:
    """Whether a tokenizer is there whose inputs can be compared; a folder with anything else in it is refused."""
    from unmask.text.folder import MADE_FROM, refuse_used_folder

    # Standard input is gone once it is read, so nothing can be compared with it.
    from_files = all(source.name != "-" for source in sources)
    if from_files and (out / MADE_FROM).is_file() and (out / "tokenizer.json").is_file():
        return True
    refuse_used_folder(out)
    return False


def _identity(plan: "Plan", reading: "Reading", form: str, sources: "Sequence[Source]") -> dict[str, Any]:
    """What makes one tokenizer another; the order of the files does not, hence that of their names."""
    from unmask.files import file_hash

    options = {**asdict(reading), **asdict(plan), "cased": not plan.lowercase, "normalize": form}
    del options["lowercase"]  # the command line calls it cased
    files: list[dict[str, Any]] = [
        {"name": "-", "bytes": None, "sha256": None}
        if source.name == "-"
        else {"name": source.name, "bytes": source.path.stat().st_size, "sha256": file_hash(source.path)}
        for source in sorted(sources, key=lambda source: source.name)
    ]
    return {"options": options, "sources": files}


def _bytes_of(sources: "Sequence[Source]") -> int | None:
    """Of all texts, if the sizes of the files tell."""
    is_plain = all(source.kind == "text" and not source.packing and source.name != "-" for source in sources)
    return sum(source.path.stat().st_size for source in sources) if is_plain else None


def _texts(sources: "Sequence[Source]", reading: "Reading", seen: "Seen", form: str) -> Iterator[str]:
    from unmask.corpus.documents import read_source
    from unmask.corpus.normalize import normalize

    for source in sources:
        for document in read_source(source, reading, seen, _say):
            yield normalize(document.text, cast(Any, form))


def parse_size(text: str) -> int:
    """Bytes of a size such as `2G` or `512M`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), flags=re.I)
    if not found:
        raise UserError(f"{text!r} is no size of memory; write one such as 512M or 2G.")
    return int(float(found[1]) * (1 << _UNITS[found[2].upper()]))


def _only_for(kind: str, owners: list[str], option: str, value: object) -> None:
    if value is not None and kind not in owners:
        raise UserError(f"{option} is for --kind {' or '.join(owners)} only, not for {kind}.")


def _tell(trained: "Trained", kind: str, out: Path) -> None:
    sampled = "" if trained.share == 1 else f", trained on a sample of {trained.share:.1%}"
    typer.echo(f"{out}: {kind}, {trained.tokenizer.n_ids:,} ids, from {trained.n_bytes:,} bytes of text{sampled}.")
    typer.echo(
        f"{trained.bytes_per_token:.2f} bytes a token on a sample, {trained.unknown_share:.3%} of the tokens unknown."
    )
