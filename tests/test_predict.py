"""Predictor: masks filled as `transformers` fills them, in batches, in windows; refusals in a sentence."""

import logging

import numpy as np
import pytest
import transformers

import fill_tokenizers
import hf_models
import small_tasks
import unmask
from unmask import UserError
from unmask.data.readers import Reading, read_records
from unmask.predict import batches
from unmask.predict_file import answer_row
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


# --- tasks --------------------------------------------------------------------------------------------


def test_one_text_one_answer_and_a_list_for_a_list(tuned):
    predictor = tuned.predictor("classify")
    good, bad = predictor.classify(["the film was great", "a dull story"])
    assert (good.label, bad.label) == ("good", "bad")
    alone = predictor.classify("the film was great")
    assert alone.label == "good"
    assert alone.probability == pytest.approx(good.probability, abs=1e-5)
    assert set(alone.probabilities) == {"bad", "good"}
    assert predictor.classify([]) == []
    assert predictor.classify(("a dull story",))[0].label == "bad"
    assert predictor.classify("").label in ("good", "bad")


def test_labels_by_themselves(tuned):
    (answer,) = tuned.predictor("multi").classify(["Anna was in Berlin and the film was red"])
    assert set(answer.probabilities) == {"person", "place", "colour"}
    assert set(answer.labels) == {label for label, p in answer.probabilities.items() if p >= 0.5}


def test_pairs(tuned):
    predictor = tuned.predictor("pair")
    rows = small_tasks.rows("pair", 12, seed=5)
    answers = predictor.classify([row["text_a"] for row in rows], [row["text_b"] for row in rows])
    assert sum(a.label == row["label"] for a, row in zip(answers, rows, strict=True)) >= 10
    one = predictor.classify(rows[0]["text_a"], rows[0]["text_b"])
    assert one.probability == pytest.approx(answers[0].probability, abs=1e-5)
    with pytest.raises(UserError, match="2 texts came with 1 second texts; each needs one"):
        predictor.classify(["a", "b"], ["c"])
    with pytest.raises(UserError, match="Second texts must be a list of texts, but a str came"):
        predictor.classify(["a", "b"], "cd")


@pytest.mark.parametrize(
    ("kind", "pair", "said"),
    [
        ("classify", "b", "learnt from single texts, but is given pairs of texts."),
        ("pair", None, "learnt from pairs of texts, but is given single texts."),
        ("pair", "b", ""),
        ("classify", None, ""),
    ],
)
def test_a_pair_for_a_model_of_single_texts_is_told(tuned, caplog, kind, pair, said):
    tuned.predictor(kind).classify("a", pair)
    assert said in caplog.text
    assert bool(said) == bool(caplog.text)


def test_a_model_of_single_texts_guesses_no_second_one(tuned, tmp_path, caplog):
    path = tmp_path / "a.csv"
    path.write_text("sentence1,sentence2\ngreat,dull\n", encoding="utf-8")
    predictor = tuned.predictor("classify")
    said = {"text": "sentence1"}
    assert predictor.columns(read_records(str(path), Reading()), said, labelled=False) == said
    assert "pair" in predictor.columns(
        read_records(str(path), Reading()), {**said, "pair": "sentence2"}, labelled=False
    )
    assert "learnt from single texts, but is given pairs of texts" in caplog.text


@pytest.mark.parametrize(
    ("name", "text", "said", "expected"),
    [
        ("a.csv", "great film\ndull film\n", {}, {"text": "1"}),  # the label's number in training
        ("a.csv", "great\ndull\n", {}, {"text": "1"}),
        ("a.csv", "great film\ndull film\n", {"text": "1"}, {"text": "1"}),
        ("a.tsv", "bad\tgreat\nbad\tdull\n", {}, {"text": "2"}),
        ("a.tsv", "great film\tbad\ndull film\tgood\n", {"text": "1"}, {"text": "1"}),
        ("a.csv", "review\ngreat film\ndull film\n", {}, {"text": "review"}),
    ],
)
def test_a_model_of_a_file_without_a_header(tuned, tmp_path, monkeypatch, name, text, said, expected):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    predictor = tuned.predictor("classify")
    monkeypatch.setitem(predictor.settings, "columns", {"text": "2", "label": "1"})
    reading = Reading(header="review" in text)
    assert predictor.columns(read_records(str(path), reading), said, labelled=False) == expected


