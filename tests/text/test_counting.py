"""Counting of words: exactly those of the pre-tokenizer, in any order, thinned alike."""

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import normalizers, pre_tokenizers

from unmask.text.counting import WordCounts, chunks, lines

BYTE_LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False)
TEXT = st.one_of(st.text(max_size=60), st.text(alphabet="ab1!' \n\t\u3000\x1c好é\u0301，", max_size=40))


def words(text):
    return [word for word, _ in BYTE_LEVEL.pre_tokenize_str(text)]


def counted(texts, ceiling=1 << 40):
    found = WordCounts(split=words, cost=lambda word: 100 + len(word), ceiling=ceiling)
    for _ in found.add(texts):
        pass
    return found


@settings(deadline=None, max_examples=300)
@given(TEXT)
def test_parts_of_a_text_have_the_words_of_the_whole(text):
    assert "".join(lines(text)) == text
    assert [word for line in lines(text) for chunk in chunks(line) for word in words(chunk)] == words(text)


@settings(deadline=None, max_examples=100)
@given(TEXT)
def test_so_it_is_with_berts_words(text):
    # These three part words for everybody but BERT, which takes them out; so does the normalization of a corpus.
    text = text.translate(dict.fromkeys(map(ord, "\x0b\x0c\x85"), " "))
    normalizer, before = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()

    def bert(part):
        return [word for word, _ in before.pre_tokenize_str(normalizer.normalize_str(part))]

    for apart in (False, True):
        parts = [chunk for line in lines(text) for chunk in chunks(line, han_apart=apart)]
        assert "".join(parts) == text
        assert [word for part in parts for word in bert(part)] == bert(text)


def test_counts_are_those_of_a_counter():
    draw = random.Random(0)
    texts = [" ".join(draw.choices(["a", "be", "see", "好"], k=9)) for _ in range(500)]
    found = counted(texts)
    assert found.counts() == Counter(word for text in texts for word in words(text))
    assert list(found.counts()) == sorted(found.counts())
    assert (found.level, found.share, found.n_texts) == (0, 1.0, 500)
    assert found.n_bytes == sum(len(text.encode()) for text in texts)


def test_the_sample_does_not_depend_on_the_order():
    texts = [f"word{i} of{i % 50} line{i}" for i in range(30_000)]
    results = []
    for seed in range(3):
        random.Random(seed).shuffle(texts)
        found = counted(texts, ceiling=1_000_000)
        results.append((found.level, found.share, found.counts(), found.shown()))
    assert results[0] == results[1] == results[2]
    level, share, counts, shown = results[0]
    assert level > 3
    assert abs(share - 0.75**level) < 0.1 * share
    assert sum(100 + len(word) for word in counts) <= 1_000_000
    assert len(shown) == 200


def test_a_level_more_is_a_sample_of_the_sample():
    texts = [f"w{i}" for i in range(2_000)]
    found = counted(texts)
    before = found.counts()
    found.thin()
    assert set(found.counts()) < set(before)
    assert 0.7 < found.n_words / len(before) < 0.8


def test_a_long_line_is_cut_at_a_space():
    parts = list(lines("ab cd " * 50_000))
    assert max(map(len, parts)) <= 100_000
    assert "".join(parts) == "ab cd " * 50_000
    assert all(part.startswith(" ") for part in parts[1:])
    assert [len(part) for part in lines("x" * 250_000)] == [100_000, 100_000, 50_000]
