"""The loop of training, from top to bottom: batch, gradients, update, log, evaluate, save; and back, if it goes astray.

A run that is killed at any moment goes on from its last state and ends with bitwise the same weights as one that was
never killed, on the same machine and backend: all that a step depends on is in the state or follows from its number.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from unmask.backend import Learner
from unmask.errors import UserError
from unmask.interruption import Interrupted, Interruption
from unmask.memory import freed_memory_kept, old_objects_left_alone
from unmask.progress import Progress
from unmask.train.best import Best
from unmask.train.divergence import astray, healthy
from unmask.train.log import Log
from unmask.train.state import Carried, States

MOST_DIVERGENCES = 6
_LOG_EVERY = 10


@dataclass(frozen=True)
class StepInput:
    """What one update learns from."""

    pieces: list[Mapping[str, np.ndarray]]
    n_tokens: int
    loss_of: Callable[[np.ndarray], dict[str, float]]
    """From the sums that the learner gave over all pieces, the figures of the step; `loss` is among them."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What a loop does; how, is the loop's."""

    label: str
    learner: Learner
    random_state: list[Any]
    """The variables that change while a batch is computed: put back if it is given up half-way."""
    inputs: Callable[[int, int], Iterator[StepInput]]
    """The inputs of the steps from … up to …"""
    rate: Callable[[int], float]
    total_steps: int
    clip_norm: float
    save_every: int
    evaluate_every: int
    evaluate: Callable[[], dict[str, float]]
    best: Best | None = None
    """Keeps the best state, and ends the run when there is no hope for a better one."""

    def ended(self, carried: Carried) -> bool:
        """Whether nothing is left to do."""
        return carried.step >= self.total_steps or (self.best is not None and self.best.enough(carried))


def run(job: Job, states: States, log: Log, carried: Carried) -> Carried:
    """Trains from the state that `carried` tells of to the end, or until somebody asks to stop."""
    with (
        freed_memory_kept(),
        old_objects_left_alone(),
        Interruption() as interruption,
        Progress(job.label, job.total_steps, "steps", done=carried.step) as progress,
    ):
        if carried.step and not job.ended(carried):
            progress.say(f"Going on after step {carried.step:,} of {job.total_steps:,}.")
        if not states.steps():
            states.save(carried)  # so that there is always one to go back to
        while not job.ended(carried):
            wrong = _until_astray(job, states, log, carried, progress, interruption)
            if wrong is not None:
                carried = _back(states, log, carried, progress, wrong)
        return carried


def _until_astray(
    job: Job, states: States, log: Log, carried: Carried, progress: Progress, interruption: Interruption
) -> str | None:
    """Steps on to the end; if the run goes astray before, says how."""
    for step_input in job.inputs(carried.step, job.total_steps):
        began = time.monotonic()
        rate = job.rate(carried.step) * carried.rate_scale
        sums = _gradients(job, step_input, interruption)
        if sums is None:
            _stop(states, carried)
        figures = step_input.loss_of(sums)
        norm = job.learner.update(rate=rate, max_norm=job.clip_norm)
        wrong = astray(carried, figures["loss"], norm)
        if wrong is not None:
            return wrong
        carried.step += 1
        carried.tokens += step_input.n_tokens
        seconds = time.monotonic() - began
        carried.seconds += seconds
        speed = step_input.n_tokens / seconds
        progress.advance(1, loss=f"{figures['loss']:.3f}", rate=f"{rate:.2e}", speed=f"{speed:,.0f} tokens/s")
        if carried.step % _LOG_EVERY == 0 or carried.step == job.total_steps:
            log.write("train", carried.step, **figures, rate=rate, norm=norm, tokens_per_second=round(speed))
        wrong = _look_and_save(job, states, log, carried, progress)
        if wrong is not None:
            return wrong
        if job.ended(carried):
            break
        if interruption.asked:
            _stop(states, carried)
    return None


def _gradients(job: Job, step_input: StepInput, interruption: Interruption) -> np.ndarray | None:
    """The gradients of all pieces added up, and their sums; None if the user does not want to wait for them."""
    kept = [np.copy(variable.numpy()) for variable in job.random_state]
    sums: list[np.ndarray] = []
    for piece in step_input.pieces:
        if interruption.asked:
            job.learner.forget()
            for variable, value in zip(job.random_state, kept, strict=True):
                variable.assign(value)
            return None
        sums.append(job.learner.add(piece))
    return np.asarray(np.sum(sums, axis=0, dtype=np.float64))


def _look_and_save(job: Job, states: States, log: Log, carried: Carried, progress: Progress) -> str | None:
    """Evaluates and saves where it is time; weights that are no numbers are never saved, but told."""
    last = carried.step == job.total_steps
    if (carried.step % job.save_every == 0 or last) and not _are_numbers(job.learner.variables):
        return "some weights are no finite numbers any more"
    if carried.step % job.evaluate_every == 0 or last:
        figures = job.evaluate()
        if figures:
            log.write("heldout", carried.step, **figures)
            shown = ", ".join(f"{name} {value:,.4g}" for name, value in figures.items())
            progress.say(f"Step {carried.step:,}, held out: {shown}")
            if job.best is not None:
                job.best.note(carried, figures)
    if carried.step % job.save_every == 0 or job.ended(carried):
        carried.scheduled = True
        states.save(carried)
    return None


def _are_numbers(variables: list[Any]) -> bool:
    # A sum is finite only if all are, and costs one look at each.
    return all(np.isfinite(np.sum(variable.numpy(), dtype=np.float64)) for variable in variables)


def _stop(states: States, carried: Carried) -> NoReturn:
    if carried.step not in states.steps():
        carried.scheduled = False
        states.save(carried)
    raise Interrupted(f"Stopped after step {carried.step:,}; all is saved.")


def _back(states: States, log: Log, carried: Carried, progress: Progress, wrong: str) -> Carried:
    """To the last state that was in order, with half the rate."""
    step, count = carried.step, carried.n_divergences + 1
    if count > MOST_DIVERGENCES:
        raise UserError(
            f"The run went astray {count} times, lastly at step {step:,} ({wrong}); "
            "begin again in another --out with a lower peak rate or a longer warm-up, or look at the data."
        )
    known = {number: states.carried(number) for number in states.steps()}
    good = [number for number, state in known.items() if state.scheduled and healthy(state)]
    target = max(good, default=min(known))
    scale = carried.rate_scale / 2
    again = states.restore(target)
    again.rate_scale, again.n_divergences, again.recent, again.lowest = scale, count, [], None
    states.remove_after(target)
    states.save(again)
    log.back_to(target)
    log.write("divergence", target, at_step=step, rate_scale=scale, reason=wrong)
    progress.say(
        f"Step {step:,}: {wrong}. Back to step {target:,}, with the learning rate times {scale:g} from now on."
    )
    progress.done = target
    return again