def test_numbers(tuned):
    high, low = tuned.predictor("regress").regress(["joy fine great the film was a", "dull poor awful the film was a"])
    assert high.value > low.value + 0.5


def test_entities_with_their_places(tuned):
    text = "the film was Anna and one Berlin ."
    answer = tuned.predictor("tag").tag(text)
    assert [(e.label, e.text, text[e.start : e.end]) for e in answer.entities] == [
        ("PER", "Anna", "Anna"),
        ("LOC", "Berlin", "Berlin"),
    ]
    assert len(answer.tags) == len(answer.words) == 8


def test_every_word_of_a_long_text_has_a_tag(tuned):
    """Far longer than the 32 tokens that the model reads."""
    text = " ".join(["the film was", *["Anna of a story"] * 30, "Cairo"])
    answer = tuned.predictor("tag").tag(text)
    assert len(answer.tags) == len(text.split())
    found = [entity.text for entity in answer.entities]
    assert found.count("Anna") >= 28
    assert all(text[e.start : e.end] == e.text for e in answer.entities)


def test_answers_from_contexts_longer_than_the_model(tuned):
    predictor = tuned.predictor("read")
    for at in (0, 40, 79):
        words = ["the", "film", "was", "a"] * 20
        words[at] = "blue"
        context = " ".join(words)
        answer = predictor.answer(question="which colour is it ?", context=context)
        assert answer.text == "blue"
        assert context[answer.start : answer.end] == "blue"
        assert 0 < answer.probability <= 1


def test_choices(tuned):
    chosen = tuned.predictor("choose").choose(["film awful a", "great of the", "one dull"], context="the film was")
    assert (chosen.number, chosen.choice) == (1, "great of the")
    assert sum(chosen.probabilities) == pytest.approx(1)
    with pytest.raises(UserError, match="must hold a list of two choices or more"):
        tuned.predictor("choose").choose(["one"], context="the film")


@pytest.mark.parametrize(("settings", "label"), [({}, 1), ({"first": 1}, 2), ({"letters": "lower"}, "b")])
def test_a_choice_is_said_as_in_training(tuned, settings, label):
    known = tuned.predictor("choose")
    predictor = unmask.Predictor(known.tokenizer, known.model, {**known.settings, **settings})
    chosen = predictor.choose(["film awful a", "great of the", "one dull"], context="the film was")
    assert (chosen.number, chosen.label, answer_row(chosen)["prediction"]) == (1, label, label)


def test_vectors_are_those_of_transformers(tuned, caplog):
    import torch

    theirs = transformers.AutoModel.from_pretrained(tuned.base).eval()
    texts = ["the film was great", "a dull story with its end", ""]
    predictor = unmask.load(tuned.base)
    for pooling, pooled in (("mean", lambda h: h.mean(0)), ("first", lambda h: h[0])):
        vectors = predictor.embed(texts, pooling=pooling)
        assert vectors.shape == (3, 64)
        for text, vector in zip(texts, vectors, strict=True):
            ids = torch.tensor([predictor.tokenizer.encode(text).ids])
            with torch.no_grad():
                np.testing.assert_allclose(vector, pooled(theirs(ids).last_hidden_state[0].numpy()), atol=1e-4)
    np.testing.assert_array_equal(predictor.embed(texts), predictor.embed(texts, pooling="mean"))
    assert predictor.embed([]).shape == (0, 64)
    np.testing.assert_array_equal(predictor.embed(texts[0]), predictor.embed([texts[0]])[0])
    with pytest.raises(UserError, match="pooling is 'max'; it may be 'mean' or 'first'"):
        predictor.embed(texts, pooling="max")
    predictor.embed("the film was great " * 200)
    assert "were cut (the longest, text 1, has 802); embed parts of them, and average." in caplog.text


def test_a_stride_in_a_folder_of_choices_means_nothing(tuned, monkeypatch):
    """Folders were once written with one, though contexts were cut all the same."""
    predictor = tuned.predictor("choose")
    monkeypatch.setitem(predictor.settings, "stride", 4)
    assert predictor.window(None, None).stride is None
    with pytest.raises(UserError, match="--stride is not for choose"):
        predictor.choose(["a", "b"], question="the film", stride=4)


