"""fairseq's RoBERTa: a model of `transformers`, written the way fairseq writes it, computes the same once imported."""

import gzip
import json
import os
import pickle
import random
import subprocess
import sys
from argparse import Namespace

import numpy as np
import pytest
import tokenizers
import torch
import transformers

import hf_models
from unmask import UserError, load_model, load_tokenizer
from unmask.checkpoint.fairseq import import_fairseq
from unmask.checkpoint.tensors import TensorFiles

LAYOUTS = ("old", "between", "new")
MIXED_TEXT = (
    "Hello world",
    " leading  and   inner spaces ",
    "It's we're I'll don't THEY'VE",
    "tabs\tand\nnewlines\r\n\n",
    "café naïve Ångström e\u0301",
    "中文分词，没有空格。日本語と한국어",
    "emoji 👩‍👩‍👧‍👦 🇩🇪 ✅",
    "numbers 3.14159 1,000,000 0x7f ½ Ⅷ",
    "a <mask> b<mask>c <s> </s> <unk> <pad> <|endoftext|> madeupword0001",
    "العربية עברית हिन्दी ไทย",
    "\u00a0\u2003\u2028\u200b\x85\x00\x07",
    "def f(x): return x**2  # code",
    "",
)


# --- a fairseq checkpoint, written from a model of transformers -------------------------------------


def fairseq_name(name, layout):
    """The name of a `transformers` tensor in fairseq's file."""
    side = "encoder" if layout == "new" else "decoder"
    for theirs, fairseqs in {
        "roberta_prelayernorm.": "roberta.",
        "roberta.embeddings.word_embeddings": "SIDE.sentence_encoder.embed_tokens",
        "roberta.embeddings.position_embeddings": "SIDE.sentence_encoder.embed_positions",
        "roberta.embeddings.LayerNorm": "SIDE.sentence_encoder."
        + ("layernorm_embedding" if layout == "new" else "emb_layer_norm"),
        "roberta.LayerNorm": "SIDE.sentence_encoder.layer_norm",
        "roberta.encoder.layer.": "SIDE.sentence_encoder.layers.",
        "attention.self.query": "self_attn.q_proj",
        "attention.self.key": "self_attn.k_proj",
        "attention.self.value": "self_attn.v_proj",
        "attention.output.dense": "self_attn.out_proj",
        "attention.output.LayerNorm": "self_attn_layer_norm",
        "attention.LayerNorm": "self_attn_layer_norm",
        "intermediate.dense": "fc1",
        "intermediate.LayerNorm": "final_layer_norm",
        "output.dense": "fc2",
        "output.LayerNorm": "final_layer_norm",
        "lm_head.decoder.weight": "lm_head.weight",
        "lm_head.": "SIDE.lm_head.",
        "classifier.": "classification_heads.mnli.",
    }.items():
        name = name.replace(theirs, fairseqs)
    return name.replace("SIDE", side)


def fairseq_state(model, layout):
    state = {
        fairseq_name(name, layout): tensor.clone()
        for name, tensor in model.state_dict().items()
        if not name.endswith(("lm_head.decoder.bias", "position_ids", "token_type_ids", "token_type_embeddings.weight"))
    }
    if layout == "old":
        for leaf in ("weight", "bias"):
            for name in [name for name in state if name.endswith(f"q_proj.{leaf}")]:
                parts = [state.pop(name.replace("q_proj", f"{part}_proj")) for part in "qkv"]
                state[name.replace(f"q_proj.{leaf}", f"in_proj_{leaf}")] = torch.cat(parts)
        state["decoder.version"] = torch.tensor([3.0])
    state["encoder.sentence_encoder.embed_positions._float_tensor"] = torch.zeros(1)
    return state


def fairseq_options(model, **changes):
    return {
        "arch": "roberta_base",
        "encoder_attention_heads": model.config.num_attention_heads,
        "encoder_layers": model.config.num_hidden_layers,
        "encoder_normalize_before": True,
        "activation_fn": "gelu",
        "pooler_activation_fn": "tanh",
        "pooler_dropout": 0.25,
        "dropout": 0.125,
        "attention_dropout": 0.0625,
        "max_positions": 512,
        **changes,
    }


