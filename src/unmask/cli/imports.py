"""`unmask import fairseq|google-bert|torch SRC DEST`: older checkpoints become Hugging Face folders."""

import typer

app = typer.Typer(no_args_is_help=True, help="Turn an older checkpoint into a Hugging Face folder.")
