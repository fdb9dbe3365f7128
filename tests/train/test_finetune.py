"""Fine-tuning of each task on data that can be learnt: it learns, `transformers` agrees, pieces are one batch."""

import json
import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import small_tasks
import unmask
from unmask import UserError, backend
from unmask.checkpoint.folder import stored_tensors
from unmask.data.readers import read_records
from unmask.train.finetune import Tuner, finetune
from unmask.train.labelled import read_labelled
from unmask.train.log import read_log

pytestmark = pytest.mark.backend

ENOUGH = {
    "classify": ("accuracy", 0.85),
    "multi": ("micro_f1", 0.75),
    "pair": ("accuracy", 0.85),
    "regress": ("pearson", 0.85),
    "tag": ("f1", 0.9),
    "read": ("f1", 90),
    "choose": ("accuracy", 0.85),
}
CLASSES = {"tag": "AutoModelForTokenClassification", "read": "AutoModelForQuestionAnswering"}

only_torch = pytest.mark.skipif("config.getoption('--backend') not in (None, 'torch')", reason="compiling is slow")


def metrics_of(folder):
    return json.loads((folder / "metrics.json").read_text())


@pytest.mark.parametrize("task", small_tasks.TASKS)
def test_it_learns(tuned, task):
    name, least = ENOUGH[task]
    folder = tuned(task)
    assert metrics_of(folder)[name] >= least
    said = json.loads((folder / "task.json").read_text())
    assert said["task"] == small_tasks.verb(task)
    assert said["metric"] == name
    assert said["length"] == 32


@pytest.mark.parametrize("task", small_tasks.TASKS)
def test_transformers_opens_it_and_agrees(tuned, task):
    """The same logits at every token and class, from the units that our own tokenizer made."""
    import torch
    import transformers

    kind = CLASSES.get(small_tasks.verb(task), "AutoModelForSequenceClassification")
    kind = "AutoModelForMultipleChoice" if task == "choose" else kind
    theirs = getattr(transformers, kind).from_pretrained(tuned(task)).eval()
    predictor = tuned.predictor(task)
    records = read_records(str(tuned.test_file(task)))
    columns = predictor.columns(records, {}, labelled=False)
    examples = predictor.task.examples(records, columns, labelled=False)
    units = predictor.task.units(examples, predictor.tokenizer, predictor.window(None, None))
    ours = predictor.engine.logits(units)
    for unit, logits in list(zip(units, ours, strict=True))[:6]:
        assert len({len(sequence.ids) for sequence in unit.sequences}) == 1 or task == "choose"
        rows = [
            theirs(
                **{
                    name: torch.tensor([[values]] if task == "choose" else [values])
                    for name, values in (("input_ids", sequence.ids), ("token_type_ids", sequence.segments))
                }
            )
            for sequence in unit.sequences
        ]
        if task == "read":
            expected = torch.stack([rows[0].start_logits[0], rows[0].end_logits[0]], -1)
        else:
            expected = torch.cat([row.logits[0] for row in rows]) if task == "choose" else rows[0].logits[0]
        np.testing.assert_allclose(logits, expected.detach().numpy(), atol=1e-4)


@pytest.mark.parametrize("task", ["classify", "multi"])
def test_the_pipeline_of_transformers_gives_the_same_probabilities(tuned, task):
    """The temperature is in the weights, the labels and the kind of problem in config.json."""
    import transformers

    pipeline = transformers.pipeline("text-classification", model=str(tuned(task)), device="cpu", top_k=None)
    texts = [row["text"] for row in small_tasks.rows(task, 10, seed=2)]
    for answer, found in zip(tuned.predictor(task).classify(texts), pipeline(texts), strict=True):
        theirs = {one["label"]: one["score"] for one in found}
        assert theirs.keys() == answer.probabilities.keys()
        for label, probability in answer.probabilities.items():
            assert theirs[label] == pytest.approx(probability, abs=1e-4)