def dictionary(n_tokens):
    """A dict.txt for embeddings of `n_tokens` rows: GPT-2's numbers in some other order, and a filler."""
    numbers = list(range(n_tokens - 6))
    random.Random(3).shuffle(numbers)
    return "".join(f"{number} {1000 - i % 999}\n" for i, number in enumerate(numbers)) + "madeupword0000 0\n"


def roberta(head="mlm", family="roberta", **changes):
    """fairseq's RoBERTa has no segments, so that of `transformers` must add nothing."""
    model = hf_models.make(family, head, **{"layer_norm_eps": 1e-5, "type_vocab_size": 1, **changes})
    with torch.no_grad():
        model.base_model.embeddings.token_type_embeddings.weight.zero_()
    return model


def write_checkpoint(folder, model, layout="new", *, state=None, options=None, style="args", legacy=False):
    folder.mkdir(exist_ok=True)
    options = fairseq_options(model, **(options or {}))
    content = {"model": fairseq_state(model, layout) | (state or {}), "extra_state": {"epoch": 3}}
    content |= {
        "args": {"args": Namespace(**options)},
        "cfg": {"args": None, "cfg": {"_name": None, "model": Namespace(_name="roberta", **options)}},
        "cfg-dict": {"cfg": {"model": {"_name": "roberta", **options}}},
    }[style]
    torch.save(content, folder / "model.pt", _use_new_zipfile_serialization=not legacy)
    (folder / "dict.txt").write_text(dictionary(model.config.vocab_size), encoding="utf-8")
    return folder


def same_outputs(model, folder, head, kind):
    opened, told = kind.from_pretrained(folder, output_loading_info=True)
    assert not told["missing_keys"]
    assert not told["unexpected_keys"]
    ids, segments, attend = hf_models.texts(1)
    wanted = hf_models.outputs(model, head, ids, segments, attend)[0].detach()
    got = hf_models.outputs(opened.eval(), head, ids, segments, attend)[0].detach()
    assert float((wanted - got).abs().max()) <= 1e-5
    return opened


# --- the weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("legacy", [False, True])
def test_every_layout_computes_what_the_original_does(layout, legacy, tmp_path):
    model = roberta()
    source = write_checkpoint(tmp_path / "src", model, layout, legacy=legacy)
    imported = import_fairseq(source, tmp_path / "dest")
    assert imported.head == "mlm"
    opened = same_outputs(model, tmp_path / "dest", "mlm", transformers.AutoModelForMaskedLM)
    assert not opened.roberta.embeddings.token_type_embeddings.weight.any()


@pytest.mark.backend
@pytest.mark.parametrize("layout", LAYOUTS)
def test_our_model_computes_it_too(layout, tmp_path):
    model = roberta()
    import_fairseq(write_checkpoint(tmp_path / "src", model, layout), tmp_path / "dest")
    ours = load_model(tmp_path / "dest")
    assert ours.report.new == []
    assert ours.report.unused == {}
    ids, segments, attend = hf_models.texts(1)
    wanted = hf_models.outputs(model, "mlm", ids, segments, attend)[0].detach().numpy()
    from keras import ops

    got = ops.convert_to_numpy(ours(ids, attend_BL=attend))
    np.testing.assert_allclose(got[attend], wanted[attend], atol=1e-5)


def test_a_pre_norm_encoder(tmp_path):
    model = roberta(family="roberta-prelayernorm")
    imported = import_fairseq(write_checkpoint(tmp_path / "src", model), tmp_path / "dest")
    assert imported.config.norm == "pre"
    same_outputs(model, tmp_path / "dest", "mlm", transformers.AutoModelForMaskedLM)


