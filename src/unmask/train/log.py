"""What a run writes down: log.jsonl, TensorBoard's files, and the curve as a picture."""

import json
import os
from pathlib import Path
from typing import Any, Self

from unmask.files import write_whole

_LOG, _CURVE = "log.jsonl", "curve.png"


class Log:
    """The log of a run. A run that goes on from an earlier state drops the lines that come after it.

    Args:
        folder: of the run.
        step: lines of later steps are dropped.
    """

    def __init__(self, folder: Path, *, step: int) -> None:
        from tensorboardX import SummaryWriter  # noqa: PLC0415  (slow to import)

        self.path = folder / _LOG
        self.lines = [line for line in read_log(self.path) if line["step"] <= step]
        write_whole(self.path, "".join(json.dumps(line) + "\n" for line in self.lines))
        self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1, flush_secs=20)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._board.close()

    def write(self, kind: str, step: int, **figures: Any) -> None:
        """One line, and one point in each of TensorBoard's charts."""
        line = {"kind": kind, "step": step, **figures}
        self.lines.append(line)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())
        for name, value in figures.items():
            if isinstance(value, int | float):
                self._board.add_scalar(f"{kind}/{name}", value, step)

    def back_to(self, step: int) -> None:
        """Forgets what came after a step, since the run goes back to it; what went wrong stays told."""
        self.lines = [line for line in self.lines if line["step"] <= step or line["kind"] == "divergence"]
        write_whole(self.path, "".join(json.dumps(line) + "\n" for line in self.lines))

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The lines of one kind."""
        return [line for line in self.lines if line["kind"] == kind]


def read_log(path: Path) -> list[dict[str, Any]]:
    """The lines of a log; one that a kill left unfinished is not there."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            entry = json.loads(line)
        except ValueError:
            break
        if isinstance(entry, dict) and isinstance(entry.get("step"), int) and isinstance(entry.get("kind"), str):
            lines.append(entry)
    return lines


def draw_curve(log: Log, folder: Path, *, baseline: float | None, title: str) -> None:
    """The picture of a run: loss of training and of the held-out part, and what word frequencies alone would give."""
    import matplotlib  # noqa: PLC0415  (slow to import)

    matplotlib.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, axes = pyplot.subplots(figsize=(7, 4), dpi=120)
    for kind, label, style in (("train", "training", "-"), ("heldout", "held out", "o-")):
        lines = log.of(kind)
        if lines:
            axes.plot([line["step"] for line in lines], [line["loss"] for line in lines], style, label=label, ms=4)
    if baseline is not None:
        axes.axhline(baseline, color="grey", linestyle="--", label="token frequencies alone")
    axes.set(xlabel="step", ylabel="masked-LM loss (nats)", title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    _publish(figure, folder)


def draw_tuning_curve(log: Log, folder: Path, *, metric: str, title: str) -> None:
    """The picture of a fine-tuning: the loss of training, and beside it the figure of the held-out examples."""
    import matplotlib  # noqa: PLC0415  (slow to import)

    matplotlib.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.8), dpi=120)
    train, heldout = log.of("train"), log.of("heldout")
    left.plot([line["step"] for line in train], [line["loss"] for line in train])
    left.set(xlabel="step", ylabel="loss of training", title=title)
    right.plot([line["step"] for line in heldout], [line[metric] for line in heldout], "o-", color="tab:orange")
    right.set(xlabel="step", ylabel=metric.replace("_", " "), title="held out")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    _publish(figure, folder)


def _publish(figure: Any, folder: Path) -> None:
    """Writes a picture whole."""
    from matplotlib import pyplot  # noqa: PLC0415

    figure.tight_layout()
    scratch = folder / f".{_CURVE}"
    figure.savefig(scratch, format="png", metadata={"Software": "unmask"})
    pyplot.close(figure)
    scratch.replace(folder / _CURVE)
