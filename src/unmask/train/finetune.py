"""Fine-tuning: a pretrained encoder and labelled data become a model for a task. Devlin et al. 2018, section 4."""

import logging
import math
import shutil
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unmask import backend
from unmask.backend import Tensor
from unmask.checkpoint import load_model, save_model
from unmask.checkpoint.folder import check_vocabulary
from unmask.data.epochs import epoch_batches
from unmask.engines.keras import KerasEngine
from unmask.errors import UserError
from unmask.files import expanded, only_run_in, write_json, write_whole
from unmask.lengths import cut, fill
from unmask.predict import TASK_FILE
from unmask.tasks.task import Task
from unmask.tasks.units import Unit, Window
from unmask.text import Tokenizer, load_tokenizer
from unmask.train.best import Best
from unmask.train.card import task_card
from unmask.train.labelled import Data, Labelled, read_labelled
from unmask.train.log import Log, draw_tuning_curve
from unmask.train.loop import Job, StepInput, run
from unmask.train.losses import loss_of, weights_of
from unmask.train.precision import precision
from unmask.train.run_folder import plan_of, refuse_foreign
from unmask.train.schedule import learning_rate
from unmask.train.state import Carried, States, all_variables
from unmask.train.tuning import Tuning

log = logging.getLogger("unmask")

FREE = ("save_every",)
_PIECE_COSTS = 512
"""Where padding is computed: one more piece of a batch takes as long as so many tokens, on top of its own."""
_USUAL_LENGTH = 512


def finetune(
    data: Data, model: str, out: str | Path, tuning: Tuning | None = None, *, backend_name: str | None = None
) -> Path:
    """Trains, or goes on where an earlier call in the same folder stopped; gives the folder of the model.

    Args:
        data: what to learn, and where it is.
        model: a folder, `hf:owner/name` or `py:package/path`; a head that it lacks is made.
        out: the run's folder; at the end it is a Hugging Face folder.
        tuning: how.
        backend_name: torch, jax or tensorflow.
    """
    backend.choose(backend_name)
    backend.make_deterministic()
    tuning, folder = tuning or Tuning(), expanded(out)
    refuse_foreign(folder)
    with only_run_in(folder):
        wanted = {
            "data": data.fingerprint(),
            "model": str(model),
            "recipe": tuning.to_json(),
            "backend": backend.current(),
        }
        plan = plan_of(folder, wanted, {"recipe": FREE})
        if plan.get("finished"):
            log.warning("%s is finished already, as it was asked for; for another run choose another --out.", folder)
            for left in ("state", "best"):  # by a run that was killed while it tidied up
                shutil.rmtree(folder / left, ignore_errors=True)
            return folder
        labelled = read_labelled(
            data, dev_share=tuning.dev_share, seed=tuning.seed_of_split, weighted=tuning.class_weights
        )
        tuner = Tuner(labelled, model, tuning)
        plan["total_steps"] = tuner.total_steps
        write_json(folder / "run.json", plan)
        _train(tuner, folder, data, plan)
    return folder


def _train(tuner: "Tuner", folder: Path, data: Data, plan: dict[str, Any]) -> None:
    variables = all_variables(tuner.model, tuner.learner.optimizer)
    states = States(folder, variables)
    best = Best(States(folder, variables, keep=1, name="best"), tuner.task.metric, tuner.tuning.patience)
    carried = states.restore_newest() or Carried()
    with Log(folder, step=carried.step) as journal:
        try:
            carried = run(tuner.job(best), states, journal, carried)
        finally:
            draw_tuning_curve(journal, folder, metric=tuner.task.metric, title=tuner.title())
        kept = best.restore(carried)
        _tell_of_best(best, carried, kept, tuner.total_steps)
        figures = tuner.tune()
        write_json(  # before the model, since a folder with config.json loads
            folder / TASK_FILE,
            {"task": tuner.task.name, "metric": tuner.task.metric, **tuner.task.settings, **tuner.reading()},
        )
        save_model(tuner.model, tuner.tokenizer, folder)
        metrics = {**figures, "best_step": kept, "steps": carried.step}
        metrics |= {"hours": carried.seconds / 3600, "examples": len(tuner.labelled.train)}
        write_json(folder / "metrics.json", metrics)
        write_whole(folder / "README.md", task_card(tuner.model, tuner.task, data, plan, metrics))
        plan["finished"] = True
        write_json(folder / "run.json", plan)
    states.remove_all()
    best.states.remove_all()


def _tell_of_best(best: Best, carried: Carried, kept: int, total_steps: int) -> None:
    if carried.step < total_steps:
        log.info("Ended early: %d looks at held-out data in a row brought no better %s.", carried.stale, best.metric)
    if kept != carried.step:
        log.info("The state after step %s is kept, which was best.", f"{kept:,}")


