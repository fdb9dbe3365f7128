"""Unigram: EM finds what enumeration of all segmentations finds; pieces of a text made of known words."""

import itertools
import math
import random

import numpy as np
import pytest

from unmask.text.unigram import _digamma, _find_seeds, _Lattice, _lay_out, train_unigram


def segmentations(word, pieces):
    if not word:
        yield []
    for end in range(1, len(word) + 1):
        if word[:end] in pieces:
            yield from ([word[:end], *rest] for rest in segmentations(word[end:], pieces))


@pytest.fixture
def example():
    draw = random.Random(0)
    counts = {"".join(draw.choices("abc", k=n)): draw.randint(1, 5) for n in (1, 2, 3, 4, 5, 6, 7, 7, 7)}
    counts = {word: counts[word] for word in sorted(counts)}
    alphabet, words = _lay_out(list(counts), np.array(list(counts.values())))
    seeds, scores_P = _find_seeds(alphabet, words, 100, ())
    return counts, seeds.names, scores_P, _Lattice(words, seeds)


def test_expected_counts_and_best_ways_are_those_of_all_segmentations(example):
    counts, names, scores_P, lattice = example
    score = dict(zip(names, scores_P, strict=True))
    expected, best = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0)
    for word, n in counts.items():
        ways = list(segmentations(word, score))
        weights = [math.exp(sum(score[piece] for piece in way)) for way in ways]
        for way, weight in zip(ways, weights, strict=True):
            for piece in way:
                expected[piece] += n * weight / sum(weights)
        for piece in ways[int(np.argmax(weights))]:
            best[piece] += n
    np.testing.assert_allclose(lattice.expected(scores_P), [expected[name] for name in names], rtol=1e-9)
    pieces, owners = lattice.best(scores_P)
    found = np.bincount(pieces, lattice.words.counts_W[owners], minlength=len(names))
    assert sum(found * scores_P) == pytest.approx(sum(best[name] * score[name] for name in names))


def test_seeds_are_the_repeated_substrings(example):
    counts, names, _, _ = example
    substrings = {}
    for word, n in counts.items():
        for start, end in itertools.combinations(range(len(word) + 1), 2):
            substrings[word[start:end]] = substrings.get(word[start:end], 0) + n
    assert set("abc") < set(names)
    for name in names:
        assert len(name) == 1 or substrings[name] >= 2
    # One that is left out although it is repeated is always followed by the same character.
    for missing in set(substrings) - set(names):
        assert substrings[missing] < 2 or substrings[missing] in [substrings.get(missing + c) for c in "abc"]


def test_words_of_a_made_up_language_become_pieces():
    draw = random.Random(0)
    stems = ["".join(draw.choices("abcdefghijklmnop", k=6)) for _ in range(20)]
    words = {}
    for _ in range(3000):
        word = "▁" + draw.choice(stems) + draw.choice(["", "ing", "ed"])
        words[word] = words.get(word, 0) + 1
    pieces = train_unigram({word: words[word] for word in sorted(words)}, 40)
    assert len(pieces) == 40
    names = [name for name, _ in pieces]
    assert {"▁" + stem for stem in stems} <= set(names)
    assert set("".join(words)) <= set(names)
    assert [score for _, score in pieces] == sorted((score for _, score in pieces), reverse=True)


def test_special_tokens_are_no_pieces_and_no_word_is_empty():
    assert "<s>" not in dict(train_unigram({"<s>": 50, "ab": 9, "abc": 4}, 20, forbidden=["<s>"]))
    with pytest.raises(ValueError, match="empty word"):
        train_unigram({"": 1, "a": 2}, 5)


def test_digamma():
    """Against the differences that define it: ψ(x + 1) = ψ(x) + 1/x, and ψ(1) = −γ."""
    x = np.array([0.5, 1, 2.5, 6.9, 7, 100, 1e9])
    np.testing.assert_allclose(_digamma(x + 1), _digamma(x) + 1 / x, rtol=1e-10)
    assert _digamma(np.array([1.0]))[0] == pytest.approx(-0.5772156649015329, abs=1e-10)
