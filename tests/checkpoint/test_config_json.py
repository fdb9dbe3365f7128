"""config.json of Hugging Face ↔ ModelConfig."""

import json

import pytest
import transformers

import hf_models
from unmask import UserError, preset
from unmask.checkpoint.config_json import from_json, head_of, to_json
from unmask.checkpoint.folder import read_config

BERT = {
    "model_type": "bert",
    "vocab_size": 100,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


@pytest.mark.parametrize("family", list(hf_models.FAMILIES))
def test_round_trip_through_transformers(family, tmp_path):
    prefix, settings = hf_models.FAMILIES[family]
    labels = {
        "id2label": {0: "负", 1: "正"},
        "label2id": {"负": 0, "正": 1},
        "problem_type": "single_label_classification",
    }
    getattr(transformers, f"{prefix}Config")(**settings, **labels).save_pretrained(tmp_path)
    config, _ = read_config(tmp_path)
    assert config.classes == ("负", "正")
    raw = to_json(config, "classify")
    assert from_json(raw) == config
    (tmp_path / "config.json").write_text(json.dumps(raw))
    theirs = transformers.AutoConfig.from_pretrained(tmp_path)
    for name, value in settings.items():
        assert getattr(theirs, name) == value, name
    assert theirs.id2label == {0: "负", 1: "正"}


@pytest.mark.parametrize("family", ["bert", "roberta", "transformer"])
def test_presets_round_trip(family):
    config = preset(family, "base")
    head = "translate" if family == "transformer" else "mlm"
    assert from_json(to_json(config, head)) == config


def test_robertas_two_spare_positions():
    raw = to_json(preset("roberta", "base"), "mlm")
    assert raw["max_position_embeddings"] == 514
    assert raw["architectures"] == ["RobertaForMaskedLM"]
    assert from_json(raw).max_positions == 512


def test_what_is_silent_is_taken_as_hugging_face_takes_it():
    config = from_json(BERT)
    assert (config.dropout, config.norm_eps, config.max_positions, config.n_segments) == (0.1, 1e-12, 512, 2)
    assert config.n_classes == 2


def test_entries_of_others_are_kept():
    config = from_json(BERT | {"my_note": {"a": 1}})
    assert to_json(config, "mlm")["my_note"] == {"a": 1}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "gpt2"}, "model_type 'gpt2'; unmask reads bert, roberta"),
        ({"model_type": None}, "does not say its model_type"),
        ({"num_attention_heads": 3}, "3 heads do not divide a width of 16"),
        ({"hidden_size": None}, "has no 'hidden_size'"),
        ({"hidden_size": "16"}, "d_model is '16'"),
        ({"hidden_act": "mish"}, "activation 'mish'"),
        ({"position_embedding_type": "relative_key"}, "a variant that unmask does not have"),
        ({"is_decoder": True}, "is_decoder = True"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings = False"),
        ({"id2label": {"a": "b"}}, "id2label in config.json must map 0, 1, 2"),
        ({"model_type": "roberta", "max_position_embeddings": 2, "pad_token_id": 1}, "leave none behind the padding"),
        ({"max_position_embeddings": "many"}, "must be whole numbers"),
        ({"layer_norm_eps": -1}, "norm_eps is -1"),
        ({"num_hidden_layers": 10**30}, "n_layers is .* is surely a mistake"),
        ({"num_labels": 10**9}, "num_labels is .* is surely a mistake"),
        ({"id2label": {"0": "a", "2": "b"}}, "id2label in config.json must map 0, 1, 2"),
        ({"model_type": []}, r"says model_type \[\]"),
        ({"hidden_act": []}, r"the activation \[\]"),
        ({"max_position_embeddings": 10**30}, "is surely a mistake"),
        ({"model_type": None, "architectures": -1}, "does not say its model_type"),
    ],
)
def test_impossible_entries(changes, message):
    with pytest.raises(UserError, match=message):
        from_json(BERT | changes)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '"bert"', "\x00\x01"])
def test_broken_files(content, tmp_path):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(UserError, match=r"is not valid JSON|must hold a JSON object"):
        read_config(tmp_path)


def test_not_utf8(tmp_path):
    (tmp_path / "config.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(UserError, match="is not valid JSON"):
        read_config(tmp_path)


def test_the_head_of_a_folder():
    assert head_of({"architectures": ["RobertaForMaskedLM"]}, set()) == "mlm"
    assert head_of({"architectures": ["BertModel"]}, {"pooler.dense.weight"}) == "pooler"
    assert head_of({"architectures": ["RobertaModel"]}, set()) == "encoder"
    assert head_of({}, set()) == "encoder"
    assert head_of({"architectures": -1}, set()) == "encoder"
    assert head_of({"model_type": "marian"}, set()) == "translate"
