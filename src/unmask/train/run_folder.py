"""The folder of a run: it holds one run, whose plan is in run.json, and nobody else's files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unmask import __version__, backend
from unmask.errors import UserError
from unmask.files import read_json
from unmask.train.recipe import differences


def plan_of(folder: Path, wanted: Mapping[str, Any], free: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """What the folder's run.json says of its run, if it is the one that is asked for; or a new plan.

    Args:
        folder: of the run.
        wanted: all that decides what is computed; a mapping in it is compared key by key.
        free: for such a mapping the keys that may change.
    """
    path = folder / "run.json"
    if not path.is_file():
        return {**wanted, "unmask": __version__, "versions": backend.versions(), "total_steps": None}
    plan = read_json(path)
    if not ({*wanted, "total_steps"} <= plan.keys() and isinstance(plan["recipe"], dict)):
        raise UserError(f"{path} was changed or damaged, so the run cannot go on; choose another --out.")
    what: list[str] = []
    for name, value in wanted.items():
        if isinstance(value, Mapping):
            what += differences(plan[name], dict(value), free=free.get(name, ()))
        elif plan[name] != value:
            shown = isinstance(value, str) and len(value) < 40
            what.append(f"the {name} was {plan[name]} and is {value}" if shown else f"the {name} is another one")
    if what:
        raise UserError(
            f"{folder} holds a run that differs: {'; '.join(what)}. Choose another --out, or the same recipe."
        )
    return plan


def refuse_foreign(folder: Path) -> None:
    """A run writes into a folder of its own, never over somebody's files."""
    if folder.is_dir() and not (folder / "run.json").is_file():
        inside = sorted(path.name for path in folder.iterdir() if path.name != ".lock")
        if inside:
            raise UserError(
                f"{folder} holds something already ({inside[0]}); choose a new or an empty folder as --out."
            )
