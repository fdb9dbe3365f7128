"""Model folders: what we write, `transformers` opens; what it writes, we open; what is broken, we explain."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
import transformers
from keras import ops
from safetensors.numpy import load_file, save_file
from safetensors.torch import save_file as save_torch

import hf_models
import tiny_tokenizers
from unmask import UserError, load_model, preset, save_model
from unmask.checkpoint.folder import stored_tensors
from unmask.model import Bert, Transformer

pytestmark = pytest.mark.backend


def numpy(x):
    return ops.convert_to_numpy(x)


def first(result):
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize(("family", "head"), hf_models.cases())
def test_transformers_opens_what_we_write(family, head, tmp_path):
    hf_models.make(family, head).save_pretrained(tmp_path / "theirs")
    ours = load_model(tmp_path / "theirs", head)
    save_model(ours, None, tmp_path / "ours")
    auto = {
        "Model": "AutoModel",
        "ForPreTraining": "AutoModelForPreTraining",
    }.get(hf_models.SUFFIXES[head], f"AutoModel{hf_models.SUFFIXES[head]}")
    theirs, told = getattr(transformers, auto).from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert type(theirs).__name__.endswith(hf_models.SUFFIXES[head])
    assert not told["unexpected_keys"]
    assert not {name for name in told["missing_keys"] if "pooler" not in name or head != "encoder"}
    ids, segments, attend = hf_models.texts(ours.config.pad_id, choices=2 if head == "choose" else None)
    segments = segments if ours.config.n_segments > 1 else np.zeros_like(segments)
    expected = hf_models.outputs(theirs.eval(), head, ids, segments, attend)[0].detach().numpy()
    got = numpy(first(ours(ids, segments, attend)))
    seen = attend if got.shape[:2] == attend.shape else np.ones(got.shape[:2], bool)
    np.testing.assert_allclose(got[seen], expected[seen], rtol=1e-5, atol=1e-5)
    if theirs.config.id2label and head == "classify":
        assert tuple(theirs.config.id2label.values()) == ours.config.classes


@pytest.mark.parametrize("positions", ["sinusoidal", "sinusoidal_halves"])
def test_transformers_opens_our_transformer(positions, tmp_path):
    """The paper's interleaved sinusoids too: their table goes into the file."""
    config = preset("transformer", "tiny", vocab_size=40, d_model=16, d_ff=24, max_positions=20, positions=positions)
    ours = Transformer(config, seed=0)
    save_model(ours, None, tmp_path)
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path).eval()
    source, target = np.array([[5, 6, 7, 2]]), np.array([[0, 8, 9]])
    expected = theirs(torch.tensor(source), decoder_input_ids=torch.tensor(target)).logits.detach().numpy()
    np.testing.assert_allclose(numpy(ours(source, target)), expected, rtol=1e-5, atol=1e-5)
    again = load_model(tmp_path)
    assert again.config == config
    np.testing.assert_array_equal(numpy(again(source, target)), numpy(ours(source, target)))


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_what_we_write_we_read_bit_by_bit(family, tmp_path):
    config = preset(family, "tiny", vocab_size=40, classes=("好", "坏", "中"), problem="single_label_classification")
    model = Bert(config, "classify", seed=4)
    save_model(model, None, tmp_path)
    again = load_model(tmp_path)
    assert again.config == config
    assert again.head_name == "classify"
    for mine, yours in zip(model.trainable_variables, again.trainable_variables, strict=True):
        np.testing.assert_array_equal(numpy(mine.value), numpy(yours.value), err_msg=mine.path)


def test_shards(tmp_path):
    model = Bert(preset("bert", "tiny", vocab_size=500), "mlm", seed=0)
    save_model(model, None, tmp_path, max_shard_bytes=400_000)
    assert len(list(tmp_path.glob("model-*-of-*.safetensors"))) > 2
    again = load_model(tmp_path)
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path).eval()
    ids = np.array([[5, 6, 7]])
    np.testing.assert_array_equal(numpy(model(ids)), numpy(again(ids)))
    np.testing.assert_allclose(numpy(model(ids)), theirs(torch.tensor(ids)).logits.detach().numpy(), atol=1e-5)
    save_model(model, None, tmp_path)  # one file again: the shards must not stay behind
    assert [path.name for path in tmp_path.glob("*.safetensors*")] == ["model.safetensors"]
    next(iter(tmp_path.glob("model.safetensors"))).unlink()
    save_model(model, None, tmp_path, max_shard_bytes=400_000)
    next(iter(tmp_path.glob("model-00001*"))).unlink()
    with pytest.raises(UserError, match="lacks 1 of its"):
        load_model(tmp_path)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions_are_loaded_as_float32(dtype, tmp_path):
    theirs = hf_models.make("roberta", "mlm")
    theirs.to(dtype).save_pretrained(tmp_path)
    ours = load_model(tmp_path)
    assert {str(v.dtype) for v in ours.trainable_variables} == {"float32"}
    ids, segments, attend = hf_models.texts(1)
    expected = hf_models.outputs(theirs.to(torch.float32), "mlm", ids, segments, attend)[0].detach().numpy()
    np.testing.assert_allclose(numpy(ours(ids, attend_BL=attend))[attend], expected[attend], atol=1e-5)