class Tuner:
    """A model with a task's head and data, ready to be trained."""

    def __init__(self, labelled: Labelled, source: str, tuning: Tuning) -> None:
        from unmask.train.optimizer import adamw  # noqa: PLC0415  (after the backend is chosen)

        self.labelled, self.tuning = labelled, tuning
        self.task: Task[Any, Any] = labelled.task
        self.tokenizer: Tokenizer = load_tokenizer(source)
        with precision(tuning.precision):
            self.model = model_for(self.task, source, seed=tuning.seed)
        check_vocabulary(self.tokenizer, self.model.config)
        self.model.encoder.checkpointing = tuning.checkpointing
        self.window = self._window()
        self.units = self._units(labelled.train, training=True)
        self.dev_units = self._units(labelled.dev, training=False)
        self._keep_still()
        numbers = {name: getattr(tuning, name) for name in ("beta_1", "beta_2", "epsilon", "weight_decay")}
        self.learner = backend.learner(self.model, self._loss, adamw(self.model, **numbers))
        self.engine = KerasEngine(self.model, self.tokenizer.pad_id)
        self.class_weights = (
            np.asarray(self.task.class_weights(labelled.train), np.float32) if tuning.class_weights else None
        )
        self.per_epoch = -(-len(self.units) // tuning.batch_size)
        # 1.1 epochs of 10 updates are 11, which the product is not quite.
        self.total_steps = max(1, math.ceil(tuning.epochs_for(self.per_epoch) * self.per_epoch - 1e-9))
        self.rate = tuning.rate_for(self.model.config.d_model)
        self._epoch = lru_cache(maxsize=2)(self._epoch_of)

    def _window(self) -> Window:
        limit = self.model.config.max_positions
        length = self.tuning.length or min(limit, _USUAL_LENGTH)
        return self.task.window(length, self.tuning.stride, limit=limit)

    def _units(self, examples: list[Any], *, training: bool) -> list[Unit]:
        units = self.task.units(examples, self.tokenizer, self.window)
        if training:
            units = [unit for unit in units if unit.targets]
        if not units:
            raise UserError("No example has both a text and a label that can be learnt.")
        return units

    def _keep_still(self) -> None:
        """What is frozen is not trained; with LoRA nothing of the encoder is but its thin matrices."""
        encoder, tuning = self.model.encoder, self.tuning
        n_layers = len(encoder.stack)
        if tuning.freeze is not None:
            if tuning.freeze > n_layers:
                raise UserError(f"--freeze {tuning.freeze}, but this model has {n_layers} layers.")
            for part in (encoder.embeddings, *encoder.stack[: tuning.freeze]):
                part.trainable = False
        if tuning.lora is not None:
            encoder.trainable = False
            for layer in encoder.stack[tuning.freeze or 0 :]:
                for linear in (layer.attention.query, layer.attention.value):
                    linear.trainable = True
                    linear.adapt(tuning.lora, tuning.seed)
                    linear.bias.trainable = False

    # --- what is computed ------------------------------------------------------------------------

    def _loss(self, arrays: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """This piece's part of the batch's loss: sums divided by the weight of the whole batch."""
        from keras import ops  # noqa: PLC0415

        segments = arrays["segments_BL"] if self.model.config.n_segments > 1 else None
        which = {"attend_BL": arrays["attend_BL"], "wanted_BL": arrays.get("wanted_BL")}
        outputs = self.model.unchecked(arrays["ids_BL"], segments, **which, training=True)
        total = ops.sum(loss_of(outputs, arrays) * arrays["weights"])
        return total * arrays["per_weight"], ops.stack([total])

    def evaluate(self) -> dict[str, float]:
        """The task's figures on the held-out examples."""
        outputs = self.engine.logits(self.dev_units)
        self.task.decide(self.labelled.dev, self.dev_units, outputs)
        answers = self.task.answers(self.labelled.dev, self.dev_units, outputs)
        return self.task.metrics(self.labelled.dev, answers)

    def tune(self) -> dict[str, float]:
        """Adjusts thresholds and temperature to the held-out examples; gives the figures with them."""
        self.task.tune(self.labelled.dev, self.dev_units, self.engine.logits(self.dev_units))
        if self.task.head == "classify":
            take_in(self.model, *self.task.taken_in())
        return self.evaluate()

    # --- in which steps --------------------------------------------------------------------------

    def job(self, best: Best) -> Job:
        """The run for the loop."""
        tuning, total = self.tuning, self.total_steps
        warmup = round(tuning.warmup * total)
        what = "windows" if len(self.units) > len(self.labelled.train) else "examples"
        log.info(
            "%s updates of %d %s, %.3g × all %s; learning rate %.2g.",
            *(f"{total:,}", tuning.batch_size, what, total / self.per_epoch, f"{len(self.units):,}", self.rate),
        )
        return Job(
            label="fine-tuning",
            learner=self.learner,
            random_state=[v for v in self.model.non_trainable_variables if "seed_generator" in v.path],
            inputs=self._inputs,
            rate=lambda step: learning_rate(step, peak=self.rate, warmup=warmup, total=total),
            total_steps=total,
            clip_norm=tuning.clip_norm,
            save_every=tuning.save_every,
            evaluate_every=tuning.evaluate_every or self.per_epoch,
            evaluate=self.evaluate,
            best=best,
        )

    def _epoch_of(self, epoch: int) -> list[np.ndarray]:
        return epoch_batches(len(self.units), size=self.tuning.batch_size, seed=self.tuning.seed, epoch=epoch)

    def _inputs(self, first: int, last: int) -> Iterator[StepInput]:
        for step in range(first, last):
            epoch, nth = divmod(step, self.per_epoch)
            yield self.step_input([self.units[i] for i in self._epoch(epoch)[nth]])

    def step_input(self, units: list[Unit]) -> StepInput:
        """A batch in pieces that fit the machine; the loss of each is divided by the weight of all."""
        pieces = []
        for chosen in self._pieces(units):
            part = [units[i] for i in chosen]
            arrays = self.engine.shape.arrays(part)
            size, length = arrays["ids_BL"].shape[0], arrays["ids_BL"].shape[-1]
            arrays |= self.engine.shape.targets(part, size, length)
            arrays["weights"] = weights_of(arrays, self.class_weights)
            pieces.append(arrays)
        weight = max(float(sum(arrays["weights"].sum() for arrays in pieces)), 1e-9)
        for arrays in pieces:
            arrays["per_weight"] = np.asarray(1 / weight, np.float32)
        n_tokens = sum(len(sequence.ids) for unit in units for sequence in unit.sequences)
        return StepInput(list(pieces), n_tokens, lambda sums: {"loss": float(sums[0]) / weight})

    def _pieces(self, units: list[Unit]) -> list[np.ndarray]:
        most = self.tuning.piece_tokens
        if backend.leaves_padding_out():
            return fill(np.asarray([sum(len(s.ids) for s in unit.sequences) for unit in units]), most_tokens=most)
        lengths_N = np.asarray([self.engine.shape.length_of(unit) * len(unit.sequences) for unit in units])
        return cut(lengths_N, most_tokens=most, piece_costs=_PIECE_COSTS, rounded=self.engine.shape.fixed)

    # --- what is said of it ----------------------------------------------------------------------

    def title(self) -> str:
        """For the picture of the curve."""
        config = self.model.config
        return f"{self.task.name}: {config.family}, {config.n_layers} layers × {config.d_model}"

    def reading(self) -> dict[str, Any]:
        """How texts were read, for whoever predicts with the model."""
        return {"length": self.window.length, "stride": self.window.stride, "columns": self.labelled.columns}


def take_in(model: Any, factor: float, addend: float) -> None:
    """The head's outputs times a factor and plus an addend, from now on.

    It is in the head's weights, so that every program that opens the folder has the same numbers.
    """
    kernel, bias = model.head.dense.kernel, model.head.dense.bias
    kernel.assign(kernel.value * factor)
    bias.assign(bias.value * factor + addend)


def model_for(task: Task[Any, Any], source: str, *, seed: int) -> Any:
    """The model with the task's head; the head that is there is kept only if it has the same labels."""
    from unmask import sources  # noqa: PLC0415
    from unmask.checkpoint.folder import read_config  # noqa: PLC0415

    config, _ = read_config(sources.resolve(source))
    if config.family == "transformer":
        raise UserError(f"{source} is an encoder and decoder; fine-tuning needs an encoder such as BERT or RoBERTa.")
    same = config.classes == task.classes and config.problem == task.problem
    model = load_model(source, task.head, classes=list(task.classes) if task.classes and not same else None, seed=seed)
    if same and task.problem == "regression":
        scale, mean = float(task.settings.get("scale", 1.0)), float(task.settings.get("mean", 0.0))
        take_in(model, 1 / scale, -mean / scale)  # what the end of an earlier training took in
    # Labels of an earlier task must not stay: `transformers` makes as many outputs as there are labels.
    model.config = model.config.replace(problem=task.problem, classes=task.classes)
    return model