@pytest.mark.parametrize("style", ["args", "cfg", "cfg-dict"])
def test_options_come_from_args_or_cfg_and_sizes_from_the_tensors(style, tmp_path):
    source = write_checkpoint(tmp_path / "src", roberta(), style=style)
    import_fairseq(source, tmp_path / "dest")
    raw = json.loads((tmp_path / "dest" / "config.json").read_text(encoding="utf-8"))
    assert raw["architectures"] == ["RobertaForMaskedLM"]
    expected = {"num_attention_heads": 2, "num_hidden_layers": 2, "hidden_size": 16, "intermediate_size": 32}
    expected |= {"vocab_size": 60, "max_position_embeddings": 24, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
    expected |= {"hidden_dropout_prob": 0.125, "attention_probs_dropout_prob": 0.0625, "hidden_act": "gelu"}
    expected |= {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    assert {name: raw[name] for name in expected} == expected


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_becomes_float32(dtype, tmp_path):
    model = roberta().to(dtype).float()
    source = write_checkpoint(tmp_path / "src", model)
    content = torch.load(source / "model.pt", weights_only=False)
    content["model"] = {name: tensor.to(dtype) for name, tensor in content["model"].items()}
    torch.save(content, source / "model.pt")
    import_fairseq(source, tmp_path / "dest")
    assert TensorFiles(tmp_path / "dest").types() == ["F32"]
    same_outputs(model, tmp_path / "dest", "mlm", transformers.AutoModelForMaskedLM)


def test_the_file_itself_may_be_named(tmp_path):
    source = write_checkpoint(tmp_path / "src", roberta())
    (source / "model.pt").rename(source / "checkpoint_best.pt")
    with pytest.raises(UserError, match=r"holds no model\.pt; name the file itself, such as .*checkpoint_best\.pt"):
        import_fairseq(source, tmp_path / "dest")
    import_fairseq(source / "checkpoint_best.pt", tmp_path / "dest")
    assert (tmp_path / "dest" / "model.safetensors").is_file()


# --- heads -------------------------------------------------------------------------------------------


def masked_lm_parts(model, layout="new"):
    """The tensors of a masked-LM head, which a fine-tuned checkpoint still has."""
    tokens = model.base_model.embeddings.word_embeddings.weight.detach().clone()
    parts = fairseq_state(roberta(), layout)
    return {name: tensor for name, tensor in parts.items() if "lm_head" in name} | {"encoder.lm_head.weight": tokens}


@pytest.mark.parametrize("n_classes", [1, 3])
def test_a_classification_head(n_classes, tmp_path):
    model = roberta("classify", num_labels=n_classes)
    source = write_checkpoint(tmp_path / "src", model, state=masked_lm_parts(model))
    imported = import_fairseq(source, tmp_path / "dest", head="mnli")
    assert imported.head == "classify"
    assert imported.config.n_classes == n_classes
    assert imported.config.classifier_dropout == 0.25
    assert imported.config.problem == ("regression" if n_classes == 1 else "single_label_classification")
    same_outputs(model, tmp_path / "dest", "classify", transformers.AutoModelForSequenceClassification)


def test_the_masked_lm_head_is_the_default_and_the_others_are_named(tmp_path):
    model = roberta("classify")
    source = write_checkpoint(tmp_path / "src", model, state=masked_lm_parts(model))
    imported = import_fairseq(source, tmp_path / "dest")
    assert imported.head == "mlm"
    assert any("The checkpoint also classifies (mnli); --head NAME" in note for note in imported.notes)


def test_without_a_masked_lm_head_the_only_head_is_taken(tmp_path):
    model = roberta("classify")
    imported = import_fairseq(write_checkpoint(tmp_path / "src", model), tmp_path / "dest")
    assert imported.head == "classify"
    same_outputs(model, tmp_path / "dest", "classify", transformers.AutoModelForSequenceClassification)


def test_without_any_head_the_encoder_is_taken(tmp_path):
    model = roberta("encoder")
    state = {f"encoder.{name}": tensor for name, tensor in bare_state(model).items()}
    source = write_checkpoint(tmp_path / "src", model)
    rewrite(source, lambda content: content.update(model=state))
    assert import_fairseq(source, tmp_path / "dest").head == "encoder"
    opened = transformers.AutoModel.from_pretrained(tmp_path / "dest", add_pooling_layer=False).eval()
    ids, segments, attend = hf_models.texts(1)
    wanted, got = (hf_models.outputs(m, "encoder", ids, segments, attend)[0].detach() for m in (model, opened))
    assert float((wanted - got).abs().max()) <= 1e-5


def bare_state(model):
    whole = roberta()
    whole.roberta.load_state_dict(model.state_dict(), strict=True)
    state = fairseq_state(whole, "new")
    return {name.removeprefix("encoder."): tensor for name, tensor in state.items() if "lm_head" not in name}


@pytest.mark.parametrize(
    ("heads", "wanted", "sentence"),
    [
        (("mnli",), "qnli", "no classification head 'qnli'; it has mnli"),
        ((), "mnli", "it has none; leave out --head"),
        (("mnli", "qnli"), None, "no masked-LM head but mnli, qnli; choose one with --head"),
    ],
)
def test_a_head_that_cannot_be_chosen(heads, wanted, sentence, tmp_path):
    model = roberta("classify")
    source = write_checkpoint(tmp_path / "src", model)

    def change(content):
        state = content["model"]
        old = {name: state.pop(name) for name in list(state) if name.startswith("classification_heads.")}
        for head in heads:
            state |= {name.replace("mnli", head): tensor for name, tensor in old.items()}

    rewrite(source, change)
    with pytest.raises(UserError, match=sentence):
        import_fairseq(source, tmp_path / "dest", head=wanted)


# --- the tokenizer -----------------------------------------------------------------------------------


def tiny_bpe(folder):
    """GPT-2's files in small: all bytes, two merges, and the end of a text. Returns how many tokens RoBERTa has."""
    folder.mkdir(exist_ok=True)
    tokens = [*sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()), "th", "the", "<|endoftext|>"]
    ids = {token: i for i, token in enumerate(tokens)}
    (folder / "encoder.json").write_text(json.dumps(ids), encoding="utf-8")
    (folder / "vocab.bpe").write_text("#version: 0.2\nt h\nth e\n", encoding="utf-8")
    return len(tokens) + 6


@pytest.mark.parametrize("beside", [True, False])
def test_the_tokenizer_takes_fairseqs_ids(beside, tmp_path):
    bpe = tmp_path / ("src" if beside else "bpe")
    model = roberta(vocab_size=tiny_bpe(bpe))
    source = write_checkpoint(tmp_path / "src", model)
    imported = import_fairseq(source, tmp_path / "dest", bpe=None if beside else bpe)
    assert imported.notes == ()
    gpt2 = json.loads((bpe / "encoder.json").read_text(encoding="utf-8"))
    order = [line.split()[0] for line in (source / "dict.txt").read_text(encoding="utf-8").splitlines()]
    wanted = [0, *(order.index(str(gpt2[token])) + 4 for token in ("the", "Ġ", "th")), model.config.vocab_size - 1, 2]
    ours = load_tokenizer(tmp_path / "dest")
    assert ours.encode("the th <mask>").ids == wanted
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "dest")
    assert theirs.model_max_length == 22
    for text in MIXED_TEXT:
        assert theirs(text)["input_ids"] == ours.encode(text).ids
        assert theirs(text, "the")["input_ids"] == ours.encode(text, "the").ids


