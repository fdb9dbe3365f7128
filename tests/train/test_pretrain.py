"""Pretraining on a small grammar: it learns, others open its folder, pieces are one batch, mistakes are told."""

import json
import math

import numpy as np
import pytest

from data.corpora import write_text_corpus
from unmask import UserError, backend, load_model, save_model
from unmask.checkpoint.folder import stored_tensors
from unmask.files import only_run_in
from unmask.text import load_tokenizer
from unmask.train.log import read_log
from unmask.train.pretrain import Trainer, pretrain
from unmask.train.recipe import Recipe

pytestmark = pytest.mark.backend

TINY = {
    "size": "tiny",
    "n_layers": 1,
    "d_model": 64,
    "length": 48,
    "batch_tokens": 768,
    "piece_tokens": 768,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "peak_rate": 4e-3,
    "steps": 12,
}
BERT = {"family": "bert", "objective": "mlm+nsp", "input_format": "segment-pair"}


def recipe(**changes):
    return Recipe(**{**TINY, **changes})


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_text_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def bert_corpus(tmp_path_factory):
    return write_text_corpus(tmp_path_factory.mktemp("corpus"), family="bert")


@pytest.fixture(scope="module")
def learnt(corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "learnt"
    return pretrain(corpus.folder, out, recipe(steps=400, mask_unit="word", save_every=60))


def test_it_learns(learnt):
    metrics = json.loads((learnt / "metrics.json").read_text())
    assert metrics["perplexity"] < 0.5 * metrics["perplexity_of_token_frequencies"]
    assert metrics["masked_accuracy"] > 0.2


def test_it_leaves_log_curve_card_and_no_state(learnt):
    lines = read_log(learnt / "log.jsonl")
    assert [line["step"] for line in lines if line["kind"] == "train"] == list(range(10, 401, 10))
    assert sum(line["kind"] == "heldout" for line in lines) == 10
    assert (learnt / "curve.png").stat().st_size > 5000
    assert list((learnt / "tensorboard").iterdir())
    assert not (learnt / "state").exists()
    card = (learnt / "README.md").read_text()
    assert "RobertaForMaskedLM" in card
    assert '| mask_unit | "word" |' in card


def test_transformers_opens_it_and_agrees(learnt):
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    text = "the cat sees a red <mask> ."
    theirs = AutoModelForMaskedLM.from_pretrained(learnt).eval()
    ids = AutoTokenizer.from_pretrained(learnt)(text, return_tensors="pt")
    assert type(theirs).__name__ == "RobertaForMaskedLM"
    with torch.no_grad():
        expected = theirs(**ids).logits.numpy()
    ours = np.asarray(
        backend.compiled(m := load_model(learnt), lambda i: m(i, training=False))(ids["input_ids"].numpy())
    )
    np.testing.assert_allclose(ours, expected, atol=2e-5)
    assert ids["input_ids"][0].tolist() == load_tokenizer(learnt).encode(text).ids


def test_bert_with_next_sentence_prediction(bert_corpus, tmp_path):
    from transformers import AutoConfig

    out = pretrain(bert_corpus.folder, tmp_path / "bert", recipe(**BERT, masking="static", static_masks=3))
    metrics = json.loads((out / "metrics.json").read_text())
    assert 0 <= metrics["next_sentence_accuracy"] <= 1
    assert AutoConfig.from_pretrained(out).architectures == ["BertForPreTraining"]
    line = next(line for line in read_log(out / "log.jsonl") if line["kind"] == "train")
    assert math.isfinite(line["next_sentence_loss"])


@pytest.mark.parametrize(("unit", "segmenter"), [("word", "none"), ("word", "rjieba"), ("token", "none")])
def test_whole_words_of_chinese_that_nobody_cut_are_told(corpus, monkeypatch, caplog, unit, segmenter):
    told = {"options": {"segmenter": segmenter}, "report": {"scripts": {"Han": 0.9}}}
    monkeypatch.setattr(corpus, "manifest", {**corpus.manifest, **told})
    Trainer(corpus, load_tokenizer(corpus.folder), recipe(mask_unit=unit), workers=0)
    assert ("without a segmenter" in caplog.text) == ((unit, segmenter) == ("word", "none"))


def trained(corpus, steps=4, **changes):
    """The weights after a few steps, without files."""
    trainer = Trainer(corpus, load_tokenizer(corpus.folder), recipe(**changes), workers=0)
    for number, step_input in enumerate(trainer._inputs(0, steps)):
        for piece in step_input.pieces:
            trainer.learner.add(piece)
        trainer.learner.update(rate=1e-3 * (number + 1), max_norm=1.0)
    return [np.array(variable) for variable in trainer.model.trainable_variables]


@pytest.mark.parametrize("form", [{}, {**BERT, "input_format": "sentence-pair"}, {"input_format": "packed-documents"}])
def test_accumulation_is_the_batch_in_one_piece(corpus, bert_corpus, form):
    which = bert_corpus if form.get("family") == "bert" else corpus
    whole, pieces = trained(which, **form), trained(which, **form, piece_tokens=100)
    start = trained(which, 0, **form)
    moved = max(float(np.abs(a - b).max()) for a, b in zip(whole, start, strict=True))
    for one, other in zip(whole, pieces, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3 * moved)


def test_it_is_what_transformers_would_do(corpus, tmp_path):
    """One update of the same weights by PyTorch's AdamW on the loss of RobertaForMaskedLM."""
    import torch
    from transformers import RobertaForMaskedLM

    trainer = Trainer(corpus, load_tokenizer(corpus.folder), recipe(weight_decay=0.1), workers=0)
    theirs = RobertaForMaskedLM.from_pretrained(save_model(trainer.model, None, tmp_path)).eval()
    (step_input,) = trainer._inputs(0, 1)
    sums, total, count = 0, 0, 0
    for piece in step_input.pieces:
        sums = sums + trainer.learner.add(piece)
        logits = theirs(torch.from_numpy(piece["ids_BL"]), torch.from_numpy(piece["attend_BL"]).long()).logits
        rows, nth = np.nonzero(piece["counts_BP"])
        targets = torch.from_numpy(piece["targets_BP"][rows, nth]).long()
        at = logits[torch.from_numpy(rows), torch.from_numpy(piece["predict_BP"][rows, nth]).long()]
        total, count = total + torch.nn.functional.cross_entropy(at, targets, reduction="sum"), count + len(rows)
    norm = trainer.learner.update(rate=1e-3, max_norm=0.5)
    loss = total / count
    loss.backward()
    assert step_input.loss_of(sums)["loss"] == pytest.approx(float(loss.detach()), rel=1e-5)
    assert float(torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)) == pytest.approx(norm, rel=1e-4)
    # At the first step the ε of fairseq and Keras counts 1/√(1 − β₂) times as much as PyTorch's.
    settings = {"lr": 1e-3, "betas": (0.9, 0.98), "eps": 1e-6 / math.sqrt(0.02)}
    plain = [p for p in theirs.parameters() if p.ndim == 1]
    matrices = [p for p in theirs.parameters() if p.ndim > 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]
    torch.optim.AdamW(groups, **settings).step()
    expected = theirs.state_dict()
    for name, ours in stored_tensors(trainer.model).items():
        # Where a gradient is as small as rounding, its sign decides the whole of the first update.
        far = np.abs(ours - expected[name].numpy()) > 3e-6
        assert far.mean() < 0.002, name