def test_tied_weights_are_stored_once(tmp_path):
    model = Bert(preset("roberta", "tiny", vocab_size=40), "mlm", seed=0)
    save_model(model, None, tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    assert "lm_head.decoder.weight" not in stored
    assert sum(tensor.shape == (40, 128) for tensor in stored.values()) == 1
    assert sum(t.size for t in stored.values()) == sum(int(np.prod(v.shape)) for v in model.trainable_variables)


def test_older_names_are_understood(tmp_path):
    """The first BERT files say gamma and beta, keep position_ids, and hold the tied copies."""
    theirs = hf_models.make("bert", "mlm+nsp")
    theirs.save_pretrained(tmp_path)
    old = {}
    for name, tensor in theirs.state_dict().items():
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        old[name] = tensor.clone()
    del old["cls.predictions.bias"]  # only the decoder's copy of it is there
    old["bert.embeddings.position_ids"] = torch.arange(24)[None]
    save_torch(old, tmp_path / "model.safetensors", metadata={"format": "pt"})
    ours = load_model(tmp_path)
    assert ours.report.new == []
    assert "unknown" not in ours.report.unused
    ids, segments, attend = hf_models.texts(0)
    expected = hf_models.outputs(theirs, "mlm+nsp", ids, segments, attend)[0].detach().numpy()
    np.testing.assert_allclose(numpy(ours(ids, segments, attend)[0])[attend], expected[attend], atol=1e-5)


def test_a_missing_head_is_made_and_said(tmp_path, caplog):
    hf_models.make("roberta", "mlm").save_pretrained(tmp_path)
    model = load_model(tmp_path, "classify", classes=["neg", "pos"], seed=1)
    assert model.report.new == [
        "classifier.dense.weight",
        "classifier.dense.bias",
        "classifier.out_proj.weight",
        "classifier.out_proj.bias",
    ]
    assert "masked-LM head" in model.report.unused
    assert "new and untrained, since it lacks them: classifier.dense.weight" in caplog.text
    assert tuple(model(np.array([[0, 5, 2]])).shape) == (1, 2)
    other = load_model(tmp_path, "classify", classes=["neg", "pos"], seed=2)
    assert not np.array_equal(numpy(model.head.dense.kernel), numpy(other.head.dense.kernel))
    np.testing.assert_array_equal(
        numpy(model.encoder.embeddings.tokens.embeddings), numpy(other.encoder.embeddings.tokens.embeddings)
    )


def test_new_classes_replace_the_old_head(tmp_path, caplog):
    hf_models.make("bert", "classify").save_pretrained(tmp_path)
    stored = ", ".join(load_model(tmp_path).config.classes)
    model = load_model(tmp_path, classes=["a", "b", "c", "d"])
    assert caplog.messages == [
        f"{tmp_path}: new and untrained, since it has them for the labels {stored} only: classifier.weight, "
        "classifier.bias; fine-tune before use."
    ]
    assert model.report.replaced == model.report.new
    assert model.report.new == ["classifier.weight", "classifier.bias"]  # the pooler is kept
    assert tuple(model(np.array([[5, 6]])).shape) == (1, 4)


def damaged(tmp_path, change):
    hf_models.make("bert", "mlm").save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    change(tensors)
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})


def test_missing_encoder_tensors_are_listed(tmp_path):
    damaged(tmp_path, lambda tensors: tensors.pop("bert.encoder.layer.1.output.dense.weight"))
    with pytest.raises(UserError, match=r"lacks 1 of the encoder's tensors: bert.encoder.layer.1.output.dense.weight"):
        load_model(tmp_path)


def test_wrong_shapes_are_listed(tmp_path):
    damaged(tmp_path, lambda t: t.update({"bert.embeddings.word_embeddings.weight": np.zeros((7, 16), np.float32)}))
    with pytest.raises(UserError, match=r"word_embeddings.weight is 7 × 16 where the configuration asks for 60 × 16"):
        load_model(tmp_path)


def test_unexpected_tensors_are_told(tmp_path, caplog):
    damaged(tmp_path, lambda tensors: tensors.update({"bert.adapter.weight": np.zeros(3, np.float32)}))
    model = load_model(tmp_path)
    assert model.report.unused["unknown"] == ["bert.adapter.weight"]
    assert "bert.adapter.weight" in caplog.text


