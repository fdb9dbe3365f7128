"""Google's BERT: a model of `transformers`, written by TensorFlow under Google's names, computes the same imported."""

import json
import re

import numpy as np
import pytest
import tensorflow as tf
import tokenizers
import torch
import transformers

import hf_models
from unmask import UserError, load_model, load_tokenizer
from unmask.checkpoint.google_bert import import_google_bert

SPECIALS = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "cat", "cafe", "##s", "##fe", "ca", "中", "文", ",", ".", "!", "\u2028"]
TEXTS = ("The cats, Café!", "中文 the cat.", "cafés", "THE [MASK] cat", "no such wörd", "")


# --- a checkpoint of Google's, written from a model of transformers ---------------------------------


def tensorflow_name(name):
    """The name of a `transformers` tensor in Google's file."""
    for theirs, googles in {
        r"_embeddings\.weight": "_embeddings",
        r"LayerNorm\.weight": "LayerNorm/gamma",
        r"LayerNorm\.bias": "LayerNorm/beta",
        r"cls\.predictions\.bias": "cls/predictions/output_bias",
        r"cls\.seq_relationship\.(weights?|bias)": r"cls/seq_relationship/output_\1",
        r"\.weight$": "/kernel",
        r"layer\.(\d+)": r"layer_\1",
        r"\.": "/",
    }.items():
        name = re.sub(theirs, googles, name)
    return name.replace("seq_relationship/output_weight", "seq_relationship/output_weights")


def tensorflow_tensors(model):
    tensors = {}
    for name, tensor in model.state_dict().items():
        if not name.endswith(("position_ids", "token_type_ids", "decoder.weight", "decoder.bias")):
            theirs = tensorflow_name(name)
            tensors[theirs] = tensor.numpy().T.copy() if theirs.endswith("/kernel") else tensor.numpy()
    return tensors


def with_adam(tensors):
    """What a checkpoint in the middle of pretraining holds besides."""
    slots = {f"{name}/{slot}": np.ones_like(array) for name, array in tensors.items() for slot in ("adam_m", "adam_v")}
    return tensors | slots | {"global_step": np.int64(1000)}


def save(tensors, prefix):
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(tensors),
        shape_and_slices=[""] * len(tensors),
        tensors=[tf.constant(array) for array in tensors.values()],
    )


def vocabulary(words=WORDS, size=60):
    return [*SPECIALS, *words, *(f"[unused{i + 9}]" for i in range(size - len(SPECIALS) - len(words)))]


def write_checkpoint(folder, model, tensors=None, words=WORDS, prefix="bert_model.ckpt"):
    folder.mkdir(exist_ok=True)
    config = model.config
    names = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    names += ("hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob", "max_position_embeddings")
    names += ("type_vocab_size", "initializer_range")
    raw = {name: getattr(config, name) for name in names} | {"directionality": "bidi"}
    (folder / "bert_config.json").write_text(json.dumps(raw), encoding="utf-8")
    (folder / "vocab.txt").write_text("\n".join(vocabulary(words, config.vocab_size)) + "\n", encoding="utf-8")
    save(tensorflow_tensors(model) if tensors is None else tensors, folder / prefix)
    return folder


def same_outputs(model, opened, head):
    ids, segments, attend = hf_models.texts(0)
    wanted = hf_models.outputs(model, head, ids, segments, attend)
    got = hf_models.outputs(opened.eval(), head, ids, segments, attend)
    for one, other in zip(wanted, got, strict=True):
        assert float((one - other).detach().abs().max()) <= 1e-5


def opened_without_complaint(kind, folder, **options):
    opened, told = kind.from_pretrained(folder, output_loading_info=True, **options)
    assert not told["missing_keys"]
    assert not told["unexpected_keys"]
    return opened


# --- the weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("adam", [False, True])
def test_pretraining_heads_compute_what_the_original_does(adam, tmp_path):
    model = hf_models.make("bert", "mlm+nsp")
    tensors = tensorflow_tensors(model)
    source = write_checkpoint(tmp_path / "uncased", model, with_adam(tensors) if adam else tensors)
    imported = import_google_bert(source, tmp_path / "dest")
    assert imported.head == "mlm+nsp"
    opened = opened_without_complaint(transformers.AutoModelForPreTraining, tmp_path / "dest")
    same_outputs(model, opened, "mlm+nsp")


