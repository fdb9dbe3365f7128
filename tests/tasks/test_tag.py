"""Tagging: from records to targets and back, in any scheme, on any text, by any tokenizer."""

import logging
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_texts import BYTES, TEXTS, TOKENIZERS
from unmask import UserError, load_tokenizer
from unmask.data.columns import choose_columns
from unmask.data.readers import Record, read_records
from unmask.tasks import schemes
from unmask.tasks.metrics.entities import Entity, per_label
from unmask.tasks.spans import groups, solid, speakers
from unmask.tasks.tag import Tag, TagAnswer
from unmask.tasks.tagged import TaggedExample, words_of
from unmask.tasks.units import Window

BPE = TOKENIZERS["byte-level BPE"]
CONLL = {"tokens": "tokens", "tags": "tags"}


def conll(*sentences):
    """Records of sentences written as `EU/B-ORG rejects/O`."""
    pairs = [[word.rsplit("/", 1) for word in sentence.split()] for sentence in sentences]
    return [
        Record({"tokens": [a for a, _ in pair], "tags": [b for _, b in pair]}, f"a.conll, line {number}")
        for number, pair in enumerate(pairs, 1)
    ]


def perfect(task, units):
    """What a model that has learned its targets says; elsewhere it says what it likes."""
    draw = np.random.default_rng(0)
    outputs = []
    for unit in units:
        logits_LC = draw.normal(0, 3, (unit.length, len(task.classes)))
        for place in np.flatnonzero(unit.targets["tags"] >= 0):
            logits_LC[place] = 30.0 * (np.arange(len(task.classes)) == unit.targets["tags"][place])
        outputs.append(logits_LC)
    return outputs


def round_trip(task, examples, tokenizer, window):
    units = task.units(examples, tokenizer, window)
    assert all(unit.length <= window.length and len(unit.targets["tags"]) == unit.length for unit in units)
    return task.answers(examples, units, perfect(task, units))


@st.composite
def tagged(draw, scheme):
    """A text with words, some of them entities."""
    text = draw(TEXTS)
    words = words_of(text, characters=draw(st.booleans()))
    cuts = sorted(draw(st.sets(st.integers(0, len(words)), max_size=6)))
    spans = list(pairwise(cuts))
    labels = draw(st.lists(st.sampled_from(["X", "Y-Z", None]), min_size=len(spans), max_size=len(spans)))
    entities = [Entity(*span, label) for span, label in zip(spans, labels, strict=True) if label]
    return TaggedExample(text, tuple(words), tuple(schemes.tags(entities, len(words), scheme)), "here")


@pytest.mark.parametrize("scheme", schemes.SCHEMES)
@settings(deadline=None, max_examples=60)
@given(st.data(), st.integers(4, 20))
def test_bytes_give_every_tag_back(scheme, data, length):
    """Every character has tokens of its own, so words of whatever kind have one, if it is not in `</s>`."""
    example = data.draw(tagged(scheme).filter(lambda example: "</s>" not in example.text))
    task = Tag(tuple(schemes.all_tags(["X", "Y-Z"], scheme)), {"scheme": scheme})
    [answer] = round_trip(task, [example], BYTES, Window(length))
    assert answer.tags == example.tags
    found = {(entity.start, entity.end, entity.label) for entity in answer.entities}
    gold = {
        (example.words[start][0], example.words[end - 1][1], label)
        for start, end, label in schemes.entities(example.tags, scheme)
    }
    assert found == gold
    assert all(entity.text == example.text[entity.start : entity.end] for entity in answer.entities)


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("scheme", ["IOB2", "IOBES", "plain"])
@settings(deadline=None, max_examples=60)
@given(st.data(), st.integers(4, 20))
def test_whatever_tokens_tell_apart_comes_back(kind, scheme, data, length):
    """Words that share a token have one label, and words without a token no say; all others have their own."""
    example = data.draw(tagged(scheme))
    task = Tag(tuple(schemes.all_tags(["X", "Y-Z"], scheme)), {"scheme": scheme})
    [answer] = round_trip(task, [example], TOKENIZERS[kind], Window(length))
    assert len(answer.tags) == len(answer.probabilities) == len(example.words)
    offsets = TOKENIZERS[kind].encode_many([example.text], special=False)[0].offsets
    speaking = speakers(example.words, solid(example.text, offsets))
    gold, found = (schemes.entities(tags, scheme) for tags in (example.tags, answer.tags))
    for entity in gold:
        inside = {speaking[word] for word in range(entity.start, entity.end)} - {None}
        outside = {token for word, token in enumerate(speaking) if not entity.start <= word < entity.end}
        if scheme != "plain" and inside and not inside & outside:
            ends = speaking[entity.start] is not None and speaking[entity.end - 1] is not None
            assert entity in found if ends else any(one.label == entity.label for one in found)
    if len(groups(speaking)[0]) == len(example.words):
        assert answer.tags == example.tags


