"""Greedy and beam search: equal to `transformers`, to the search without a cache, and sentence by sentence."""

from functools import partial

import keras
import numpy as np
import pytest
import torch

import hf_models
from unmask import UserError, load_model, preset
from unmask.model import Bert, beam_search, greedy_search
from unmask.model.search import length_penalty

pytestmark = pytest.mark.backend
LENGTH = 10


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marian")
    theirs = hf_models.make_marian(noise=0.5)  # far from uniform predictions
    with torch.no_grad():
        theirs.final_logits_bias[0, 0] = 4.0  # an end that is likely: sentences stop at different times
    theirs.save_pretrained(folder)
    return theirs, load_model(folder)


@pytest.fixture(scope="module")
def source(pair):
    ids, _, _ = hf_models.texts(pair[1].config.pad_id, batch=8, length=7, seed=6)
    return ids


def generated(theirs, source, **options):
    pad = theirs.config.pad_token_id
    mask = torch.tensor(source != pad).long()
    rows = theirs.generate(
        torch.tensor(source), attention_mask=mask, max_new_tokens=LENGTH, bad_words_ids=[[pad]], **options
    )
    return [[int(i) for i in row[1:] if i != pad] for row in rows]


def test_greedy_equals_transformers(pair, source):
    theirs, ours = pair
    expected = generated(theirs, source, num_beams=1, do_sample=False)
    got = [hypothesis.ids for hypothesis in greedy_search(ours, source, max_length=LENGTH)]
    assert got == expected
    assert len({len(ids) for ids in got}) > 1  # some ended early, some did not: both ways are tried


@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("beams", [2, 4])
def test_beam_search_equals_transformers(pair, source, beams, alpha):
    theirs, ours = pair
    expected = generated(
        theirs, source, num_beams=beams, num_return_sequences=beams, do_sample=False, length_penalty=alpha
    )
    got = beam_search(ours, source, beams=beams, max_length=LENGTH, alpha=alpha, offset=0)
    assert [hypothesis.ids for sentence in got for hypothesis in sentence] == expected


@pytest.mark.parametrize("beams", [1, 3])
def test_cached_equals_uncached(pair, source, beams):
    _, ours = pair
    options = {"beams": beams, "max_length": LENGTH}
    for with_cache, without in zip(
        beam_search(ours, source, **options), beam_search(ours, source, **options, use_cache=False), strict=True
    ):
        assert [h.ids for h in with_cache] == [h.ids for h in without]
        np.testing.assert_allclose([h.score for h in with_cache], [h.score for h in without], rtol=1e-4)
    greedy = [greedy_search(ours, source, max_length=LENGTH, use_cache=cache) for cache in (True, False)]
    assert [h.ids for h in greedy[0]] == [h.ids for h in greedy[1]]


def test_a_batch_equals_its_sentences_one_by_one(pair, source):
    _, ours = pair
    together = beam_search(ours, source, beams=3, max_length=LENGTH)
    for row, expected in zip(source, together, strict=True):
        alone = beam_search(ours, row[None], beams=3, max_length=LENGTH)[0]
        assert [h.ids for h in alone] == [h.ids for h in expected]


def test_hypotheses_are_ordered_and_scored(pair, source):
    _, ours = pair
    for sentence in beam_search(ours, source, beams=4, max_length=LENGTH, alpha=0.6):
        scores = [hypothesis.score for hypothesis in sentence]
        assert scores == sorted(scores, reverse=True)
        for hypothesis in sentence:
            penalty = ((5 + len(hypothesis.ids)) / 6) ** 0.6  # Wu et al. 2016, equation 14
            assert hypothesis.score == pytest.approx(hypothesis.log_probability / penalty)
            assert ours.config.pad_id not in hypothesis.ids


def test_a_wider_beam_finds_no_worse(pair, source):
    _, ours = pair
    best = [
        [sentence[0].log_probability for sentence in beam_search(ours, source, beams=b, max_length=LENGTH, alpha=0.0)]
        for b in (1, 8)
    ]
    assert np.mean(best[1]) >= np.mean(best[0])


def test_one_search_after_another_of_another_length(pair, source):
    _, ours = pair
    for length in (3, 6, 4):
        assert all(len(h.ids) <= length for h in greedy_search(ours, source, max_length=length))


def test_mixed_precision(tmp_path):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        hf_models.make_marian().save_pretrained(tmp_path)
        model = load_model(tmp_path)
    finally:
        keras.config.set_dtype_policy("float32")
    assert len(greedy_search(model, [[5, 6, 7]], max_length=4)) == 1
    assert len(beam_search(model, [[5, 6, 7]], beams=2, max_length=4)[0]) == 2


def test_length_penalty():
    assert length_penalty(7, 0.0, 5) == 1
    assert length_penalty(7, 1.0, 5) == 2
    assert length_penalty(7, 1.0, 0) == 7


def test_bad_input_is_one_sentence(pair, source):
    _, ours = pair
    with pytest.raises(UserError, match="beams is 0"):
        beam_search(ours, source, beams=0, max_length=3)
    with pytest.raises(UserError, match=r"beams is 1\.5"):
        beam_search(ours, source, beams=1.5, max_length=3)
    with pytest.raises(UserError, match="offset is -1"):
        beam_search(ours, source, beams=2, max_length=3, offset=-1)
    with pytest.raises(UserError, match="this model writes 1 to 24 tokens"):
        greedy_search(ours, source, max_length=25)
    for search in (partial(greedy_search, ours), partial(beam_search, ours, beams=2)):
        with pytest.raises(UserError, match="Token id 60 is outside"):
            search([[5, 60]], max_length=3)
        with pytest.raises(UserError, match="25 tokens, but this model reads 24"):
            search(np.full((1, 25), 5), max_length=3)
        assert search(np.zeros((0, 4), int), max_length=3) == []
    with pytest.raises(UserError, match="bert has no decoder"):
        greedy_search(Bert(preset("bert", "tiny", vocab_size=30), seed=0), source, max_length=3)