def test_it_goes_on_from_a_model(learnt, corpus, tmp_path):
    before = json.loads((learnt / "metrics.json").read_text())
    out = pretrain(
        corpus.folder, tmp_path / "adapted", recipe(model=str(learnt), steps=5, peak_rate=1e-4, mask_unit="word")
    )
    after = json.loads((out / "metrics.json").read_text())
    assert after["perplexity"] < 1.5 * before["perplexity"]


def test_dropout_of_a_model_to_go_on_from(learnt, corpus, tmp_path):
    changed = Recipe.read(None, model=str(learnt), dropout=0.25, length=48, batch_tokens=768, steps=1)
    out = pretrain(corpus.folder, tmp_path / "more", changed)
    config = load_model(out).config
    assert (config.dropout, config.attention_dropout) == (0.25, 0.0)
    card = (out / "README.md").read_text()
    assert "| dropout | 0.25 |" in card
    assert "| size |" not in card


def test_what_is_refused_leaves_nothing_behind(corpus, tmp_path):
    with pytest.raises(UserError, match="5 heads do not divide a width of 64"):
        pretrain(corpus.folder, tmp_path / "out", recipe(n_heads=5))
    with pytest.raises(UserError, match=r"The run has \d+ steps, but its warm-up 900; it must be shorter than the run"):
        pretrain(corpus.folder, tmp_path / "out", recipe(steps=None, epochs=1, warmup=900))
    assert (pretrain(corpus.folder, tmp_path / "out", recipe(steps=1)) / "model.safetensors").is_file()