def test_without_gpt2s_files_there_is_no_tokenizer_and_that_is_said(tmp_path):
    imported = import_fairseq(write_checkpoint(tmp_path / "src", roberta()), tmp_path / "dest")
    assert [note for note in imported.notes if "No tokenizer is imported" in note and "--bpe" in note]
    assert sorted(path.name for path in (tmp_path / "dest").iterdir()) == ["config.json", "model.safetensors"]


def test_xlm_r_is_imported_without_its_tokenizer(tmp_path):
    model = roberta()
    source = write_checkpoint(tmp_path / "src", model)
    pieces = "".join(f"▁piece{i} 1\n" for i in range(54)) + "\u2028x 1 #fairseq:overwrite\n"
    (source / "dict.txt").write_text(pieces, encoding="utf-8")
    (source / "sentencepiece.bpe.model").write_bytes(b"\n")
    imported = import_fairseq(source, tmp_path / "dest")
    assert imported.config.family == "roberta"
    assert imported.notes == (
        "The tokenizer is not imported: only GPT-2's BPE is, and sentencepiece.bpe.model is XLM-R's.",
    )
    same_outputs(model, tmp_path / "dest", "mlm", transformers.AutoModelForMaskedLM)


@pytest.fixture(scope="module")
def real_bpe(shared):
    folder = shared / "models" / "roberta-bpe"
    if not folder.is_dir():
        pytest.skip("UNMASK_DATA has no models/roberta-bpe")
    return folder