def test_a_family_in_the_wrong_folder(tmp_path):
    hf_models.make("bert", "mlm").save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"model_type": "roberta", "pad_token_id": 1}))
    with pytest.raises(UserError, match=r"lacks .* tensors|do not belong together"):
        load_model(tmp_path)


@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff" * 100, "cut", "longer"])
def test_broken_safetensors(content, tmp_path):
    hf_models.make("bert", "mlm").save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    whole = file.read_bytes()
    file.write_bytes({"cut": whole[:-100], "longer": whole + b"xxx"}.get(content, content))
    with pytest.raises(UserError, match="truncated or no safetensors file"):
        load_model(tmp_path)


def test_a_failed_load_leaves_later_ones_whole(tmp_path):
    """Keras puts variables off that a failed load has made; they must not come back to haunt the next model."""
    damaged(tmp_path / "bad", lambda tensors: tensors.pop("bert.encoder.layer.1.output.dense.weight"))
    hf_models.make("bert", "mlm").save_pretrained(tmp_path / "good")
    with pytest.raises(UserError):
        load_model(tmp_path / "bad")
    ids = np.array([[5, 6]])
    np.testing.assert_array_equal(numpy(load_model(tmp_path / "good")(ids)), numpy(load_model(tmp_path / "good")(ids)))


def test_a_tensor_that_cannot_be_read_spoils_no_later_load(tmp_path, monkeypatch):
    """The failure comes when Keras has begun to fill the variables."""
    hf_models.make("bert", "mlm").save_pretrained(tmp_path)

    def fail(self, name):
        raise UserError("the disk went away")

    with monkeypatch.context() as patched:
        patched.setattr("unmask.checkpoint.tensors.TensorFiles.read", fail)
        with pytest.raises(UserError, match="the disk went away"):
            load_model(tmp_path)
    assert np.isfinite(numpy(load_model(tmp_path)(np.array([[5, 6]])))).all()


def test_integer_weights_are_refused(tmp_path):
    damaged(tmp_path, lambda t: t.update({"bert.embeddings.LayerNorm.bias": np.zeros(16, np.int32)}))
    with pytest.raises(UserError, match="is I32, not floating point"):
        load_model(tmp_path)


def test_another_tasks_output_layer_is_not_taken(tmp_path, caplog):
    hf_models.make("bert", "classify").save_pretrained(tmp_path)
    assert load_model(tmp_path, "tag").report.new == ["classifier.weight", "classifier.bias"]
    assert load_model(tmp_path, "choose").report.new == ["classifier.weight", "classifier.bias"]
    told = "new and untrained, since it has them for the head classify only: classifier.weight, classifier.bias;"
    assert [told in message for message in caplog.messages] == [True, True]