def test_each_word_counts_once_and_all_are_labelled():
    text = " ".join(f"w{number}" for number in range(60))
    words = words_of(text)
    example = TaggedExample(text, tuple(words), tuple(["O", "B-X"] * 30), "here")
    task = Tag(("O", "B-X", "I-X"), {"scheme": "IOB2"})
    units = task.units([example], BPE, Window(20, stride=5))
    assert len(units) > 5
    assert sum((unit.targets["tags"] >= 0).sum() for unit in units) == len(words)
    assert task.answers([example], units, perfect(task, units))[0].tags == example.tags


@pytest.mark.parametrize(("tags", "said"), [(["B-X", "E-X"], "IOBES"), (["NOUN", "VERB"], "plain labels")])
def test_a_scheme_that_is_guessed_is_said(caplog, tags, said):
    caplog.set_level("INFO", logger="unmask")
    records, columns = [Record({"tokens": ["a", "b"], "tags": tags}, "here")], {"tokens": "tokens", "tags": "tags"}
    Tag.learn(records, columns)
    assert caplog.messages == [f"The tags are read as {said} (another scheme: --scheme)."]
    Tag.learn(records, columns, scheme="plain")
    assert len(caplog.messages) == 1


def test_unlabelled_text_has_no_targets():
    task = Tag(("O", "B-X", "I-X"), {"scheme": "IOB2"})
    examples = task.examples(
        [Record({"text": "Paris, 北京"}, "here"), Record({"text": ""}, "there")], {"text": "text"}, labelled=False
    )
    units = task.units(examples, BPE, Window(50))
    assert [unit.targets for unit in units] == [{}]
    answers = task.answers(examples, units, [np.zeros((units[0].length, 3))])
    assert [len(answer.tags) for answer in answers] == [4, 0]


def test_a_text_without_tokens_is_labelled():
    """BERT drops control characters."""
    example = TaggedExample("\x00\x00", ((0, 1), (1, 2)), None, "here")
    for classes, settings_, tag in [
        (("O", "B-X", "I-X"), {"scheme": "IOB2"}, "O"),
        (("NN", "VB"), {"scheme": "plain"}, "NN"),
    ]:
        task = Tag(classes, settings_)
        assert task.units([example], TOKENIZERS["WordPiece"], Window(9)) == []
        assert task.answers([example], [], [])[0].tags == (tag, tag)


def test_a_probability_is_that_of_the_label():
    task = Tag(("O", "B-X", "I-X", "B-Y", "I-Y"), {"scheme": "IOB2"})
    example = TaggedExample("a b", ((0, 1), (2, 3)), None, "here")
    units = task.units([example], BPE, Window(9))
    logits_LC = np.full((units[0].length, 5), -30.0)
    logits_LC[units[0].positions] = np.log([[0.1, 0.2, 0.6, 0.05, 0.05], [0.05, 0.05, 0.4, 0.25, 0.25]])
    [answer] = task.answers([example], units, [logits_LC])
    assert answer.tags == ("B-X", "I-X")  # the model said I-X I-X, which conlleval reads as one entity
    [entity] = answer.entities
    assert entity[:4] == (0, 3, "X", "a b")
    assert entity.probability == pytest.approx(0.45)
    assert answer.probabilities == pytest.approx((0.6, 0.4))