def test_held_out_texts_of_unknown_tokens_alone(tmp_path):
    """Nothing can be predicted there, so nothing can be measured."""
    corpus = write_text_corpus(tmp_path)
    unknown = load_tokenizer(corpus.folder).special_ids
    for path in (corpus.folder / "heldout").glob("*.ids.npy"):
        np.save(path, np.full_like(np.load(path), max(unknown)))
    with pytest.raises(UserError, match="The held-out part of the corpus has no token that could be predicted"):
        pretrain(corpus.folder, tmp_path / "out", recipe())


def test_hours_become_steps(corpus, tmp_path):
    out = pretrain(corpus.folder, tmp_path / "timed", recipe(steps=None, hours=0.0005))
    plan = json.loads((out / "run.json").read_text())
    assert plan["total_steps"] == json.loads((out / "metrics.json").read_text())["steps"] >= 1


def test_mixed_precision_learns_as_well(corpus, tmp_path):
    import keras

    out = pretrain(corpus.folder, tmp_path / "mixed", recipe(precision="mixed_bfloat16", steps=100))
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["perplexity"] < 0.9 * metrics["perplexity_of_token_frequencies"]
    assert keras.config.dtype_policy().name == "float32"  # for whatever comes after


def test_a_model_of_mixed_precision_computes_with_it(corpus):
    trainer = Trainer(corpus, load_tokenizer(corpus.folder), recipe(precision="mixed_bfloat16"), workers=0)
    layer = trainer.model.encoder.stack[0]
    assert layer.compute_dtype == "bfloat16"
    assert layer.variable_dtype == "float32"


# --- mistakes ------------------------------------------------------------------------------------


def test_a_finished_run_is_left_alone(learnt, corpus, caplog):
    before = (learnt / "model.safetensors").read_bytes()
    pretrain(corpus.folder, learnt, recipe(steps=400, mask_unit="word", save_every=60))
    assert "is finished already" in caplog.text
    assert (learnt / "model.safetensors").read_bytes() == before


def test_another_recipe_in_the_same_folder_is_told(learnt, corpus):
    with pytest.raises(UserError, match=r"mask_unit was word and is token; seed was 0 and is 7"):
        pretrain(corpus.folder, learnt, recipe(steps=400, seed=7))


def test_another_corpus_in_the_same_folder_is_told(learnt, tmp_path):
    other = write_text_corpus(tmp_path, seed=9)
    with pytest.raises(UserError, match="the corpus is another one"):
        pretrain(other.folder, learnt, recipe(steps=400, mask_unit="word"))


def test_what_is_in_the_folder_is_not_overwritten(corpus, tmp_path):
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(UserError, match=r"holds something already \(README\.md\); choose a new or an empty folder"):
        pretrain(corpus.folder, tmp_path, recipe())
    with pytest.raises(UserError, match="choose a new or an empty folder"):
        pretrain(corpus.folder, corpus.folder, recipe())
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is a file; --out must name a folder"):
        pretrain(corpus.folder, tmp_path / "file", recipe())


def test_weights_that_are_no_numbers_are_no_success(corpus, tmp_path):
    with pytest.raises(UserError, match="went astray 7 times"):
        pretrain(corpus.folder, tmp_path / "out", recipe(steps=2, peak_rate=1e38, warmup=0.0))


def test_another_tokenizer_than_the_corpus_was_built_with(tmp_path):
    corpus = write_text_corpus(tmp_path / "corpus")
    path = corpus.folder / "tokenizer.json"
    path.write_text(path.read_text().replace("<unk>", "<unc>"))
    with pytest.raises(UserError, match="is not the tokenizer that the corpus was built with"):
        pretrain(corpus.folder, tmp_path / "out", recipe())


def test_one_run_a_folder(corpus, tmp_path):
    with only_run_in(tmp_path), pytest.raises(UserError, match="Another run is at work"):
        pretrain(corpus.folder, tmp_path, recipe())


def test_another_tokenizer_than_the_models(learnt, bert_corpus, tmp_path):
    with pytest.raises(UserError, match="was not made with the tokenizer of"):
        pretrain(bert_corpus.folder, tmp_path, recipe(model=str(learnt)))


def test_blocks_longer_than_the_model_reads(learnt, corpus, tmp_path):
    with pytest.raises(UserError, match=r"Blocks of 64 tokens, but .* reads 48; pass --length 48"):
        pretrain(corpus.folder, tmp_path, recipe(model=str(learnt), length=64))


def test_no_corpus(tmp_path):
    with pytest.raises(UserError, match=r"has no manifest\.json, so it is no finished corpus"):
        pretrain(tmp_path, tmp_path / "out", recipe())