def test_googles_names_are_the_ones_written_here():
    """Names as they stand in bert_model.ckpt, so that this file and the importer are not wrong together."""
    names = tensorflow_tensors(hf_models.make("bert", "mlm+nsp")).keys()
    assert names >= {
        "bert/embeddings/word_embeddings",
        "bert/embeddings/position_embeddings",
        "bert/embeddings/token_type_embeddings",
        "bert/embeddings/LayerNorm/gamma",
        "bert/encoder/layer_0/attention/self/query/kernel",
        "bert/encoder/layer_0/attention/self/value/bias",
        "bert/encoder/layer_0/attention/output/dense/kernel",
        "bert/encoder/layer_1/attention/output/LayerNorm/beta",
        "bert/encoder/layer_1/intermediate/dense/kernel",
        "bert/encoder/layer_1/output/dense/bias",
        "bert/pooler/dense/kernel",
        "cls/predictions/output_bias",
        "cls/predictions/transform/dense/kernel",
        "cls/predictions/transform/LayerNorm/gamma",
        "cls/seq_relationship/output_weights",
        "cls/seq_relationship/output_bias",
    }
    assert len(names) == 5 + 2 * 16 + 2 + 5 + 2


@pytest.mark.backend
def test_our_model_computes_it_too(tmp_path):
    model = hf_models.make("bert", "mlm+nsp")
    import_google_bert(write_checkpoint(tmp_path / "uncased", model), tmp_path / "dest")
    ours = load_model(tmp_path / "dest")
    assert ours.report.new == []
    assert ours.report.unused == {}
    ids, segments, attend = hf_models.texts(0)
    from keras import ops

    logits, follows = map(ops.convert_to_numpy, ours(ids, segments, attend))
    wanted = [result.detach().numpy() for result in hf_models.outputs(model, "mlm+nsp", ids, segments, attend)]
    np.testing.assert_allclose(logits[attend], wanted[0][attend], atol=1e-5)
    np.testing.assert_allclose(follows, wanted[1], atol=1e-5)


@pytest.mark.parametrize("head", ["pooler", "encoder"])
def test_without_the_heads_of_pretraining(head, tmp_path):
    model = hf_models.make("bert", head)
    tensors = {f"bert/{name}": array for name, array in tensorflow_tensors(model).items()}
    imported = import_google_bert(write_checkpoint(tmp_path / "cased", model, tensors), tmp_path / "dest")
    assert imported.head == head
    options = {"add_pooling_layer": head == "pooler"}
    same_outputs(model, opened_without_complaint(transformers.AutoModel, tmp_path / "dest", **options), head)


def test_a_masked_lm_without_next_sentences_keeps_its_pooler(tmp_path):
    model = hf_models.make("bert", "mlm+nsp")
    tensors = {name: array for name, array in tensorflow_tensors(model).items() if "seq_relationship" not in name}
    imported = import_google_bert(write_checkpoint(tmp_path / "cased", model, tensors), tmp_path / "dest")
    assert imported.head == "mlm"
    both = transformers.AutoModelForPreTraining.from_pretrained(tmp_path / "dest")
    assert torch.equal(both.bert.pooler.dense.weight, model.bert.pooler.dense.weight)
    ids, segments, attend = hf_models.texts(0)
    alone = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "dest").eval()
    wanted = hf_models.outputs(model, "mlm+nsp", ids, segments, attend)[0]
    got = hf_models.outputs(alone, "mlm", ids, segments, attend)[0]
    assert float((wanted - got).detach().abs().max()) <= 1e-5


def test_the_configuration(tmp_path):
    model = hf_models.make("bert", "mlm+nsp", hidden_dropout_prob=0.125, attention_probs_dropout_prob=0.0625)
    import_google_bert(write_checkpoint(tmp_path / "cased", model), tmp_path / "dest")
    raw = json.loads((tmp_path / "dest" / "config.json").read_text(encoding="utf-8"))
    expected = {"architectures": ["BertForPreTraining"], "model_type": "bert", "layer_norm_eps": 1e-12}
    expected |= {"hidden_dropout_prob": 0.125, "attention_probs_dropout_prob": 0.0625, "hidden_act": "gelu"}
    expected |= {"num_hidden_layers": 2, "max_position_embeddings": 24, "type_vocab_size": 2, "directionality": "bidi"}
    assert {name: raw[name] for name in expected} == expected


def test_a_checkpoint_of_another_name(tmp_path):
    model = hf_models.make("bert", "mlm+nsp")
    source = write_checkpoint(tmp_path / "cased", model, prefix="model.ckpt-1000")
    import_google_bert(source, tmp_path / "dest")
    save({"bert/pooler/dense/bias": np.zeros(16, np.float32)}, source / "model.ckpt-2000")
    with pytest.raises(UserError, match=r"has 2 checkpoints: model\.ckpt-1000, model\.ckpt-2000; leave the one"):
        import_google_bert(source, tmp_path / "other")