@pytest.fixture(scope="module")
def real(real_bpe, tmp_path_factory):
    """(the folder of a tiny model imported with RoBERTa's real vocabulary, RoBERTa's published tokenizer.json)."""
    folder = tmp_path_factory.mktemp("real")
    model = roberta(vocab_size=50265, hidden_size=4, num_attention_heads=2, intermediate_size=8, num_hidden_layers=1)
    source = write_checkpoint(folder / "src", model)
    (source / "dict.txt").write_bytes((real_bpe / "dict.txt").read_bytes())
    assert import_fairseq(source, folder / "dest", bpe=real_bpe).notes == ()
    with gzip.open(real_bpe / "roberta-base.tokenizer.json.gz", "rt", encoding="utf-8") as file:
        return folder / "dest", file.read()


def test_the_real_tokenizer_is_the_published_one(real):
    folder, published = real
    ours = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    theirs = json.loads(published)
    assert ours["model"]["vocab"] == theirs["model"]["vocab"]
    pairs = [merge.split(" ") if isinstance(merge, str) else list(merge) for merge in theirs["model"]["merges"]]
    assert [list(merge) for merge in ours["model"]["merges"]] == pairs
    assert ours["added_tokens"] == theirs["added_tokens"]
    assert ours["post_processor"] == theirs["post_processor"]
    assert ours["normalizer"] is theirs["normalizer"] is None
    for part in ("pre_tokenizer", "decoder"):  # a newer library writes one more entry, use_regex, for the same thing
        assert ours[part] == {**theirs[part], "use_regex": True}


def test_the_real_tokenizer_gives_the_published_ids(real):
    folder, published = real
    ours, theirs = load_tokenizer(folder), tokenizers.Tokenizer.from_str(published)
    texts = [*MIXED_TEXT, *_random_texts(3000)]
    pairs = list(zip(texts, reversed(texts), strict=True))
    for got, wanted in zip(ours.encode_many(texts), theirs.encode_batch(texts), strict=True):
        assert (got.ids, got.offsets) == (wanted.ids, wanted.offsets)
    for got, wanted in zip(ours.encode_many(*zip(*pairs, strict=True)), theirs.encode_batch(pairs), strict=True):
        assert got.ids == wanted.ids
    opened = transformers.AutoTokenizer.from_pretrained(folder)
    assert opened(texts[:300])["input_ids"] == [encoded.ids for encoded in theirs.encode_batch(texts[:300])]


def _random_texts(count):
    """Words, spaces, special tokens and any characters at all, mixed."""
    chance = random.Random(7)
    words = " ".join(MIXED_TEXT).split(" ")
    characters = [*range(0xD800), *range(0xE000, 0x20000, 7)]
    for _ in range(count):
        parts = [chance.choice(words) for _ in range(chance.randrange(8))]
        parts += [chr(chance.choice(characters)) for _ in range(chance.randrange(6))]
        chance.shuffle(parts)
        yield chance.choice(["", " ", "  ", "\n"]).join(parts)


# --- mistakes ----------------------------------------------------------------------------------------


def rewrite(source, change):
    content = torch.load(source / "model.pt", weights_only=False)
    change(content)
    torch.save(content, source / "model.pt")


def _without_options(content):
    del content["args"]


def _without_heads(content):
    del content["args"].encoder_attention_heads


def _without_tokens(content):
    del content["model"]["encoder.sentence_encoder.embed_tokens.weight"]


def _untied(content):
    content["model"]["encoder.lm_head.weight"] += 1


def _unknown(content):
    content["model"]["encoder.sentence_encoder.layers.0.adapter.weight"] = torch.zeros(2)


def _one_lost(content):
    del content["model"]["encoder.sentence_encoder.layers.1.fc2.bias"]


def _misshapen(content):
    content["model"]["encoder.sentence_encoder.layers.1.fc2.bias"] = torch.zeros(3)


def _skip_a_layer(content):
    state = content["model"]
    for name in [name for name in state if ".layers.1." in name]:
        state[name.replace(".layers.1.", ".layers.123456789.")] = state.pop(name)