@pytest.mark.parametrize(
    ("sentences", "scheme", "classes"),
    [
        (["a/B-X b/I-X c/O", "a/B-Y b/O"], "IOB2", ("O", "B-X", "I-X", "B-Y", "I-Y")),
        (["a/I-X b/O", "a/I-X b/B-X"], "IOB1", ("O", "B-X", "I-X")),
        (["a/U-X b/O c/B-X d/L-X"], "BILOU", ("O", "B-X", "I-X", "L-X", "U-X")),
        (["a/DT b/NN c/NN"], "plain", ("NN", "DT")),
    ],
)
def test_the_scheme_is_learned(sentences, scheme, classes):
    task = Tag.learn(conll(*sentences), CONLL)
    assert (task.scheme, task.classes) == (scheme, classes)
    assert task.metric == ("accuracy" if scheme == "plain" else "f1")
    assert Tag(task.classes).scheme == scheme or scheme == "IOB1"  # from the labels of a folder alone


def test_spans_are_learned_and_come_back():
    records = [Record({"text": "Visit New York!", "spans": [[6, 14, "LOC"]]}, "a.jsonl, line 1")]
    columns = {"text": "text", "spans": "spans"}
    task = Tag.learn(records, columns)
    assert task.classes == ("O", "B-LOC", "I-LOC")
    examples = task.examples(records, columns, labelled=True)
    answers = round_trip(task, examples, BPE, Window(30))
    assert [entity[:4] for entity in answers[0].entities] == [(6, 14, "LOC", "New York")]
    assert task.metrics(examples, answers) == {"precision": 1, "recall": 1, "f1": 1, "accuracy": 1}
    assert Tag.learn(records, columns, scheme="plain").classes == ("O", "LOC")


def test_no_boundary_inside_a_word_is_given_to_the_model(caplog):
    """The words of labelled texts are those of prediction, so a span inside a word cannot be found, and is missed."""
    whole = [Record({"text": "Visit New York!", "spans": [[6, 14, "LOC"]]}, f"line {n}") for n in range(11)]
    inside = Record({"text": "Toyotas sell in Rome", "spans": [[0, 6, "ORG"], [16, 20, "LOC"]]}, "line 12")
    columns = {"text": "text", "spans": "spans"}
    task = Tag.learn([*whole, inside], columns)
    assert task.settings["characters"] is False
    labelled = task.examples([inside], columns, labelled=True)
    assert labelled[0].words == task.examples([inside], {"text": "text"}, labelled=False)[0].words
    answers = round_trip(task, labelled, BPE, Window(30))
    assert [entity[:3] for entity in answers[0].entities] == [(0, 7, "ORG"), (16, 20, "LOC")]
    assert task.metrics(labelled, answers) == {"precision": 0.5, "recall": 0.5, "f1": 0.5, "accuracy": 1}
    assert "a label begins or ends inside a word or token (first: line 12)" in caplog.text


def test_where_spans_often_end_inside_words_characters_are_labelled(caplog):
    caplog.set_level("INFO", logger="unmask")
    records = [Record({"text": "서울에서 살아요", "spans": [[0, 2, "LOC"]]}, "line 1")]
    columns = {"text": "text", "spans": "spans"}
    task = Tag.learn(records, columns)
    assert task.settings["characters"]
    assert caplog.messages == ["1 of 1 spans begin or end inside a word, so characters are labelled one by one."]
    examples = task.examples(records, columns, labelled=True)
    answers = round_trip(task, examples, BYTES, Window(60))
    assert [entity[:4] for entity in answers[0].entities] == [(0, 2, "LOC", "서울")]
    assert task.metrics(examples, answers)["f1"] == 1


