"""pytorch_model.bin: a model of `transformers`, pickled whole or in shards, computes the same once imported."""

import json
import os

import numpy as np
import pytest
import torch
import transformers
from safetensors import safe_open

import hf_models
from unmask import UserError, load_model
from unmask.checkpoint.torch_bin import import_torch, stored_once

CASES = [case for case in hf_models.cases() if case[0] != "camembert"]
TIED = ("decoder.weight", "decoder.bias", "vocab_projector.weight", "embed_tokens.weight")


def old_state(model):
    """What a file of some years ago holds: constants, ties, and in the first of all TensorFlow's words."""
    state = model.state_dict()
    embeddings = next(name for name in state if name.endswith(("word_embeddings.weight", "shared.weight")))
    prefix = embeddings.removesuffix("word_embeddings.weight").removesuffix("shared.weight")
    return state | {f"{prefix}position_ids": torch.arange(24)[None]}


def first_words(state):
    """LayerNorm's parameters as the first files call them."""
    words = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    for new, old in words.items():
        state = {name.replace(new, old): tensor for name, tensor in state.items()}
    return state


def write_folder(folder, model, state=None, shards=1):
    folder.mkdir(exist_ok=True)
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(folder)
    state = old_state(model) if state is None else state
    if shards == 1:
        torch.save(state, folder / "pytorch_model.bin")
        return folder
    names, where = list(state), {}
    for number in range(shards):
        file = f"pytorch_model-{number + 1:05d}-of-{shards:05d}.bin"
        torch.save({name: state[name].clone() for name in names[number::shards]}, folder / file)
        where |= dict.fromkeys(names[number::shards], file)
    index = {"metadata": {"total_size": 1}, "weight_map": where}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index), encoding="utf-8")
    return folder


def stored(folder):
    with safe_open(folder / "model.safetensors", "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def same_outputs(model, opened, head):
    choices = 2 if head == "choose" else None
    ids, segments, attend = hf_models.texts(model.config.pad_token_id, choices=choices)
    segments = segments if getattr(model.config, "type_vocab_size", 0) > 1 else np.zeros_like(segments)
    wanted = hf_models.outputs(model, head, ids, segments, attend)
    got = hf_models.outputs(opened.eval(), head, ids, segments, attend)
    for one, other in zip(wanted, got, strict=True):
        assert float((one - other).detach().abs().max()) <= 1e-5


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize(("family", "head"), CASES)
def test_what_is_imported_computes_what_the_original_does(family, head, shards, tmp_path):
    model = hf_models.make(family, head)
    source = write_folder(tmp_path / "src", model, shards=shards)
    imported = import_torch(source, tmp_path / "dest")
    assert imported.head == head
    tensors = stored(tmp_path / "dest")
    assert not [name for name in tensors if name.endswith(("position_ids", *TIED))]
    assert {n for n in old_state(model) if not n.endswith(("position_ids", "token_type_ids", *TIED))} == tensors.keys()
    assert all(torch.equal(tensor, model.state_dict()[name]) for name, tensor in tensors.items())
    opened, told = type(model).from_pretrained(tmp_path / "dest", output_loading_info=True, **_pooling(family, head))
    assert not told["missing_keys"]
    assert not told["unexpected_keys"]
    same_outputs(model, opened, head)


def _pooling(family, head):
    return {"add_pooling_layer": head == "pooler"} if head in ("encoder", "pooler") and family != "distilbert" else {}


def test_a_transformer_of_marian(tmp_path):
    model = hf_models.make_marian().eval()
    source = write_folder(tmp_path / "src", model, model.state_dict())
    assert import_torch(source, tmp_path / "dest").head == "translate"
    assert not [name for name in stored(tmp_path / "dest") if name.endswith(("embed_tokens.weight", "lm_head.weight"))]
    opened = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "dest").eval()
    ids = torch.tensor(hf_models.texts(59)[0])
    with torch.no_grad():
        wanted, got = (m(ids, decoder_input_ids=ids).logits for m in (model, opened))
    assert float((wanted - got).abs().max()) <= 1e-5


@pytest.mark.backend
@pytest.mark.parametrize("shards", [1, 2])
def test_our_model_opens_it_too(shards, tmp_path):
    model = hf_models.make("bert", "mlm+nsp")
    import_torch(write_folder(tmp_path / "src", model, shards=shards), tmp_path / "dest")
    ours = load_model(tmp_path / "dest")
    assert ours.report.new == []
    assert ours.report.unused == {}