def test_it_leaves_log_curve_card_and_no_state(tuned):
    folder = tuned("classify")
    looks = [line for line in read_log(folder / "log.jsonl") if line["kind"] == "heldout"]
    assert [line["step"] for line in looks] == [9, 18, 27, 36, 45, 54]
    assert (folder / "curve.png").stat().st_size > 5000
    assert not (folder / "state").exists()
    assert not (folder / "best").exists()
    card = (folder / "README.md").read_text()
    assert "with the labels bad, good" in card
    assert "| batch_size | 16 |" in card


def test_the_best_look_is_kept(tuned):
    for task in ("classify", "pair"):
        looks = [line for line in read_log(tuned(task) / "log.jsonl") if line["kind"] == "heldout"]
        found = metrics_of(tuned(task))
        best = max(line["accuracy"] for line in looks)
        assert found["best_step"] == next(line["step"] for line in looks if line["accuracy"] == best)
        assert found["accuracy"] == best


def test_a_finished_run_is_left_alone(tuned, caplog):
    before = (tuned("classify") / "model.safetensors").stat().st_mtime_ns
    (tuned("classify") / "best").mkdir()  # as a kill at the very end leaves it
    finetune(tuned.data("classify"), str(tuned.base), tuned("classify"), tuned.tuning(epochs=6))
    assert "for another run choose another --out" in caplog.text
    assert (tuned("classify") / "model.safetensors").stat().st_mtime_ns == before
    assert not (tuned("classify") / "best").exists()


def test_another_recipe_in_the_same_folder_is_refused(tuned):
    with pytest.raises(UserError, match=r"holds a run that differs: batch_size was 16 and is 8"):
        finetune(tuned.data("classify"), str(tuned.base), tuned("classify"), tuned.tuning(epochs=6, batch_size=8))


# --- what is computed ---------------------------------------------------------------------------------


def tuner(tuned, task="classify", model=None, **changes):
    tuning = tuned.tuning(**changes)
    labelled = read_labelled(tuned.data(task), dev_share=tuning.dev_share, seed=0)
    return Tuner(labelled, str(model or tuned.base), tuning)


def stepped(trainer, steps=3):
    for step_input in trainer._inputs(0, steps):
        for piece in step_input.pieces:
            trainer.learner.add(piece)
        trainer.learner.update(rate=1e-2, max_norm=1.0)
    return trainer


@pytest.fixture(scope="module")
def still(tuned):
    """Without dropout, so that pieces can be compared."""
    return small_tasks.write_model(tuned.folder / "still", dropout=0.0, attention_dropout=0.0)


@only_torch
@pytest.mark.parametrize("task", small_tasks.TASKS)
def test_accumulation_is_the_batch_in_one_piece(tuned, still, task):
    whole, parts = (tuner(tuned, task, still, piece_tokens=tokens) for tokens in (100_000, 40))
    assert len(next(whole._inputs(0, 1)).pieces) == 1
    assert len(next(parts._inputs(0, 1)).pieces) > 3
    for one, other in zip(
        stepped(whole).model.trainable_variables, stepped(parts).model.trainable_variables, strict=True
    ):
        np.testing.assert_allclose(np.array(one), np.array(other), atol=2e-4, err_msg=one.path)


def test_class_weights_count_classes_alike(tuned, still):
    """9 of one class and 1 of another: with weights the loss is the mean of both classes' means."""
    trainer = tuner(tuned, "classify", still, class_weights=True)
    by_label = {label: [u for u in trainer.units if u.targets["label"] == label] for label in (0, 1)}
    trainer.class_weights = np.asarray(trainer.task.class_weights([*[_Labelled(0)] * 9, _Labelled(1)]), np.float32)
    np.testing.assert_allclose(trainer.class_weights, [10 / 18, 5])

    def loss(units):
        step_input = trainer.step_input(units)
        return step_input.loss_of(np.sum([trainer.learner.add(piece) for piece in step_input.pieces], axis=0))["loss"]

    nine, one = by_label[0][:9], by_label[1][:1]
    assert loss(nine + one) == pytest.approx((loss(nine) + loss(one)) / 2, rel=1e-4)


class _Labelled:
    def __init__(self, label):
        self.label = label


def moved(trainer, before):
    after = stored_tensors(trainer.model)
    return {name for name in before if not np.array_equal(before[name], after[name])}