@pytest.mark.parametrize("shard", ["../out.safetensors", "/etc/passwd", 1])
def test_an_index_that_leads_out_of_the_folder(shard, tmp_path):
    hf_models.make("bert", "mlm").save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": shard}}))
    with pytest.raises(UserError, match="is damaged"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("head", "options", "message"),
    [
        ("nsp", {}, "no roberta model with next-sentence prediction"),
        ("translate", {}, "roberta has no head 'translate'; it has encoder"),
        ("classify", {"classes": ["a", "a"]}, "a list of different names"),
        ("classify", {"classes": "abc"}, "a list of different names"),
        ("classify", {"classes": []}, "a list of different names"),
        ("classify", {"classes": [1, 2]}, "a list of different names"),
    ],
)
def test_heads_and_classes_that_cannot_be(head, options, message, tmp_path):
    hf_models.make("roberta", "mlm").save_pretrained(tmp_path)
    with pytest.raises(UserError, match=message):
        load_model(tmp_path, head, **options)


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("bert", {"embedding_scale": True}),
        ("bert", {"positions_after_pad": True}),
        ("roberta", {"positions_after_pad": False}),
        ("bert", {"embedding_norm": False}),
        ("bert", {"positions": "sinusoidal"}),
        ("bert", {"activation_dropout": 0.3}),
        ("transformer", {"positions_after_pad": True}),
    ],
)
def test_what_a_folder_cannot_say_is_not_saved(family, changes, tmp_path):
    config = preset(family, "tiny", vocab_size=40, **changes)
    model = Transformer(config, seed=0) if family == "transformer" else Bert(config, "mlm", seed=0)
    with pytest.raises(UserError, match=f"cannot have .*{next(iter(changes))} = "):
        save_model(model, None, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_all_files_may_be_read_by_whom_a_new_file_may(tmp_path):
    save_model(Bert(preset("roberta", "tiny", vocab_size=40), "encoder", seed=0), None, tmp_path / "new")
    assert len({path.stat().st_mode for path in (tmp_path / "new").iterdir() if path.suffix != ".lock"}) == 1


def test_lora_is_saved_in_its_kernels(tmp_path):
    model = Bert(preset("roberta", "tiny", vocab_size=40), "encoder", seed=0)
    query = model.encoder.stack[0].attention.query
    query.enable_lora(2)
    for variable in query.variables:
        if "lora" in variable.path:
            variable.assign(np.random.default_rng(1).normal(size=variable.shape))
    save_model(model, None, tmp_path)
    ids_BL = np.array([[0, 5, 6, 7, 2]])
    expected = ops.convert_to_numpy(model(ids_BL))
    again = load_model(tmp_path)
    assert not any("lora" in variable.path for variable in again.variables)
    np.testing.assert_allclose(ops.convert_to_numpy(again(ids_BL)), expected, atol=1e-5)


def test_a_distilbert_of_ours_opens_in_transformers(tmp_path):
    config = preset("bert", "tiny", vocab_size=40, n_segments=0).replace(family="distilbert")
    save_model(Bert(config, "classify", seed=0), None, tmp_path)
    opened = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert type(opened).__name__ == "DistilBertForSequenceClassification"


@pytest.mark.parametrize(("said", "written"), [(None, 24), (16, 16), (10**30, 24)])
def test_transformers_cuts_where_the_model_ends(tmp_path, said, written):
    tokenizer = tiny_tokenizers.bert()
    tokenizer.settings["model_max_length"] = said
    config = preset("bert", "tiny", vocab_size=tokenizer.n_ids, max_positions=24)
    folder = save_model(Bert(config, "encoder", seed=0), tokenizer, tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    assert theirs.model_max_length == written
    assert len(theirs("the " * 99, truncation=True)["input_ids"]) == written


def test_saving_over_a_model_keeps_other_files_and_no_scratch(tmp_path):
    (tmp_path / "notes.md").write_text("mine")
    (tmp_path / "vocab.txt").write_text("of an older tokenizer? no tokenizer is saved, so it stays")
    (tmp_path / ".saving").mkdir()
    (tmp_path / ".saving" / "spoiled.json").write_text("left by a process that was killed")
    for seed in (0, 1):
        model = Bert(preset("bert", "tiny", vocab_size=40), "tag", seed=seed)
        save_model(model, None, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["config.json", "model.safetensors", "notes.md", "vocab.txt"]
    saved = load_file(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(saved["classifier.weight"], stored_tensors(model)["classifier.weight"])


@pytest.mark.parametrize(
    ("family", "head", "changes", "message"),
    [
        ("bert", "mlm", {"norm": "pre"}, "no pre-norm bert"),
        ("roberta", "nsp", {}, "no roberta model with next-sentence prediction"),
        ("transformer", None, {"norm": "pre"}, "post-norm with sinusoidal positions"),
    ],
)
def test_what_has_no_folder_is_refused_before_anything_is_written(family, head, changes, message, tmp_path):
    config = preset(family, "tiny", vocab_size=40, **changes)
    model = Transformer(config, seed=0) if head is None else Bert(config, head, seed=0)
    with pytest.raises(UserError, match=message):
        save_model(model, None, tmp_path / "new")
    assert not (tmp_path / "new").exists()


_SAVE_FOREVER = """
import sys
from unmask import backend, preset, save_model
backend.choose(sys.argv[2])
from unmask.model import Bert
models = [Bert(preset("bert", "tiny", vocab_size=4000), "mlm", seed=seed) for seed in (0, 1)]
save_model(models[0], None, sys.argv[1])
print("ready", flush=True)
while True:
    for model in models:
        save_model(model, None, sys.argv[1])
"""


def test_killed_at_any_moment_it_loads_whole_or_not_at_all(tmp_path):
    """SIGKILL while two models are saved in turn: what is there is one of them, or says that it is none."""
    backend = os.environ["KERAS_BACKEND"]
    config = preset("bert", "tiny", vocab_size=4000)
    whole = [stored_tensors(Bert(config, "mlm", seed=seed)) for seed in (0, 1)]
    for delay in (0.011, 0.027, 0.043, 0.061, 0.083):
        folder = tmp_path / str(delay)
        writer = subprocess.Popen(
            [sys.executable, "-c", _SAVE_FOREVER, str(folder), backend], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout.readline().strip() == "ready"
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        if not (folder / "config.json").exists():
            with pytest.raises(UserError, match=r"no config.json"):
                load_model(folder)
            continue
        found = stored_tensors(load_model(folder))
        assert any(all(np.array_equal(found[n], model[n]) for n in model) for model in whole)
        shutil.rmtree(folder)