# --- the tokenizer -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "words", "wanted", "lowercase", "reason"),
    [
        ("uncased_L-2", WORDS, None, True, "Text is lower-cased, going by the folder's name, uncased_L-2"),
        ("multi_cased_L-2", WORDS, None, False, "Text is not lower-cased, going by the folder's name"),
        ("chinese_L-2", [*WORDS, "Q"], None, True, "Text is lower-cased, going by the folder's name"),
        ("mine", WORDS, None, True, "going by the vocabulary, which has no capital letter; --cased says otherwise"),
        ("mine", [*WORDS, "##Q"], None, False, "going by the token '##Q' of the vocabulary; --uncased says otherwise"),
        ("uncased_L-2", WORDS, False, False, None),
        ("cased_L-2", WORDS, True, True, None),
    ],
)
def test_lower_case_or_not(folder, words, wanted, lowercase, reason, tmp_path):
    source = write_checkpoint(tmp_path / folder, hf_models.make("bert", "mlm+nsp"), words=words)
    imported = import_google_bert(source, tmp_path / "dest", lowercase=wanted)
    assert len(imported.notes) == (reason is not None)
    assert reason is None or reason in imported.notes[0]
    ours = load_tokenizer(tmp_path / "dest")
    assert ("the" in ours.encode("THE").tokens) == lowercase
    assert ours.encode("中文").tokens == ["[CLS]", "中", "文", "[SEP]"]
    opened = transformers.AutoTokenizer.from_pretrained(tmp_path / "dest")
    assert opened.model_max_length == 24
    for text in TEXTS:
        assert opened(text)["input_ids"] == ours.encode(text).ids
        assert opened(text, "cat")["token_type_ids"] == ours.encode(text, "cat").segments


def test_accents_fall_with_the_case(tmp_path):
    source = write_checkpoint(tmp_path / "src", hf_models.make("bert", "mlm+nsp"))
    import_google_bert(source, tmp_path / "uncased", lowercase=True)
    import_google_bert(source, tmp_path / "cased", lowercase=False)
    assert load_tokenizer(tmp_path / "uncased").encode("Cafés").tokens == ["[CLS]", "cafe", "##s", "[SEP]"]
    assert load_tokenizer(tmp_path / "cased").encode("cafés").tokens == ["[CLS]", "[UNK]", "[SEP]"]


def test_the_vocabulary_is_copied_line_for_line(tmp_path):
    words = [*WORDS, "cat", "twice"]
    source = write_checkpoint(tmp_path / "uncased", hf_models.make("bert", "mlm+nsp"), words=words)
    import_google_bert(source, tmp_path / "dest")
    assert (tmp_path / "dest" / "vocab.txt").read_bytes() == (source / "vocab.txt").read_bytes()
    assert load_tokenizer(tmp_path / "dest").encode("twice").ids[1] == len(SPECIALS) + len(words) - 1


def test_windows_line_ends_are_no_part_of_a_token(tmp_path):
    source = write_checkpoint(tmp_path / "uncased", hf_models.make("bert", "mlm+nsp"))
    (source / "vocab.txt").write_bytes((source / "vocab.txt").read_bytes().replace(b"\n", b"\r\n"))
    import_google_bert(source, tmp_path / "dest")
    assert load_tokenizer(tmp_path / "dest").encode("the cat").tokens == ["[CLS]", "the", "cat", "[SEP]"]


def test_a_real_vocabulary_gives_the_published_tokenizer(shared, tmp_path):
    real = shared / "models" / "bert-tiny"
    model = hf_models.make("bert", "mlm+nsp", vocab_size=30522, hidden_size=4, intermediate_size=8)
    source = write_checkpoint(tmp_path / "src", model)
    (source / "vocab.txt").write_bytes((real / "vocab.txt").read_bytes())
    imported = import_google_bert(source, tmp_path / "dest")
    assert "Text is lower-cased, going by the vocabulary" in imported.notes[0]
    ours, theirs = (json.loads((f / "tokenizer.json").read_text(encoding="utf-8")) for f in (tmp_path / "dest", real))
    for part in ("added_tokens", "normalizer", "pre_tokenizer", "post_processor", "model"):
        assert ours[part] == theirs[part]
    texts = [*TEXTS, "Unaffable naïve façade 3.14 don't", "東京 2020年", "😀 \u200b\u00ad x", "a" * 200]
    published = tokenizers.Tokenizer.from_file(str(real / "tokenizer.json"))
    opened = transformers.AutoTokenizer.from_pretrained(tmp_path / "dest")
    assert opened(texts)["input_ids"] == [encoded.ids for encoded in published.encode_batch(texts)]