@only_torch
def test_frozen_layers_stay(tuned):
    two = small_tasks.write_model(tuned.folder / "two", n_layers=2)
    trainer = tuner(tuned, model=two, freeze=1)
    before = stored_tensors(trainer.model)
    changed = moved(stepped(trainer), before)
    assert not any("embeddings" in name or "layer.0." in name for name in changed)
    assert {"classifier.weight", "bert.pooler.dense.weight"} <= changed
    assert any("layer.1.attention" in name for name in changed)


def test_lora_trains_thin_matrices_and_the_head(tuned, tmp_path):
    trainer = tuner(tuned, lora=2)
    before = stored_tensors(trainer.model)
    names = [v.path for v in trainer.model.trainable_variables]
    assert sum("lora_kernel" in name for name in names) == 4
    assert all("lora_kernel" in name or "/head/" in name for name in names)
    changed = moved(stepped(trainer), before)
    inside = {name for name in changed if "layer." in name}
    assert inside == {f"bert.encoder.layer.0.attention.self.{which}.weight" for which in ("query", "value")}
    unmask.save_model(trainer.model, trainer.tokenizer, tmp_path)
    again = unmask.load(tmp_path)
    assert not any("lora" in v.path for v in again.model.variables)
    for one, other in zip(
        again.engine.logits(trainer.dev_units), trainer.engine.logits(trainer.dev_units), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_lora_depends_on_the_seed_alone(tuned):
    def thin(**options):
        return {v.path: np.array(v) for v in tuner(tuned, lora=2, **options).model.variables if "kernel_a" in v.path}

    one, again, other = thin(), thin(), thin(seed=5)
    assert len(one) == 2
    assert all((one[path] == again[path]).all() and (one[path] != other[path]).any() for path in one)
    query, value = one.values()
    assert (query != value).any()
    assert abs(query).max() <= (6 / len(query)) ** 0.5 < 2 * abs(query).max()


@only_torch
def test_lora_leaves_frozen_layers_alone(tuned):
    two = small_tasks.write_model(tuned.folder / "two", n_layers=2)
    names = [v.path for v in tuner(tuned, model=two, lora=2, freeze=1).model.trainable_variables]
    assert sum("lora_kernel" in name for name in names) == 4


def test_a_stride_is_refused_where_nothing_is_read_in_windows(tuned):
    with pytest.raises(UserError, match="--stride is not for choose, which cuts what is too long; leave it out"):
        tuner(tuned, "choose", stride=4)


def test_the_same_labels_keep_their_head_and_others_get_a_new_one(tuned, caplog):
    folder = tuned("classify")
    caplog.clear()  # of a training that this test may be the first to need
    with caplog.at_level(logging.WARNING):
        kept = tuner(tuned, "classify", folder)
    assert "new and untrained" not in caplog.text
    np.testing.assert_array_equal(
        stored_tensors(kept.model)["classifier.weight"],
        stored_tensors(unmask.load_model(folder))["classifier.weight"],
    )
    for task in ("multi", "regress"):
        with caplog.at_level(logging.WARNING):
            tuner(tuned, task, folder)
        assert "new and untrained, since it has them for the labels bad, good only: classifier.weight" in caplog.text
        caplog.clear()


def test_a_head_of_numbers_that_is_kept_starts_with_its_numbers(tuned):
    """Training counts in scales from the mean, whatever the head's weights took in before."""
    again = tuner(tuned, "regress", tuned("regress"))
    texts = [example.text for example in again.labelled.dev]
    answers = again.task.answers(again.labelled.dev, again.dev_units, again.engine.logits(again.dev_units))
    before = [answer.value for answer in tuned.predictor("regress").regress(texts)]
    assert [answer.value for answer in answers] == pytest.approx(before, abs=1e-4)


@only_torch
@pytest.mark.parametrize("task", ["read", "choose"])
def test_a_model_of_three_labels_becomes_one_of_another_task(tuned, task, tmp_path):
    """The old task's labels must not stay in config.json, where `transformers` would make outputs of them."""
    import transformers

    out = finetune(tuned.data(task), str(tuned("multi")), tmp_path / "out", tuned.tuning(epochs=0.2))
    kind = {"read": "AutoModelForQuestionAnswering", "choose": "AutoModelForMultipleChoice"}[task]
    model, report = getattr(transformers, kind).from_pretrained(out, output_loading_info=True)
    assert not report["missing_keys"]
    assert "place" not in model.config.id2label.values()
    assert unmask.load(out).task.name == task


@only_torch
def test_choices_may_be_of_any_number(tuned, still, tmp_path):
    rows = small_tasks.rows("choose", 40)
    for row in rows[::2]:
        row["choices"], row["label"] = [row["choices"][row["label"]], row["choices"][row["label"] - 1]], 0
    path = small_tasks.write_rows(tmp_path / "choices.jsonl", rows)
    labelled = read_labelled(tuned.data("choose", train=str(path)), dev_share=0.2, seed=0)
    trainer = stepped(Tuner(labelled, str(still), tuned.tuning()))
    assert all(np.isfinite(np.array(v)).all() for v in trainer.model.trainable_variables)
    assert {len(scores) for scores in trainer.engine.logits(trainer.dev_units)} == {2, 3}
    alone = [trainer.engine.logits([unit])[0] for unit in trainer.dev_units]
    for one, other in zip(trainer.engine.logits(trainer.dev_units), alone, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@only_torch
def test_every_look_at_questions_has_its_own_threshold(tuned, tmp_path):
    """The best look is the one that is best with the threshold that the model will get."""
    rows = [json.loads(line) for line in Path(tuned.data("read").train).read_text(encoding="utf-8").splitlines()]
    rows += [{**row, "question": f"never {n}", "answers": []} for n, row in enumerate(rows[::2])]
    path = small_tasks.write_rows(tmp_path / "train.jsonl", rows)
    data = replace(tuned.data("read"), train=str(path), dev=None)
    tuner = Tuner(read_labelled(data, dev_share=0.5, seed=0), str(tuned.base), tuned.tuning())
    look = tuner.evaluate()
    assert tuner.task.settings["null_threshold"] != 0
    assert tuner.tune() == look


@only_torch
def test_epochs_are_cut_where_nothing_gets_better(tuned, tmp_path, caplog):
    """With a rate of almost nothing the first look stays the best; two more, and it ends."""
    tuning = tuned.tuning(peak_rate=1e-12, patience=2, evaluate_every=1, epochs=3)
    with caplog.at_level("INFO", logger="unmask"):
        out = finetune(tuned.data("classify"), str(tuned.base), tmp_path / "out", tuning)
    found = metrics_of(out)
    assert (found["best_step"], found["steps"]) == (1, 3)
    assert "Ended early: 2 looks at held-out data in a row brought no better accuracy." in caplog.text
    assert "The state after step 1 is kept, which was best." in caplog.text


# --- mistakes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length": 33}, "33 tokens, but this model reads 32; pass --max-length 32 or --stride."),
        ({"length": 2}, "2 tokens hold no text beside 2 special ones; take more."),
        ({"freeze": 2}, "--freeze 2, but this model has 1 layers."),
    ],
)
def test_a_recipe_that_the_model_cannot_follow(tuned, tmp_path, changes, message):
    with pytest.raises(UserError) as error:
        finetune(tuned.data("classify"), str(tuned.base), tmp_path / "out", tuned.tuning(**changes))
    assert str(error.value) == message


def test_class_weights_are_for_one_label(tuned, tmp_path):
    for task, named in (("multi", "several labels"), ("tag", "tag"), ("regress", "regress")):
        with pytest.raises(UserError, match=f"Class weights are for the classification of one label, not for {named}"):
            finetune(tuned.data(task), str(tuned.base), tmp_path / task, tuned.tuning(class_weights=True))


def test_folders_that_hold_something_else(tuned, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UserError, match=r"holds something already \(thesis.txt\); choose a new or an empty folder"):
        finetune(tuned.data("classify"), str(tuned.base), tmp_path, tuned.tuning())
    with pytest.raises(UserError, match=r"thesis\.txt is a file; --out must name a folder"):
        finetune(tuned.data("classify"), str(tuned.base), tmp_path / "thesis.txt", tuned.tuning())


def test_a_backend_is_named(tuned):
    assert json.loads((tuned("classify") / "run.json").read_text())["backend"] == backend.current()