def test_a_text_longer_than_the_model_is_cut_and_said_or_read_in_windows(tuned, caplog):
    predictor = tuned.predictor("classify")
    text = " ".join(["the film was a"] * 20 + ["dull awful boring"] * 10)
    with caplog.at_level(logging.WARNING):
        predictor.classify(text)
    assert (
        "1 of 1 texts are longer than 32 tokens and were cut (the longest, text 1, has 112); pass --stride"
        in caplog.text
    )
    caplog.clear()
    assert predictor.classify(text, stride=4).label == "bad"
    assert not caplog.text
    with pytest.raises(UserError, match="64 tokens, but this model reads 32; pass --max-length 32 or --stride"):
        predictor.classify(text, max_length=64)
    with pytest.raises(UserError, match=r"A window of 0 tokens holds no text\."):
        predictor.classify(text, max_length=0)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (None, "Texts must be a list of texts, but a NoneType came."),
        (5, "Texts must be a list of texts, but a int came."),
        (b"bytes", "Texts must be a list of texts, but a bytes came."),
        ({"text": "a"}, "Texts must be a list of texts, but a dict came."),
        ({"a", "b"}, "Texts must be a list of texts, but a set came."),
        (["a", 5], "Texts must be a list of texts, but number 2 is a int."),
        (["a", None], "Texts must be a list of texts, but number 2 is a NoneType."),
    ],
)
def test_what_is_no_text(tuned, texts, message):
    predictor = tuned.predictor("classify")
    for ask in (predictor.classify, predictor.embed):
        with pytest.raises(UserError) as error:
            ask(texts)
        assert str(error.value) == message


@pytest.mark.parametrize(
    ("question", "context", "wrong"),
    [
        (None, "x", "the question is a NoneType"),
        ("x", 5, "the context is a int"),
        (["a", "b"], ["c d", "e f"], "the question is a list"),
        ("a", ["c d", "e f"], "the context is a list"),
    ],
)
def test_what_is_no_question(tuned, question, context, wrong):
    with pytest.raises(UserError) as error:
        tuned.predictor("read").answer(question=question, context=context)
    assert str(error.value) == (
        f"answer takes one question and one context, each a text, but {wrong}; for several call it in a loop, or take "
        "unmask predict --input."
    )


def test_a_column_named_none_is_no_second_text(tuned, tmp_path, caplog):
    path = tmp_path / "a.csv"
    path.write_text("text,none\ngreat film,1\ndull film,0\n", encoding="utf-8")
    found = tuned.predictor("classify").columns(read_records(str(path), Reading()), {}, labelled=False)
    assert found == {"text": "text"}
    assert "pairs" not in caplog.text


def test_a_model_of_another_task(tuned):
    regress = tuned.predictor("regress")
    with pytest.raises(UserError) as error:
        regress.classify("a")
    assert str(error.value) == (
        f"{tuned('regress')} was trained for regress, not classify; fine-tune a model for it first."
    )
    with pytest.raises(UserError, match="was trained for regress, not read"):
        regress.answer(question="a", context="b")
    with pytest.raises(UserError, match="was trained for no task, not tag; fine-tune a model for it first"):
        unmask.load(tuned.base).tag("a")


def test_a_head_without_weights_does_not_guess(tuned, tmp_path):
    import shutil

    shutil.copytree(tuned.base, tmp_path / "base")
    path = tmp_path / "base" / "config.json"
    path.write_text(path.read_text().replace('"BertModel"', '"BertForTokenClassification"'))
    with pytest.raises(UserError, match="lacks weights of its head tag; train it before use"):
        unmask.load(tmp_path / "base").tag("a")


def test_a_text_is_no_list_of_choices(tuned):
    with pytest.raises(UserError, match="Choices must be a list of texts, but a str came"):
        tuned.predictor("choose").choose("abc", context="a")


def test_a_run_that_has_not_ended(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(UserError, match="holds a run that has not ended; run its command again, which goes on"):
        unmask.load(tmp_path)
