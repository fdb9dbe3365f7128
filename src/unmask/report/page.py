"""The page: one HTML file that needs nothing else, and metrics.json beside it."""

import base64
import logging
import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from unmask.errors import UserError
from unmask.files import write_json, write_whole
from unmask.report.evaluation import Cell, Confusion, Evaluation, Picture, Table, WorstError
from unmask.report.glossary import in_words
from unmask.report.marks import extract, pieces
from unmask.report.pictures import draw_confusion, font_for

log = logging.getLogger("unmask")

MOST_ERRORS = 50
MOST_CHARACTERS = 100_000

_SCRIPTS = (("ja", r"[\u3040-\u30ff]"), ("ko", r"[\uac00-\ud7af]"), ("zh", r"[\u3400-\u9fff\U00020000-\U0003ffff]"))

# Characters that HTML cannot hold, each by one that can be seen: offsets stay what they were.
_VISIBLE = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"},
    127: 0x2421,
    **dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000), *range(0xFDD0, 0xFDF0), 0xFFFE, 0xFFFF], 0xFFFD),
}


def write_evaluation(evaluation: Evaluation, folder: Path) -> Path:
    """Writes evaluation.html, metrics.json and the pictures into a folder, which is made if need be.

    Returns:
        The path of the page.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; the evaluation needs a folder.")
    if (folder / "config.json").is_file():
        # Its metrics.json tells of the training, and would be lost.
        raise UserError(
            f"{folder} is a model's folder; choose another for the evaluation, such as {folder / 'evaluation'}."
        )
    if there := [name for name in ("evaluation.html", "metrics.json") if (folder / name).exists()]:
        log.warning("%s has %s already, which this evaluation replaces.", folder, " and ".join(there))
    folder.mkdir(parents=True, exist_ok=True)
    files = _files(evaluation)
    for name, content in files.items():
        write_whole(folder / name, content)
    path = folder / "evaluation.html"
    write_whole(path, page(evaluation, [name for name in files if name.startswith("confusion")]))
    write_json(folder / "metrics.json", figures(evaluation))
    return path


def _files(evaluation: Evaluation) -> dict[str, bytes]:
    """The pictures that are written beside the page, by the names of their files."""
    result: dict[str, bytes] = {}
    for section in evaluation.sections:
        if isinstance(section, Confusion):
            number = sum(name.startswith("confusion") for name in result) + 1
            name = "confusion.png" if number == 1 else f"confusion-{number}.png"
            result[name] = draw_confusion([visible(name) for name in section.classes], section.counts)
        elif isinstance(section, Picture) and section.name:
            result[f"{slug(section.name)}.{section.ending}"] = section.image
    return result


def figures(evaluation: Evaluation) -> dict[str, Any]:
    """The content of metrics.json, the page's tables among it; a figure that is not a number is null there."""
    tables = [section for section in evaluation.sections if isinstance(section, Table)]
    confusions = [section for section in evaluation.sections if isinstance(section, Confusion)]
    return {
        "task": evaluation.task,
        "model": _encodable(evaluation.model),
        "data": _encodable(evaluation.data),
        "n_examples": evaluation.n_examples,
        "metrics": {name: _finite(value) for name, value in evaluation.metrics.items()},
        "intervals": {name: [_finite(end) for end in ends] for name, ends in evaluation.intervals.items()},
        "tables": {
            _encodable(table.title): [
                dict(zip(map(_encodable, table.columns), map(_plain, row), strict=True)) for row in table.rows
            ]
            for table in tables
        },
        "confusion": {
            _encodable(one.title): {"classes": list(map(_encodable, one.classes)), "counts": one.counts.tolist()}
            for one in confusions
        },
    }


def _plain(cell: Cell) -> Cell:
    """A cell of a table as JSON has it."""
    if cell is None or isinstance(cell, str):
        return None if cell is None else _encodable(cell)
    return int(cell) if isinstance(cell, int | np.integer) else _finite(cell)