def test_plain_labels_are_compared_word_by_word():
    task = Tag(("NOUN", "VERB"), {"scheme": "plain"})
    [example] = task.examples(conll("a/NOUN b/NOUN c/VERB"), CONLL, labelled=True)
    said = TagAnswer(example.text, example.words, ("NOUN", "NOUN", "NOUN"), (1.0, 1.0, 1.0), ())
    gold, found = task.compared(example, said)
    noun = per_label([gold], [found])["NOUN"]
    assert (noun.precision, noun.recall) == (pytest.approx(2 / 3), 1)


def test_spans_that_say_another_text_are_told(caplog):
    spans = [{"start": 6, "end": 14, "label": "LOC", "text": "New York"}, {"start": 0, "end": 5, "label": "X"}]
    wrong = [{"start": 7, "end": 15, "label": "LOC", "text": "New York"}]
    records = [
        Record({"text": "Visit New York!", "spans": one}, f"a.jsonl, line {n}")
        for n, one in enumerate((spans, wrong), 1)
    ]
    columns = {"text": "text", "spans": "spans"}
    Tag.learn(records, columns).examples(records[:1], columns, labelled=True)
    assert not caplog.messages
    Tag.learn(records, columns).examples(records, columns, labelled=True)
    assert caplog.messages == [
        "Spans whose text is another than they say: 1 (first: a.jsonl, line 2: 'ew York!' is said to be 'New York'); "
        "offsets must count characters, not bytes or UTF-16 units."
    ]


def test_nothing_but_outside_is_told(caplog):
    records = conll("a/B-X b/O")
    task = Tag.learn(records, CONLL)
    examples = task.examples(records, CONLL, labelled=True)
    units = task.units(examples, BPE, Window(30))
    task.tune(examples, units, perfect(task, units))
    assert not caplog.messages
    nothing = [np.where(np.arange(len(task.classes)) == 0, 9.0, 0.0) * np.ones((unit.length, 1)) for unit in units]
    task.tune(examples, units, nothing)
    assert "No word of the 1 held-out texts gets a label but O" in caplog.text


def test_schemes_go_by_other_names():
    assert Tag.learn(conll("a/B-X b/O"), CONLL, scheme="bio").scheme == "IOB2"
    assert Tag.learn(conll("a/S-X b/O"), CONLL, scheme="BIOES").scheme == "IOBES"


def test_chinese_data_by_character_are_read_so():
    task = Tag.learn(conll("我/O 爱/O N/B-X B/I-X A/I-X"), CONLL)
    assert task.settings == {"scheme": "IOB2", "characters": True}
    [example] = task.examples([Record({"text": "看NBA 2"}, "here")], {"text": "text"}, labelled=False)
    assert [example.text[start:end] for start, end in example.words] == ["看", "N", "B", "A", "2"]
    assert not Tag.learn(conll("a/O b/B-X"), CONLL).settings["characters"]


def test_broken_sequences_are_said_once(caplog):
    records = conll("a/B-X b/O", "a/O b/I-X", "a/I-X b/B-X")
    task = Tag.learn(records, CONLL, scheme="IOB2")
    with caplog.at_level(logging.WARNING, "unmask"):
        examples = task.examples(records, CONLL, labelled=True)
    assert caplog.messages == [
        "2 of 3 tag sequences break IOB2 (first: a.conll, line 2); they are read by conlleval's rules."
    ]
    assert examples[1].tags == ("O", "B-X")


@pytest.mark.parametrize("tags", ["a/NN b/B-X", "a/O b/O"])
def test_odd_tags_beside_known_ones_and_no_tags_at_all_are_read(tags):
    examples = Tag(("O", "B-X", "I-X")).examples(conll(tags), CONLL, labelled=True)
    assert examples[0].tags == ("O", "B-X" if "B-X" in tags else "O")


