"""Pretraining: a corpus and a recipe become an encoder. BERT, section 3.1; RoBERTa, sections 3 and 4."""

import logging
import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unmask import backend
from unmask.backend import Tensor
from unmask.checkpoint import load_model, save_model
from unmask.data.batches import Batches, StepBatch, ahead
from unmask.data.blocks import Blocks, Layout
from unmask.data.masking import Masking
from unmask.data.shards import HELDOUT, TRAIN, Corpus
from unmask.errors import UserError
from unmask.files import expanded, file_hash, only_run_in, write_json, write_whole
from unmask.text import Tokenizer, load_tokenizer
from unmask.train.card import model_card
from unmask.train.log import Log, draw_curve
from unmask.train.loop import Job, StepInput, run
from unmask.train.precision import precision
from unmask.train.recipe import Recipe
from unmask.train.run_folder import plan_of, refuse_foreign
from unmask.train.schedule import learning_rate
from unmask.train.state import Carried, States, all_variables

log = logging.getLogger("unmask")

FREE = ("save_every",)
"""Keys of a recipe that may change when a run goes on: they decide nothing that it computes."""
_PROBE_STEPS = 4
_LOOKS = 10
"""How often a run looks at the held-out part, unless the recipe says."""
_COUNTED_TOKENS = 50_000_000
"""Token frequencies are taken from at most so many tokens."""


def pretrain(
    corpus_folder: str | Path, out: str | Path, recipe: Recipe, *, backend_name: str | None = None, workers: int = 2
) -> Path:
    """Trains, or goes on where an earlier call in the same folder stopped; gives the folder of the model.

    Args:
        corpus_folder: what `unmask corpus build` wrote.
        out: the run's folder; at the end it is a Hugging Face folder.
        recipe: what to do.
        backend_name: torch, jax or tensorflow.
        workers: threads that make batches ahead; the result does not depend on their number.
    """
    backend.choose(backend_name)
    backend.make_deterministic()
    folder, corpus = expanded(out), Corpus(corpus_folder)
    tokenizer = _tokenizer_of(corpus)
    refuse_foreign(folder)
    with only_run_in(folder):
        plan = _plan(folder, corpus, recipe)
        if plan.get("finished"):
            log.warning("%s is finished already; choose another --out for another run.", folder)
            return folder
        trainer = Trainer(corpus, tokenizer, recipe, workers)
        plan["total_steps"] = plan.get("total_steps") or trainer.planned_steps()
        write_json(folder / "run.json", plan)  # what is refused before leaves nothing behind
        states = States(folder, all_variables(trainer.model, trainer.learner.optimizer))
        carried = states.restore_newest() or Carried()
        if plan["total_steps"] is None:
            plan["total_steps"] = trainer.measured_steps(states)
            write_json(folder / "run.json", plan)
        with Log(folder, step=carried.step) as journal:
            try:
                carried = run(trainer.job(plan["total_steps"]), states, journal, carried)
            finally:
                trainer.draw(journal, folder)
            _finish(folder, plan, trainer, journal, carried)
        states.remove_all()
    return folder


def _plan(folder: Path, corpus: Corpus, recipe: Recipe) -> dict[str, Any]:
    wanted = {"recipe": recipe.to_json(), "corpus": corpus.fingerprint, "backend": backend.current()}
    return plan_of(folder, wanted, {"recipe": FREE})


def _tokenizer_of(corpus: Corpus) -> Tokenizer:
    """The tokenizer that made the ids, and no other."""
    path = corpus.folder / "tokenizer.json"
    if not path.is_file() or file_hash(path) != corpus.manifest["tokenizer_hash"]:
        raise UserError(f"{path} is not the tokenizer that the corpus was built with; build the corpus again.")
    return load_tokenizer(corpus.folder)