def test_the_words_of_the_first_files_become_pytorchs(tmp_path):
    model = hf_models.make("bert", "mlm+nsp")
    source = write_folder(tmp_path / "src", model, first_words(old_state(model)))
    import_torch(source, tmp_path / "dest")
    assert not [name for name in stored(tmp_path / "dest") if name.endswith((".gamma", ".beta"))]
    same_outputs(model, transformers.AutoModelForPreTraining.from_pretrained(tmp_path / "dest"), "mlm+nsp")


def test_a_parameter_under_both_words_is_refused(tmp_path):
    model = hf_models.make("bert", "mlm+nsp")
    source = write_folder(tmp_path / "src", model, first_words(old_state(model)) | old_state(model))
    with pytest.raises(UserError, match="under an old and a new name"):
        import_torch(source, tmp_path / "dest")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_number_formats_are_kept(dtype, tmp_path):
    model = hf_models.make("roberta", "mlm").to(dtype)
    import_torch(write_folder(tmp_path / "src", model), tmp_path / "dest")
    tensors = stored(tmp_path / "dest")
    assert {tensor.dtype for tensor in tensors.values()} == {dtype}
    assert all(torch.equal(tensor, model.state_dict()[name]) for name, tensor in tensors.items())


def test_tied_tensors_are_stored_once_and_that_is_said(tmp_path):
    model = hf_models.make("roberta", "mlm")
    imported = import_torch(write_folder(tmp_path / "src", model), tmp_path / "dest")
    told = "lm_head.decoder.bias = lm_head.bias, lm_head.decoder.weight = roberta.embeddings.word_embeddings.weight"
    assert imported.notes == (f"Stored once, since they are tied: {told}.",)


def test_tensors_that_share_their_memory_are_stored_once_whatever_their_names(tmp_path):
    table = np.arange(12.0).reshape(3, 4)
    kept, notes = stored_once({"b": table, "a": table, "transposed": table.T, "row": table[0]}, tmp_path)
    assert list(kept) == ["a", "row", "transposed"]
    assert notes == ["Stored once, since they are tied: b = a."]


def test_a_copy_whose_original_is_missing_is_kept(tmp_path):
    bias = np.arange(3.0)
    kept, notes = stored_once({"lm_head.decoder.bias": bias}, tmp_path)
    assert list(kept) == ["lm_head.decoder.bias"]
    assert notes == []


def test_output_weights_that_are_not_tied_are_refused(tmp_path):
    model = hf_models.make("roberta", "mlm")
    state = old_state(model)
    state["lm_head.decoder.weight"] = state["lm_head.decoder.weight"] + 1
    with pytest.raises(UserError, match=r"lm_head\.decoder\.weight differs from roberta\.embeddings\.word_embeddings"):
        import_torch(write_folder(tmp_path / "src", model, state), tmp_path / "dest")
    assert not (tmp_path / "dest").exists()


def test_the_other_files_are_copied_but_no_pickle_and_no_other_weights(tmp_path):
    source = write_folder(tmp_path / "src", hf_models.make("bert", "mlm"))
    copied = {"tokenizer.json", "vocab.txt", "README.md", "sentencepiece.bpe.model"}
    for name in (*copied, "training_args.bin", "optimizer.pt", "tf_model.h5", "flax_model.msgpack", ".hidden"):
        (source / name).write_text(name, encoding="utf-8")
    (source / "1_Pooling").mkdir()
    imported = import_torch(source, tmp_path / "dest")
    assert {path.name for path in (tmp_path / "dest").iterdir()} == copied | {"config.json", "model.safetensors"}
    assert all((tmp_path / "dest" / name).read_text(encoding="utf-8") == name for name in copied)
    assert any("Not copied: the folders 1_Pooling" in note for note in imported.notes)


def test_a_configuration_without_model_type_gets_one(tmp_path):
    model = hf_models.make("bert", "mlm")
    source = write_folder(tmp_path / "src", model)
    raw = json.loads((source / "config.json").read_text(encoding="utf-8"))
    del raw["model_type"]
    (source / "config.json").write_text(json.dumps(raw | {"own_entry": 7}), encoding="utf-8")
    import_torch(source, tmp_path / "dest")
    written = json.loads((tmp_path / "dest" / "config.json").read_text(encoding="utf-8"))
    assert written == raw | {"own_entry": 7, "model_type": "bert"}
    same_outputs(model, transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "dest"), "mlm")


# --- mistakes ----------------------------------------------------------------------------------------