def _encodable(name: str) -> str:
    """A file's name may hold bytes that are no UTF-8, which Python keeps as lone surrogates."""
    return name.encode("utf-8", "replace").decode()


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def page(evaluation: Evaluation, confusion_files: list[str]) -> str:
    """The page as HTML.

    Args:
        evaluation: what it shows.
        confusion_files: the names of the pictures of its confusion matrices, in order.
    """
    return (
        _environment()
        .get_template("evaluation.html.jinja")
        .render(
            evaluation=evaluation,
            figures=figures(evaluation),
            errors=[_shown_error(error) for error in evaluation.errors[:MOST_ERRORS]],
            sections=[(section, type(section).__name__, slug(section.title)) for section in evaluation.sections],
            confusion_files=iter(confusion_files),
        )
    )


def _shown_error(error: WorstError) -> dict[str, Any]:
    """An error with its text cut into pieces: those that are worth seeing, and all of them if that is more."""
    parts = extract(error.text, error.marks)
    whole = None
    if parts and parts != [(0, len(error.text))]:
        whole = pieces(error.text, error.marks, [(0, min(len(error.text), MOST_CHARACTERS))])
    return {"error": error, "pieces": pieces(error.text, error.marks, parts), "whole": whole}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("unmask.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_as_text,
    )
    environment.filters |= {"shown": shown, "language": language, "data_uri": data_uri, "in_words": in_words}
    environment.globals |= {"is_number": is_number, "heat": heat, "largest": largest, "numbered": numbered}
    return environment


def _as_text(value: Any) -> Any:
    """Whatever the template prints passes here, so nothing that HTML cannot hold gets onto the page."""
    return value if isinstance(value, Markup) else visible(str(value))


def visible(text: str) -> str:
    """The text with control characters as signs that can be seen; as long as it was."""
    return text.translate(_VISIBLE)


def is_number(value: Any) -> bool:
    """Whether a cell holds a figure."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def shown(value: float | None, largest: float = 0.0) -> str:
    """A figure as a person reads it: three decimals for shares, fewer for what is large, a dash for what is none.

    Args:
        value: the figure.
        largest: of the figures that it stands among, so that all have the same decimals.

    >>> shown(0.91234), shown(1234), shown(float("nan"))
    ('0.912', '1,234', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    size = max(abs(value), largest)
    if 0 < size < 0.0005 or size >= 1e7:
        return f"{value:.2e}"
    decimals = 3 if size < 10 else 2 if size < 1000 else 0
    return f"{value:,.{decimals}f}"


def largest(rows: Sequence[Sequence[Any]], column: int) -> float:
    """The largest figure of a column, whatever its sign."""
    sizes = (abs(float(row[column])) for row in rows if is_number(row[column]))
    return max((size for size in sizes if math.isfinite(size)), default=0.0)


def language(text: str) -> str:
    """The language that a text's script tells, for the browser's fonts and voices; Latin script tells none."""
    return next((name for name, pattern in _SCRIPTS if re.search(pattern, text)), "")


def slug(title: str) -> str:
    """A title as a name for files and links."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"


def data_uri(picture: Picture) -> str:
    """The picture inside of its own address. As an image an SVG runs no scripts."""
    kind = {"png": "image/png", "svg": "image/svg+xml"}[picture.ending]
    return f"data:{kind};base64,{base64.b64encode(picture.image).decode()}"


def numbered(confusion: Confusion) -> bool:
    """Whether the picture of a confusion matrix has numbers for the classes, since no font can write their names."""
    return font_for("".join(map(visible, confusion.classes))) is None


def heat(confusion: Confusion) -> list[list[tuple[int, float]]]:
    """For each cell of a confusion matrix the count, and how strong its colour is: the root of the share of the row.

    The root, since a class that is taken for another once in twenty times should be seen.
    """
    rows = []
    for row in confusion.counts.tolist():
        total = max(1, sum(row))
        rows.append([(count, round(math.sqrt(count / total), 3)) for count in row])
    return rows
