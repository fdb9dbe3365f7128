"""`unmask import fairseq|google-bert|torch SRC DEST`: older checkpoints become Hugging Face folders."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from unmask.checkpoint.imported import Imported

app = typer.Typer(
    no_args_is_help=True,
    help="Turn an older checkpoint into a Hugging Face folder.",
    epilog="Example: `unmask import google-bert uncased_L-12_H-768_A-12 my-bert`",
)

Destination = Annotated[Path, typer.Argument(metavar="DEST", help="The folder to write: a new or an empty one.")]


@app.command("fairseq")
def fairseq(
    source: Annotated[
        Path, typer.Argument(metavar="SRC", help="A folder with model.pt and dict.txt, or a .pt beside its dict.txt.")
    ],
    destination: Destination,
    bpe: Annotated[
        Path | None, typer.Option(help="The folder of GPT-2's encoder.json and vocab.bpe, if they are not in SRC.")
    ] = None,
    head: Annotated[
        str | None, typer.Option(help="Import this classification head of the checkpoint, not the masked-LM head.")
    ] = None,
) -> None:
    """Import a RoBERTa that fairseq trained. Nothing in the file is run: tensors and plain options are read.

    Examples:

        unmask import fairseq roberta.base my-roberta --bpe gpt2_bpe

        unmask import fairseq roberta.large.mnli my-mnli --head mnli
    """
    from unmask.checkpoint.fairseq import import_fairseq

    _tell(destination, import_fairseq(source, destination, bpe=bpe, head=head))


@app.command("google-bert")
def google_bert(
    source: Annotated[
        Path, typer.Argument(metavar="SRC", help="A folder with bert_config.json, bert_model.ckpt.* and vocab.txt.")
    ],
    destination: Destination,
    uncased: Annotated[
        bool | None,
        typer.Option(
            "--uncased/--cased",
            help="Whether text is lower-cased.",
            show_default="guessed from the folder's name or the vocabulary",
        ),
    ] = None,
) -> None:
    """Import a BERT that Google's TensorFlow code trained, with the heads of its pretraining.

    Example:

        unmask import google-bert uncased_L-12_H-768_A-12 my-bert
    """
    from unmask.checkpoint.google_bert import import_google_bert

    _tell(destination, import_google_bert(source, destination, lowercase=uncased))


@app.command("torch")
def torch(
    source: Annotated[
        Path, typer.Argument(metavar="SRC", help="A Hugging Face folder with config.json and pytorch_model.bin.")
    ],
    destination: Destination,
) -> None:
    """Import a Hugging Face folder whose weights are a pickle. Nothing in the file is run: tensors are read.

    Example:

        unmask import torch old-model new-model
    """
    from unmask.checkpoint.torch_bin import import_torch

    _tell(destination, import_torch(source, destination))


def _tell(destination: Path, imported: "Imported") -> None:
    config = imported.config
    typer.echo(
        f"{destination}: {config.family} with the head {imported.head}, {config.n_layers} layers of width "
        f"{config.d_model}, {config.n_heads} attention heads, {config.vocab_size} tokens."
    )
    for note in imported.notes:
        typer.echo(note)