# --- mistakes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"output_weights": np.zeros((3, 16), np.float32)}, "does not have: output_weights"),
        ({"comment": np.array([b"some", b"words"])}, "does not have: comment"),
        ({"bert/encoder/layer_2/output/dense/bias": np.zeros(16, np.float32)}, "does not have: bert/encoder/layer_2"),
        (
            {"bert/encoder/layer_1/output/dense/bias": None},
            r"lacks 1 of .*: bert\.encoder\.layer\.1\.output\.dense\.bias",
        ),
        ({"cls/predictions/transform/dense/bias": None}, r"lacks 1 of .*: cls\.predictions\.transform\.dense\.bias"),
        (
            {"bert/encoder/layer_1/intermediate/dense/kernel": np.zeros((16, 5), np.float32)},
            r"layer\.1\.intermediate\.dense\.weight is 5 × 16 where the configuration asks for 32 × 16",
        ),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused_and_nothing_is_left(change, sentence, tmp_path):
    model = hf_models.make("bert", "mlm+nsp")
    tensors = tensorflow_tensors(model) | change
    tensors = {name: array for name, array in tensors.items() if array is not None}
    source = write_checkpoint(tmp_path / "cased", model, tensors)
    with pytest.raises(UserError, match=sentence):
        import_google_bert(source, tmp_path / "dest")
    assert not (tmp_path / "dest").exists()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda folder: (folder / "bert_config.json").unlink(), r"has no bert_config\.json; Google's BERT is a folder"),
        (lambda folder: (folder / "bert_config.json").write_text("{"), r"bert_config\.json is not valid JSON"),
        (lambda folder: (folder / "bert_config.json").write_text("{}"), "has no 'vocab_size'"),
        (lambda folder: (folder / "vocab.txt").unlink(), r"has no vocab\.txt"),
        (
            lambda folder: (folder / "vocab.txt").write_text("the\n"),
            r"has 1 lines, but bert_config\.json says vocab_size 60",
        ),
        (lambda folder: (folder / "vocab.txt").write_text("the\n" * 60), r"lacks \[PAD\], \[UNK\]"),
        (lambda folder: (folder / "vocab.txt").write_bytes(b"\xff\n" * 60), "is not UTF-8 text"),
        (lambda folder: (folder / "bert_model.ckpt.index").unlink(), r"has no bert_model\.ckpt\.index"),
        (lambda folder: (folder / "bert_model.ckpt.data-00000-of-00001").unlink(), "incomplete or damaged"),
    ],
)
def test_files_that_are_missing_or_wrong(spoil, sentence, tmp_path):
    source = write_checkpoint(tmp_path / "cased", hf_models.make("bert", "mlm+nsp"))
    spoil(source)
    with pytest.raises(UserError, match=sentence):
        import_google_bert(source, tmp_path / "dest")
    assert not (tmp_path / "dest").exists()


@pytest.mark.parametrize("part", ["index", "data-00000-of-00001"])
def test_a_truncated_checkpoint_is_one_sentence(part, tmp_path):
    source = write_checkpoint(tmp_path / "cased", hf_models.make("bert", "mlm+nsp"))
    file = source / f"bert_model.ckpt.{part}"
    whole = file.read_bytes()
    for length in (0, 1, 47, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(UserError, match="incomplete or damaged"):
            import_google_bert(source, tmp_path / "dest")
    assert not (tmp_path / "dest").exists()


def test_damaged_bytes_do_not_pass_for_weights(tmp_path):
    source = write_checkpoint(tmp_path / "cased", hf_models.make("bert", "mlm+nsp"))
    file = source / "bert_model.ckpt.data-00000-of-00001"
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    file.write_bytes(bytes(whole))
    with pytest.raises(UserError, match="incomplete or damaged"):
        import_google_bert(source, tmp_path / "dest")


def test_a_source_that_is_no_folder_and_a_destination_that_is_taken(tmp_path):
    with pytest.raises(UserError, match="is no folder"):
        import_google_bert(tmp_path / "nowhere", tmp_path / "dest")
    source = write_checkpoint(tmp_path / "cased", hf_models.make("bert", "mlm+nsp"))
    with pytest.raises(UserError, match="is not empty"):
        import_google_bert(source, source)