def _number(content):
    content["model"]["encoder.sentence_encoder.layers.1.fc2.bias"] = 3


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda content: content.pop("model"), "has no 'model' in it"),
        (_without_options, "neither 'args' nor 'cfg'"),
        (_without_heads, "does not say encoder_attention_heads"),
        (
            lambda content: vars(content["args"]).update(encoder_attention_heads=3),
            "3 heads do not divide a width of 16",
        ),
        (lambda content: vars(content["args"]).update(activation_fn="tanh"), "activation_fn 'tanh'; unmask has gelu"),
        (lambda content: vars(content["args"]).update(activation_fn="relu"), "has gelu in its masked-LM head"),
        (_without_tokens, r"no matrix sentence_encoder\.embed_tokens\.weight"),
        (_untied, r"lm_head\.weight differs from the token embeddings"),
        (_unknown, r"does not have: encoder\.sentence_encoder\.layers\.0\.adapter\.weight"),
        (_one_lost, r"lacks 1 of the model's tensors: roberta\.encoder\.layer\.1\.output\.dense\.bias"),
        (_misshapen, r"roberta\.encoder\.layer\.1\.output\.dense\.bias is 3 where the configuration asks for 16"),
        (lambda content: content["model"].update({7: torch.zeros(2)}), "a tensor named 7, where a text is needed"),
        (_skip_a_layer, r"lacks 16 of the model's tensors: roberta\.encoder\.layer\.1"),
        (_number, "is a int, where a dense tensor is needed"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused_and_nothing_is_left(change, sentence, tmp_path):
    source = write_checkpoint(tmp_path / "src", roberta())
    rewrite(source, change)
    with pytest.raises(UserError, match=sentence):
        import_fairseq(source, tmp_path / "dest")
    assert not (tmp_path / "dest").exists()


@pytest.mark.parametrize("legacy", [False, True])
def test_a_truncated_file_is_one_sentence(legacy, tmp_path):
    source = write_checkpoint(tmp_path / "src", roberta(), legacy=legacy)
    whole = (source / "model.pt").read_bytes()
    for length in (*range(0, 3000, 111), *range(3000, len(whole), 2999)):
        (source / "model.pt").write_bytes(whole[:length])
        with pytest.raises(UserError, match=r"is truncated, damaged or no PyTorch file|if the file is whole"):
            import_fairseq(source, tmp_path / "dest")
    assert not (tmp_path / "dest").exists()


def test_a_damaged_file_never_escapes_as_another_error(tmp_path):
    source = write_checkpoint(tmp_path / "src", roberta(), legacy=True)
    whole = (source / "model.pt").read_bytes()
    chance = random.Random(5)
    for _ in range(200):
        damaged = bytearray(whole)
        for _ in range(3):
            damaged[chance.randrange(3000)] = chance.randrange(256)
        (source / "model.pt").write_bytes(bytes(damaged))
        try:
            import_fairseq(source, tmp_path / "dest")
        except UserError:
            assert not (tmp_path / "dest").exists()
        else:  # only a number or a name that does not matter was hit
            for path in (tmp_path / "dest").iterdir():
                path.unlink()
            (tmp_path / "dest").rmdir()


class Malicious:
    """Unpickled by Python's own unpickler, it would make a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("how", ["zip", "legacy", "plain"])
def test_python_objects_are_refused_and_never_run(how, tmp_path):
    source, trap = write_checkpoint(tmp_path / "src", roberta()), tmp_path / "trap"
    content = {"model": {"a": torch.zeros(2)}, "args": Malicious(trap)}
    if how == "plain":
        (source / "model.pt").write_bytes(pickle.dumps({"model": {}, "args": Malicious(trap)}, protocol=2))
    else:
        torch.save(content, source / "model.pt", _use_new_zipfile_serialization=how == "zip")
    with pytest.raises(UserError, match=r"asks for the Python object \w+\.mkdir, which unmask will not run"):
        import_fairseq(source, tmp_path / "dest")
    assert not trap.exists()
    assert not (tmp_path / "dest").exists()
    torch.load(source / "model.pt", weights_only=False) if how != "plain" else pickle.loads(
        (source / "model.pt").read_bytes()
    )
    assert trap.exists(), "the trap must be one that works, or this test shows nothing"


def test_the_vocabulary_must_have_as_many_tokens_as_the_embeddings_rows(tmp_path):
    source = write_checkpoint(tmp_path / "src", roberta())
    with (source / "dict.txt").open("a", encoding="utf-8") as file:
        file.write("99 1\n")
    with pytest.raises(UserError, match=r"makes 61 tokens .* but model\.pt has embeddings for 60"):
        import_fairseq(source, tmp_path / "dest")


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda folder: (folder / "dict.txt").unlink(), r"There is no .*dict\.txt, which tells the order"),
        (lambda folder: (folder / "dict.txt").write_text("262\n"), "Line 1 of .* it must be a token and a count"),
        (lambda folder: (folder / "dict.txt").write_bytes(b"\xff 1\n"), "is not UTF-8 text"),
        (lambda folder: (folder / "dict.txt").write_text("777 1\n"), "'777', which is no number of a token"),
        (lambda folder: (folder / "dict.txt").write_text("7 1\n"), r"lacks 257 tokens of .*encoder\.json, such as"),
        (lambda folder: (folder / "dict.txt").write_text("7 1\n7 1\n"), "gives two ids to '\\('"),
        (
            lambda folder: (folder / "dict.txt").write_text("258 1\n<|endoftext|> 1\n"),
            "gives two ids to '<.endoftext.>'",
        ),
        (lambda folder: (folder / "vocab.bpe").unlink(), r"has no vocab\.bpe; GPT-2's BPE needs both"),
        (lambda folder: (folder / "vocab.bpe").write_text("q q\n"), "vocab.bpe merges q and q"),
        (lambda folder: (folder / "vocab.bpe").write_text("q q q\n"), "it must be two tokens"),
        (lambda folder: (folder / "encoder.json").write_text("{"), "is not valid JSON"),
        (lambda folder: (folder / "encoder.json").write_text("[]"), "must hold a JSON object, but holds a list"),
    ],
)
def test_vocabulary_files_that_are_missing_or_wrong(spoil, sentence, tmp_path):
    source = write_checkpoint(tmp_path / "src", roberta(vocab_size=tiny_bpe(tmp_path / "src")))
    spoil(source)
    with pytest.raises(UserError, match=sentence):
        import_fairseq(source, tmp_path / "dest")
    assert not (tmp_path / "dest").exists()


def test_a_bpe_folder_that_was_named_must_hold_both_files(tmp_path):
    source = write_checkpoint(tmp_path / "src", roberta())
    with pytest.raises(UserError, match=r"has no encoder\.json and no vocab\.bpe"):
        import_fairseq(source, tmp_path / "dest", bpe=tmp_path)


def test_a_source_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match=r"There is no .*nowhere; name a folder with model\.pt"):
        import_fairseq(tmp_path / "nowhere", tmp_path / "dest")


def test_the_destination_must_be_new_or_empty(tmp_path):
    source = write_checkpoint(tmp_path / "src", roberta())
    with pytest.raises(UserError, match="src is not empty; an import needs a new or an empty folder"):
        import_fairseq(source, source)
    with pytest.raises(UserError, match="is a file"):
        import_fairseq(source, source / "dict.txt")
    (tmp_path / "empty").mkdir()
    import_fairseq(source, tmp_path / "empty")
    assert (tmp_path / "empty" / "config.json").is_file()


def test_nothing_is_left_if_writing_fails(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("unmask.checkpoint.imported.write_tensors", full)
    source = write_checkpoint(tmp_path / "src", roberta())
    with pytest.raises(OSError, match="No space left"):
        import_fairseq(source, tmp_path / "dest")
    assert not (tmp_path / "dest").exists()


def test_no_keras_is_needed(tmp_path):
    source = write_checkpoint(tmp_path / "src", roberta())
    program = (
        "import sys; from pathlib import Path; from unmask.checkpoint.fairseq import import_fairseq; "
        f"import_fairseq(Path({str(source)!r}), Path({str(tmp_path / 'dest')!r})); sys.exit('keras' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
