"""Characters and tokens: spaces, bytes, unknown runs and characters that no token is on."""

import numpy as np
import pytest
from hypothesis import given, settings

from odd_texts import TEXTS, TOKENIZERS
from unmask.tasks.spans import cover, groups, outermost, solid, speakers


@pytest.mark.parametrize(
    ("text", "offsets", "expected"),
    [
        ("a  b", [(0, 1), (1, 2), (1, 4)], [(0, 1), (1, 1), (3, 4)]),
        ("a b ", [(0, 2), (2, 4)], [(0, 1), (2, 3)]),
        ("\u3000x", [(0, 2)], [(1, 2)]),
        ("e\u0301 x", [(0, 1), (3, 4)], [(0, 2), (3, 4)]),
        ("e\u0301x", [(0, 1), (1, 2), (2, 3)], [(0, 1), (1, 2), (2, 3)]),
        ("", [], []),
    ],
)
def test_white_space_is_taken_off(text, offsets, expected):
    assert [tuple(row) for row in solid(text, offsets).tolist()] == expected


def test_a_span_has_one_way():
    bytes_of_emoji = np.array([[0, 1], [2, 3], [2, 3], [2, 3], [3, 3], [3, 5]])
    begins, finishes = outermost(bytes_of_emoji)
    assert begins.tolist() == [True, True, False, False, False, True]
    assert finishes.tolist() == [True, False, False, True, False, True]
    assert cover(bytes_of_emoji, 2, 3) == (1, 3)
    assert cover(bytes_of_emoji, 2, 4) == (1, 5)
    assert cover(bytes_of_emoji, 1, 2) is None


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(deadline=None)
@given(TEXTS)
def test_a_cover_is_the_smallest(kind, text):
    offsets_N2 = solid(text, TOKENIZERS[kind].encode_many([text], special=False)[0].offsets)
    begins, finishes = outermost(offsets_N2)
    for start in range(len(text)):
        for end in range(start + 1, min(len(text), start + 4) + 1):
            on_it = [i for i, (a, b) in enumerate(offsets_N2.tolist()) if a < b and a < end and b > start]
            found = cover(offsets_N2, start, end)
            assert (found is None) == (not on_it)
            if found:
                assert offsets_N2[found[0], 0] == offsets_N2[on_it[0], 0]
                assert offsets_N2[found[1], 1] == offsets_N2[on_it[-1], 1]
                assert begins[found[0]]
                assert finishes[found[1]]


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(deadline=None)
@given(TEXTS)
def test_a_speaker_is_on_its_word(kind, text):
    offsets_N2 = solid(text, TOKENIZERS[kind].encode_many([text], special=False)[0].offsets)
    words = [(i, min(len(text), i + 2)) for i in range(0, len(text), 2)]
    found = speakers(words, offsets_N2)
    for (start, end), token in zip(words, found, strict=True):
        on_it = [i for i, (a, b) in enumerate(offsets_N2.tolist()) if a < b and a < end and b > start]
        assert token in on_it if on_it else token is None
    spoken = [token for token in found if token is not None]
    assert spoken == sorted(spoken)
    tokens, spans = groups(found)
    assert tokens == sorted(set(spoken))
    assert [found[first] for first, _ in spans] == tokens


def test_words_that_share_a_token():
    unknown = np.array([[0, 6], [6, 8]])
    assert speakers([(0, 2), (2, 4), (4, 7), (7, 8)], unknown) == [0, 0, 1, 1]
    assert groups([None, 0, 0, None, 2]) == ([0, 2], [(1, 3), (4, 5)])
    assert speakers([(3, 3), (0, 1)], np.zeros((0, 2), np.int64)) == [None, None]