def _set(folder, **changes):
    raw = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(raw | changes), encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda folder: (folder / "config.json").unlink(), r"has no config\.json, so it is no model folder"),
        (lambda folder: (folder / "config.json").write_text("{"), "is not valid JSON"),
        (lambda folder: _set(folder, model_type="gpt2"), "model_type 'gpt2'; unmask reads bert"),
        (lambda folder: _set(folder, num_hidden_layers=3), "lacks 16 of the encoder's tensors"),
        (
            lambda folder: _set(folder, vocab_size=61),
            r"word_embeddings\.weight is 60 × 16 where the configuration asks for 61 × 16",
        ),
        (
            lambda folder: (folder / "pytorch_model.bin").unlink(),
            r"has no pytorch_model\.bin and no pytorch_model\.bin\.",
        ),
        (lambda folder: (folder / "model.safetensors").touch(), "holds safetensors already"),
        (lambda folder: torch.save([1], folder / "pytorch_model.bin"), "holds a list, where a dictionary"),
        (lambda folder: torch.save({"a": 1}, folder / "pytorch_model.bin"), "'a' is a int, where a dense tensor"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused_and_nothing_is_left(spoil, sentence, tmp_path):
    source = write_folder(tmp_path / "src", hf_models.make("bert", "mlm"))
    spoil(source)
    with pytest.raises(UserError, match=sentence):
        import_torch(source, tmp_path / "dest")
    assert not (tmp_path / "dest").exists()


def _lose_a_tensor(folder):
    file = folder / "pytorch_model-00002-of-00003.bin"
    state = torch.load(file)
    state.popitem()
    torch.save(state, file)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda f: (f / "pytorch_model-00002-of-00003.bin").unlink(), "lacks 1 of its 3 shards: pytorch_model-00002"),
        (lambda f: (f / "pytorch_model.bin.index.json").write_text("{}"), "weight_map must map"),
        (
            lambda f: (f / "pytorch_model.bin.index.json").write_text('{"weight_map": {"a": "../x.bin"}}'),
            "lacks 1 of its 1",
        ),
        (_lose_a_tensor, "lacks 1 tensors that pytorch_model.bin.index.json lists"),
    ],
)
def test_shards_that_are_missing_or_wrong(spoil, sentence, tmp_path):
    source = write_folder(tmp_path / "src", hf_models.make("bert", "mlm"), shards=3)
    torch.save({}, tmp_path / "x.bin")
    spoil(source)
    with pytest.raises(UserError, match=sentence):
        import_torch(source, tmp_path / "dest")
    assert not (tmp_path / "dest").exists()


def test_a_truncated_file_is_one_sentence(tmp_path):
    source = write_folder(tmp_path / "src", hf_models.make("bert", "mlm"))
    whole = (source / "pytorch_model.bin").read_bytes()
    for length in (0, 5, len(whole) // 2, len(whole) - 1):
        (source / "pytorch_model.bin").write_bytes(whole[:length])
        with pytest.raises(UserError, match="is truncated, damaged or no PyTorch file"):
            import_torch(source, tmp_path / "dest")
    assert not (tmp_path / "dest").exists()


class Malicious:
    """Unpickled by Python's own unpickler, it would make a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_python_objects_are_refused_and_never_run(tmp_path):
    source = write_folder(tmp_path / "src", hf_models.make("bert", "mlm"))
    torch.save({"a": torch.zeros(1), "b": Malicious(tmp_path / "trap")}, source / "pytorch_model.bin")
    with pytest.raises(UserError, match=r"asks for the Python object \w+\.mkdir, which unmask will not run"):
        import_torch(source, tmp_path / "dest")
    assert not (tmp_path / "trap").exists()
    assert not (tmp_path / "dest").exists()


def test_a_source_that_is_no_folder_and_a_destination_that_is_taken(tmp_path):
    with pytest.raises(UserError, match="is no folder"):
        import_torch(tmp_path / "nowhere", tmp_path / "dest")
    source = write_folder(tmp_path / "src", hf_models.make("bert", "mlm"))
    with pytest.raises(UserError, match="is not empty"):
        import_torch(source, source)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda t: t.to(torch.int32), "is int32, not floating point"),
        (lambda t: t.to(torch.complex64), "is complex64, not floating point"),
        (lambda t: t.to(torch.float8_e4m3fn), "is a tensor of torch.float8_e4m3fn, which unmask does not read"),
    ],
)
def test_weights_that_could_not_be_loaded_are_not_imported(spoil, sentence, tmp_path):
    model = hf_models.make("bert", "mlm")
    model.config.save_pretrained(tmp_path / "src")
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    name = "bert.embeddings.LayerNorm.bias"
    torch.save({**state, name: spoil(state[name])}, tmp_path / "src" / "pytorch_model.bin")
    with pytest.raises(UserError, match=sentence):
        import_torch(tmp_path / "src", tmp_path / "new")
    assert not (tmp_path / "new").exists()
