"""Predictor: masks filled as `transformers` fills them, in batches, in windows; refusals in a sentence."""

import logging

import numpy as np
import pytest
import transformers

import fill_tokenizers
import hf_models
import unmask
from unmask import UserError
from unmask.predict import batches
from unmask.tasks.fill import Row

pytestmark = pytest.mark.backend

TOKENIZERS = {
    "bert": fill_tokenizers.bert,
    "roberta": fill_tokenizers.roberta,
    "xlm-roberta": fill_tokenizers.xlm_roberta,
}
TEXTS = {
    "bert": ["Paris is the [MASK] of France.", "a [MASK]", "北[MASK]是中国的首[MASK]", "[MASK] [MASK] walking, paris."],
    "roberta": ["Paris is the<mask> of France.", "a <mask>", "<mask> is the<mask> city", "<mask>"],
    "xlm-roberta": ["Paris is the<mask>s.", "北<mask>的"],
}


def written(folder, family, head="mlm", *, n_ids=None, **changes):
    tokenizer = TOKENIZERS[family]()
    theirs = hf_models.make(family, head, vocab_size=n_ids or tokenizer.n_ids, **changes)
    theirs.save_pretrained(folder)
    tokenizer.save(folder)
    return theirs


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {family: tmp_path_factory.mktemp(family) for family in TOKENIZERS}
    for family, folder in made.items():
        written(folder, family)
    return made


@pytest.mark.parametrize("family", TOKENIZERS)
def test_equal_to_the_pipeline_of_transformers(folders, family):
    pipeline = transformers.pipeline("fill-mask", model=str(folders[family]), device="cpu", top_k=4)
    answers = unmask.load(folders[family]).fill_many(TEXTS[family], top_k=4)
    for text, answer in zip(TEXTS[family], answers, strict=True):
        expected = pipeline(text)
        expected = [expected] if isinstance(expected[0], dict) else expected
        assert len(answer.masks) == len(expected)
        for mask, theirs in zip(answer.masks, expected, strict=True):
            assert [candidate.id for candidate in mask.candidates] == [found["token"] for found in theirs]
            ours = [candidate.probability for candidate in mask.candidates]
            np.testing.assert_allclose(ours, [found["score"] for found in theirs], rtol=1e-4)


def test_a_batch_is_its_texts(folders):
    predictor = unmask.load(folders["bert"])
    together = predictor.fill_many(TEXTS["bert"], top_k=3)
    for text, answer in zip(TEXTS["bert"], together, strict=True):
        alone = predictor.fill(text, top_k=3)
        assert answer.filled == alone.filled
        ours, other = ([[c.probability for c in mask.candidates] for mask in each.masks] for each in (answer, alone))
        np.testing.assert_allclose(ours, other, rtol=1e-5)
    assert predictor.fill_many([]) == []


def test_bert_with_both_heads_of_pretraining(tmp_path):
    theirs = written(tmp_path, "bert", "mlm+nsp")
    answer = unmask.load(tmp_path).fill("paris is the [MASK].", top_k=1)
    ids = fill_tokenizers.bert().encode("paris is the [MASK].").ids
    logits, _ = hf_models.outputs(
        theirs, "mlm+nsp", np.array([ids]), np.zeros((1, len(ids)), int), np.ones((1, len(ids)))
    )
    assert answer.masks[0].candidates[0].id == int(logits[0, 4].argmax())


def test_a_long_text_is_read_in_windows(folders, caplog):
    """24 positions: two special tokens, and 22 of the text around each mask."""
    predictor = unmask.load(folders["bert"])
    words = ["paris", "is", "the", "capital"] * 10
    words[5] = words[30] = "[MASK]"
    with caplog.at_level(logging.WARNING):
        long = predictor.fill(" ".join(words))
    assert "Text 1 has 42 tokens, but this model reads 24" in caplog.text
    short = predictor.fill(" ".join(words[18:]), top_k=5)
    assert long.masks[1].candidates[0].id == short.masks[0].candidates[0].id
    assert long.masks[1].candidates[0].probability == pytest.approx(short.masks[0].candidates[0].probability, rel=1e-5)
    assert "[MASK]" not in long.filled


def test_embeddings_without_a_token_are_never_a_candidate(tmp_path):
    written(tmp_path, "bert", n_ids=64)
    n_ids = fill_tokenizers.bert().n_ids
    answer = unmask.load(tmp_path).fill("a [MASK]", top_k=n_ids)
    assert {candidate.id for candidate in answer.masks[0].candidates} == set(range(n_ids))


@pytest.mark.parametrize("top_k", [0, -1, 1000, 1.5, True])
def test_an_impossible_number_of_candidates(folders, top_k):
    with pytest.raises(UserError, match=f"top_k is {top_k}; it must lie between 1 and the 26 tokens"):
        unmask.load(folders["bert"]).fill("a [MASK]", top_k=top_k)


@pytest.mark.parametrize("head", ["encoder", "classify"])
def test_a_model_without_the_head_is_refused(tmp_path, head):
    written(tmp_path, "bert", head)
    with pytest.raises(UserError, match=f"has the head {head}, which fills no masks; take a model with the head mlm"):
        unmask.load(tmp_path).fill("a [MASK]")


def test_a_folder_that_promises_a_head_and_lacks_it(tmp_path):
    written(tmp_path, "bert", "encoder")
    path = tmp_path / "config.json"
    path.write_text(path.read_text().replace('"BertModel"', '"BertForMaskedLM"'))
    with pytest.raises(UserError, match="lacks weights of its head mlm; train it before use"):
        unmask.load(tmp_path).fill("a [MASK]")


def test_folders_that_do_not_load(tmp_path):
    hf_models.make("bert", "mlm").save_pretrained(tmp_path)
    with pytest.raises(UserError, match="has no tokenizer that unmask reads"):
        unmask.load(tmp_path)
    hf_models.make("bert", "mlm", vocab_size=10).save_pretrained(tmp_path)
    fill_tokenizers.bert().save(tmp_path)
    with pytest.raises(UserError, match="they do not belong together"):
        unmask.load(tmp_path)


def test_batches_hold_rows_of_like_length():
    rows = [
        Row([1] * length, [0] * masks) for length, masks in ((500, 1), (5, 1), (500, 1), (6, 300), (5000, 1), (7, 2))
    ]
    chosen = list(batches(rows))
    assert sorted(i for batch in chosen for i in batch) == list(range(6))
    assert chosen == [[1], [3], [5, 0, 2], [4]]
    assert list(batches([])) == []