def test_labels_inside_a_token_are_said(caplog):
    task = Tag(("O", "B-X", "I-X"), {"scheme": "IOB2"})
    example = TaggedExample("the", ((0, 1), (1, 3)), ("O", "B-X"), "a.conll, line 3")
    with caplog.at_level(logging.WARNING, "unmask"):
        task.units([example], TOKENIZERS["WordPiece"], Window(9))
    assert caplog.messages == [
        "In 1 of 1 texts a label begins or ends inside a word or token (first: a.conll, line 3); the whole of it is "
        "labelled, so such a label cannot be found."
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Tag.learn(conll("a/O b/O"), CONLL), "only the label 'O'; tagging needs two"),
        (lambda: Tag.learn([], CONLL), "only the label 'O'"),
        (lambda: Tag.learn(conll("a/a b/b"), CONLL), "The tags in 'tags' are the words themselves; say another column"),
        (
            lambda: Tag(tuple(f"T{n}" for n in range(30)), {"scheme": "plain"}).examples(
                conll("a/NN b/UH"), CONLL, labelled=True
            ),
            r"training data: T0, T1, .*, T19 and 10 more; train with",
        ),
        (lambda: Tag.learn(conll("a/NN b/NN"), CONLL), "only the label 'NN'"),
        (lambda: Tag.learn(conll("a/O"), CONLL, scheme="IOBX"), "no scheme 'IOBX'; choose one of IOB1"),
        (
            lambda: Tag(("O", "B-X", "I-X")).examples(conll("a/B-X", "a/O b/B-X c/B-Y"), CONLL, labelled=True),
            "line 2: the tag 'B-Y' at word 3, 'c', is not among those of the training data: O, B-X, I-X; "
            r"train with examples of it, or write O for it\.$",
        ),
        (
            lambda: Tag(("NN", "VB"), {"scheme": "plain"}).examples(conll("a/NN b/UH"), CONLL, labelled=True),
            "the tag 'UH' at word 2, 'b', is not among those of the training data: NN, VB; "
            r"train with examples of it, or write one of those for it\.$",
        ),
        (
            lambda: Tag(("O", "B-X", "I-X")).examples(
                [Record({"text": "to Paris", "spans": [[3, 8, "CITY"]]}, "here")],
                {"text": "text", "spans": "spans"},
                labelled=True,
            ),
            r"here: the tag 'B-CITY' at word 2, 'Paris', is .*; train with examples of it, or leave its span out\.$",
        ),
        (
            lambda: Tag(("O", "B-X", "I-X")).examples(conll("a/O b/O", "a/VB b/NN c/NN"), CONLL, labelled=True),
            r"line 2: none of the tags \(NN, VB\) is among those of the training data: O, B-X, I-X\.$",
        ),
        (lambda: Tag(("O", "B-X")).examples([], {"text": "t"}, labelled=True), "needs a column of tags or of spans"),
        (lambda: Tag(("O", "B-X")).units([], BPE, Window(2)), "window of 2 tokens has no room"),
    ],
)
def test_what_cannot_be_tagged(call, message):
    with pytest.raises(UserError, match=message):
        call()


REAL = {
    "conll2003/valid.txt.gz": 5942,
    "wnut17/dev.conll.gz": 836,
    "weibo/dev.conll.gz": 389,
}


@pytest.mark.parametrize("model", ["granite-embedding-30m-english", "bert-tiny"])
@pytest.mark.parametrize("file", REAL)
def test_every_entity_of_real_data_comes_back(shared, model, file):
    """Through windows of 24 tokens, so that many sentences need several."""
    records = read_records(shared / "data" / "ner" / file)
    columns = choose_columns("tag", records.names, records.sample)
    task = Tag.learn(records, columns)
    assert (task.scheme, task.settings["characters"]) == ("IOB2", "weibo" in file)
    examples = task.examples(records, columns, labelled=True)
    assert sum(len(schemes.entities(example.tags, "IOB2")) for example in examples) == REAL[file]
    answers = round_trip(task, examples, load_tokenizer(shared / "models" / model), Window(24))
    assert set(task.metrics(examples, answers).values()) == {1.0}
    assert [answer.tags for answer in answers] == [example.tags for example in examples]
