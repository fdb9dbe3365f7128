"""States of a run: everything that the next step depends on, saved whole or not at all, and restored bit by bit.

Every variable of the model (dropout's random state is among them) and of the optimizer, and the few numbers that the
loop carries from step to step. Data need no state: a batch is a function of the step's number.
"""

import logging
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from unmask.errors import UserError
from unmask.files import file_hash, read_json, sync, write_json

log = logging.getLogger("unmask")

_VARIABLES, _CARRIED = "variables.safetensors", "state.json"


@dataclass
class Carried:
    """What the loop carries from step to step, beside variables."""

    step: int = 0
    """Updates made so far."""
    rate_scale: float = 1.0
    """Halved each time the run diverges."""
    n_divergences: int = 0
    recent: list[float] = field(default_factory=list)
    """The last losses, to notice one that leaps."""
    lowest: float | None = None
    """The lowest mean of the recent losses so far."""
    seconds: float = 0.0
    """Time spent training, over all sittings."""
    tokens: int = 0
    best: float | None = None
    """The best held-out figure so far, where a run keeps its best state; the step of it; looks since then."""
    best_step: int = 0
    stale: int = 0
    scheduled: bool = True
    """False for a state that was saved because of an interruption."""


class States:
    """The states in a run's folder, `state/step-00001000` and so on.

    Args:
        folder: of the run.
        variables: all that is saved, by a name of ours.
        keep: how many scheduled states are kept.
        name: of the folder in it that holds them.
    """

    def __init__(self, folder: Path, variables: Mapping[str, Any], *, keep: int = 2, name: str = "state") -> None:
        self.folder, self.variables, self.keep = folder / name, variables, keep
        self._scratch = self.folder / ".saving"
        shutil.rmtree(self._scratch, ignore_errors=True)  # left by a run that was killed while it saved

    def save(self, carried: Carried) -> Path:
        """Writes a state beside the others, then removes those that are too old."""
        from keras import ops  # noqa: PLC0415  (after the backend is chosen)

        self.folder.mkdir(parents=True, exist_ok=True)
        place = self.folder / f"step-{carried.step:08d}"
        scratch = self._scratch
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        try:
            arrays = {name: np.ascontiguousarray(ops.convert_to_numpy(v.value)) for name, v in self.variables.items()}
            save_file(arrays, scratch / _VARIABLES)
            sync(scratch / _VARIABLES)
            write_json(scratch / _CARRIED, {**asdict(carried), "hash": file_hash(scratch / _VARIABLES)})
            if place.exists():  # the same step, saved before a divergence or an interruption
                shutil.rmtree(place)
            scratch.replace(place)
            sync(self.folder)
        except SafetensorError as error:
            raise UserError(
                f"{place} cannot be written ({error}); is the disk full? Make room, and run the same command again."
            ) from None
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        self._prune(carried.step)
        return place

    def steps(self) -> list[int]:
        """The steps of the states that are there, oldest first."""
        found = self.folder.glob("step-*")
        return sorted(int(path.name.removeprefix("step-")) for path in found if (path / _CARRIED).is_file())

    def carried(self, step: int) -> Carried:
        """What the loop carried at that step."""
        content = read_json(self.folder / f"step-{step:08d}" / _CARRIED)
        content.pop("hash", None)
        if set(content) != {entry.name for entry in fields(Carried)} or content["step"] != step:
            raise UserError(f"{self.folder}/step-{step:08d}/{_CARRIED} was changed or damaged.")
        return Carried(**content)

    def restore_newest(self) -> Carried | None:
        """The newest state that is whole; a damaged one is removed, said aloud, and the one before is taken."""
        for step in reversed(self.steps()):
            try:
                return self.restore(step)
            except UserError as error:
                log.warning("%s Going on from the state before.", error)
                self._remove(step)
        return None

    def restore(self, step: int) -> Carried:
        """Puts every variable back as it was."""
        place = self.folder / f"step-{step:08d}"
        carried, whole = self.carried(step), read_json(place / _CARRIED).get("hash")
        if not (place / _VARIABLES).is_file() or file_hash(place / _VARIABLES) != whole:
            raise UserError(f"{place} was changed or damaged.")
        arrays = load_file(place / _VARIABLES)
        shapes = {name: tuple(variable.shape) or (1,) for name, variable in self.variables.items()}  # numbers too
        if {name: tuple(array.shape) for name, array in arrays.items()} != shapes:
            raise UserError(f"{place} is the state of another model.")
        for name, variable in self.variables.items():
            variable.assign(arrays[name].reshape(variable.shape))
        return carried

    def remove_after(self, step: int) -> None:
        """Removes states that a divergence made worthless."""
        for later in (s for s in self.steps() if s > step):
            self._remove(later)

    def remove_all(self) -> None:
        """Removes the states of a run that is finished."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _prune(self, newest: int) -> None:
        steps = self.steps()
        scheduled = [step for step in steps if self.carried(step).scheduled]
        for step in set(steps) - set(scheduled[-self.keep :]) - {newest}:
            self._remove(step)

    def _remove(self, step: int) -> None:
        """First the name goes, then the content: a kill in between leaves nothing that looks whole."""
        place = self.folder / f"step-{step:08d}"
        (place / _CARRIED).unlink(missing_ok=True)
        shutil.rmtree(place, ignore_errors=True)


def all_variables(model: Any, optimizer: Any) -> dict[str, Any]:
    """Every variable of both, by its place in the list: paths of random states differ from process to process."""
    named = {f"model.{number:05d}": variable for number, variable in enumerate(model.variables)}
    return named | {f"optimizer.{number:05d}": variable for number, variable in enumerate(optimizer.variables)}