class Trainer:
    """A model with its data, ready to be trained."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer, recipe: Recipe, workers: int) -> None:
        from unmask.train.optimizer import adamw  # noqa: PLC0415  (after the backend is chosen)

        self.corpus, self.tokenizer, self.recipe, self.workers = corpus, tokenizer, recipe, workers
        self.layout = Layout.of(tokenizer)
        with precision(recipe.precision):
            self.model = _model(corpus, tokenizer, recipe, self.layout)
        self.model.encoder.checkpointing = recipe.checkpointing
        self.masking = masking_of(recipe, tokenizer, self.model.config.vocab_size)
        if recipe.mask_unit == "word":
            _warn_of_characters(corpus)
        self.batches = self._batches(TRAIN)
        self.heldout = self._batches(HELDOUT) if corpus.tokens(HELDOUT) else None
        if self.heldout is None:
            log.warning("The corpus has no held-out part, so nothing will be measured but the loss of training.")
        optimizer = adamw(
            self.model,
            beta_1=recipe.beta_1,
            beta_2=recipe.beta_2,
            epsilon=recipe.epsilon,
            weight_decay=recipe.weight_decay,
        )
        self.learner = backend.learner(self.model, self._loss, optimizer)
        self._look = backend.compiled(self.model, self._sums)
        self.baseline = self._frequency_loss() if self.heldout else None

    def _batches(self, split: str) -> Batches:
        recipe = self.recipe
        blocks = Blocks(
            self.corpus.shards(split),
            self.layout,
            form=recipe.input_format,
            length=recipe.length,
            seed=recipe.seed,
            turns=self.masking.n_masks,
        )
        return Batches(
            blocks=blocks,
            masking=self.masking,
            size=max(1, round(recipe.batch_tokens / blocks.mean_length)),
            piece_tokens=min(recipe.piece_tokens, recipe.batch_tokens),
            seed=recipe.seed + (split == HELDOUT),
            fixed_shapes=backend.current() != "torch",
        )

    # --- what is computed ------------------------------------------------------------------------

    def _outputs(self, arrays: Mapping[str, Tensor], *, training: bool) -> tuple[Tensor, Tensor | None]:
        """Logits at the masked positions, and of the next sentence."""
        outputs = self.model.unchecked(
            arrays["ids_BL"],
            arrays["segments_BL"] if self.model.config.n_segments > 1 else None,
            attend_BL=arrays["attend_BL"],
            documents_BL=arrays["documents_BL"] if self.batches.blocks.packed else None,
            predict_BP=arrays["predict_BP"],
            training=training,
        )
        return outputs if self.recipe.objective == "mlm+nsp" else (outputs, None)

    def _loss(self, arrays: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """This piece's part of the batch's loss: sums divided by the counts of the whole batch."""
        from keras import ops  # noqa: PLC0415

        logits_BPV, next_B2 = self._outputs(arrays, training=True)
        masked = ops.sum(backend.cross_entropy(logits_BPV, arrays["targets_BP"]) * arrays["counts_BP"])
        if next_B2 is None:
            return masked * arrays["per_predicted"], ops.stack([masked])
        following = ops.sum(backend.cross_entropy(next_B2, 1 - arrays["follows_B"]) * arrays["asked_B"])
        value = masked * arrays["per_predicted"] + following * arrays["per_pair"]
        return value, ops.stack([masked, following])

    def _sums(self, arrays: Mapping[str, Tensor]) -> Tensor:
        """For evaluation: losses and hits, summed."""
        from keras import ops  # noqa: PLC0415

        logits_BPV, next_B2 = self._outputs(arrays, training=False)
        found = []
        for logits, targets, counts in (
            (logits_BPV, arrays["targets_BP"], arrays["counts_BP"]),
            (next_B2, 1 - arrays["follows_B"], arrays["asked_B"]),
        ):
            if logits is not None:
                hits = ops.cast(ops.equal(ops.cast(ops.argmax(logits, -1), "int32"), targets), "float32")
                found += [ops.sum(backend.cross_entropy(logits, targets) * counts), ops.sum(hits * counts)]
        return ops.stack(found)

    def evaluate(self) -> dict[str, float]:
        """Loss, perplexity and accuracy on the held-out part, always with the same masks."""
        if self.heldout is None:
            return {}
        sums: Any = 0.0
        n_predicted = n_pairs = 0
        blocks = max(1, int(self.recipe.heldout_tokens / self.heldout.blocks.mean_length))
        for batch in self.heldout.in_order(blocks):
            n_predicted, n_pairs = n_predicted + batch.n_predicted, n_pairs + batch.n_pairs
            sums = sums + sum(np.asarray(self._look(dict(piece)), np.float64) for piece in batch.pieces)
        loss = float(sums[0]) / n_predicted
        figures = {
            "loss": loss,
            "perplexity": math.exp(min(loss, 700)),
            "masked_accuracy": float(sums[1]) / n_predicted,
        }
        if len(sums) == 4 and n_pairs:
            figures |= {"next_sentence_loss": sums[2] / n_pairs, "next_sentence_accuracy": sums[3] / n_pairs}
        return {name: float(value) for name, value in figures.items()}

    def _frequency_loss(self) -> float:
        """The held-out loss of somebody who knows nothing but how often each token occurs."""
        assert self.heldout is not None
        counts_V, left = np.ones(self.model.config.vocab_size), _COUNTED_TOKENS
        for shard in self.corpus.shards(TRAIN):
            counted = np.bincount(shard.ids[:left], minlength=len(counts_V))
            if len(counted) > len(counts_V):
                raise UserError(
                    f"The corpus has the id {len(counted) - 1}, but its tokenizer {len(counts_V)}; build it again."
                )
            counts_V += counted
            left -= len(shard.ids)
            if left <= 0:
                break
        surprise_V = -np.log(counts_V / counts_V.sum())
        total = count = 0.0
        blocks = max(1, int(self.recipe.heldout_tokens / self.heldout.blocks.mean_length))
        for batch in self.heldout.in_order(blocks):
            total += sum(float((surprise_V[piece["targets_BP"]] * piece["counts_BP"]).sum()) for piece in batch.pieces)
            count += batch.n_predicted
        if not count:
            raise UserError(
                "The held-out part of the corpus has no token that could be predicted: the tokenizer knows nothing of "
                "its texts; train one on such texts, and build the corpus again."
            )
        return total / count

    # --- how long, and in which steps ------------------------------------------------------------

    def planned_steps(self) -> int | None:
        """As many as the recipe says; None if it says hours."""
        recipe, per_epoch = self.recipe, self.batches.blocks.n_blocks / self.batches.size
        if recipe.hours is not None:
            return None
        epochs = 1.0 if recipe.epochs is None else recipe.epochs
        return self._longer_than_warmup(recipe.steps or max(1, math.ceil(epochs * per_epoch)))

    def _longer_than_warmup(self, steps: int) -> int:
        if self.recipe.warmup >= max(1, steps):
            raise UserError(
                f"The run has {steps:,} steps, but its warm-up {self.recipe.warmup:g}; it must be shorter than the "
                "run: pass --set warmup=0.05 for a share of all steps."
            )
        return steps

    def measured_steps(self, states: States) -> int:
        """As many as the recipe's hours have time for, by trying a few, and one evaluation."""
        recipe = self.recipe
        assert recipe.hours is not None
        states.save(Carried())
        seconds = []
        for step_input in self._inputs(0, _PROBE_STEPS):
            began = time.monotonic()
            for piece in step_input.pieces:
                self.learner.add(piece)
            self.learner.update(rate=0.0, max_norm=1.0)
            seconds.append(time.monotonic() - began)
        states.restore(0)
        began = time.monotonic()
        self.evaluate()
        looking = _LOOKS * (time.monotonic() - began)
        left = max(recipe.hours * 3600 - looking, recipe.hours * 1800)
        return self._longer_than_warmup(max(1, int(left / float(np.median(seconds[1:])))))

    def job(self, total: int) -> Job:
        """The run for the loop."""
        recipe = self.recipe
        warmup = round(recipe.warmup * total) if recipe.warmup < 1 else round(recipe.warmup)
        return Job(
            label="pretraining",
            learner=self.learner,
            random_state=self.model.non_trainable_variables,
            inputs=self._inputs,
            rate=lambda step: learning_rate(step, peak=recipe.peak_rate, warmup=warmup, total=total),
            total_steps=total,
            clip_norm=recipe.clip_norm,
            save_every=recipe.save_every,
            evaluate_every=recipe.evaluate_every or max(1, total // _LOOKS),
            evaluate=self.evaluate,
        )

    def _inputs(self, first: int, last: int) -> Iterator[StepInput]:
        for batch in ahead(self.batches, range(first, last), workers=self.workers):
            yield step_input_of(batch)

    def draw(self, journal: Log, folder: Path) -> None:
        """The curve so far."""
        config = self.model.config
        title = f"{config.family}, {config.n_layers} layers × {config.d_model}, {config.vocab_size:,} tokens"
        draw_curve(journal, folder, baseline=self.baseline, title=title)


def step_input_of(batch: StepBatch) -> StepInput:
    """A batch as the loop wants it: the loss of each piece is divided by the counts of the whole batch."""
    scales = {
        "per_predicted": np.asarray(1 / max(1, batch.n_predicted), np.float32),
        "per_pair": np.asarray(1 / max(1, batch.n_pairs), np.float32),
    }

    def figures(sums: np.ndarray) -> dict[str, float]:
        found = {"loss": float(sums[0]) / max(1, batch.n_predicted)}
        return found if len(sums) == 1 else {**found, "next_sentence_loss": float(sums[1]) / max(1, batch.n_pairs)}

    return StepInput([{**piece, **scales} for piece in batch.pieces], batch.n_tokens, figures)


def masking_of(recipe: Recipe, tokenizer: Tokenizer, vocab_size: int) -> Masking:
    """The recipe's masking with this tokenizer's ids; rows of the table that no token has are never drawn."""
    special = set(tokenizer.special_ids) | set(range(tokenizer.n_ids, vocab_size))
    return Masking(
        mask_id=tokenizer.mask_id,
        vocab_size=vocab_size,
        special_ids=tuple(sorted(special)),
        share=recipe.mask_share,
        masked=recipe.masked,
        random=recipe.random,
        unit=recipe.mask_unit,
        n_masks=recipe.static_masks if recipe.masking == "static" else None,
    )


def _warn_of_characters(corpus: Corpus) -> None:
    """Of Chinese that no segmenter has cut: each character is a word there."""
    uncut = corpus.manifest.get("options", {}).get("segmenter") == "none"
    if uncut and corpus.manifest["report"]["scripts"].get("Han", 0) > 0.1:
        log.warning(
            "The corpus was built without a segmenter, so each Chinese character counts as a word; for whole words "
            "run: pip install 'unmask[chinese]', and build the corpus again."
        )


def _model(corpus: Corpus, tokenizer: Tokenizer, recipe: Recipe, layout: Layout) -> Any:
    """A new model, or the one to go on from."""
    from unmask.model import Bert  # noqa: PLC0415  (imports Keras, for which the backend is chosen)

    if tokenizer.n_ids != corpus.n_ids:
        raise UserError(f"The corpus was made with {corpus.n_ids} ids, but its tokenizer has {tokenizer.n_ids} now.")
    if recipe.model is None:
        ids: dict[str, int | None] = {"pad_id": layout.pad_id}
        if recipe.family == "roberta":
            ids |= {"bos_id": layout.first[0], "eos_id": layout.last[0]}
        return Bert(recipe.config(n_ids=tokenizer.n_ids, **ids), recipe.objective, seed=recipe.seed)
    if load_tokenizer(recipe.model).rust.to_str() != tokenizer.rust.to_str():
        raise UserError(
            f"The corpus was not made with the tokenizer of {recipe.model}; "
            f"build it again with --tokenizer {recipe.model}."
        )
    said = {name: getattr(recipe, name) for name in ("dropout", "attention_dropout")}
    dropouts = {name: rate for name, rate in said.items() if rate is not None}
    model = load_model(recipe.model, recipe.objective, seed=recipe.seed, dropouts=dropouts)
    if model.config.max_positions < recipe.length:
        raise UserError(
            f"Blocks of {recipe.length} tokens, but {recipe.model} reads {model.config.max_positions}; "
            f"pass --length {model.config.max_positions}."
        )
    return model


def _finish(folder: Path, plan: dict[str, Any], trainer: Trainer, journal: Log, carried: Carried) -> None:
    """The Hugging Face folder with its card and figures."""
    save_model(trainer.model, trainer.tokenizer, folder)
    last = journal.of("heldout")[-1:]
    figures = {name: value for line in last for name, value in line.items() if name not in ("kind", "step")}
    if trainer.baseline is not None:
        figures["perplexity_of_token_frequencies"] = math.exp(min(trainer.baseline, 700))
    metrics = {**figures, "steps": carried.step, "tokens": carried.tokens, "hours": carried.seconds / 3600}
    write_json(folder / "metrics.json", metrics)
    write_whole(folder / "README.md", model_card(trainer.model, trainer.corpus, trainer.recipe, metrics))
    plan["finished"] = True
    write_json(folder / "run.json", plan)
