"""Pieces are cut where nothing is lost: tokens, words and sentences are those of the whole text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiny_tokenizers
from unmask.corpus.pieces import pieces_of
from unmask.corpus.tokenizing import BatchTokenizer, Recipe
from unmask.data.shards import SENTENCE, WORD


@given(st.text(st.sampled_from("ab .。\n"), max_size=300), st.integers(5, 60))
def test_joined_they_are_the_text_and_none_is_too_long(text, largest):
    pieces = list(pieces_of(text, largest))
    assert "".join(piece for piece, _ in pieces) == text
    assert all(0 < len(piece) <= largest for piece, _ in pieces) or text == ""
    assert pieces[0][1] == WORD | SENTENCE


def test_where_they_are_cut():
    assert list(pieces_of("One two. Three four. Five", 20)) == [("One two.", 3), (" Three four. Five", 3)]
    assert list(pieces_of("one two three four five six", 14)) == [("one two", 3), (" three four", 1), (" five six", 1)]
    assert list(pieces_of("x" * 25, 10)) == [("x" * 10, 3), ("x" * 10, 0), ("x" * 5, 0)]
    assert list(pieces_of("One.\nTwo three", 10)) == [("One.\n", 3), ("Two three", 3)]


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_tokens_and_begins_are_those_of_the_whole(kind, shared, monkeypatch):
    import gzip

    with gzip.open(shared / "data/corpus/gutenberg/carroll-alice.txt.gz", "rt", encoding="utf-8") as file:
        text = " ".join(file.read().split())[:60_000]
    tokenizer = getattr(tiny_tokenizers, kind)()
    tokenize = BatchTokenizer(Recipe(tokenizer.rust.to_str(), tokenizer.settings, "none", with_signatures=False))
    whole = tokenize([text])
    monkeypatch.setattr("unmask.corpus.pieces.LARGEST_PIECE", 5_000)
    monkeypatch.setattr("unmask.corpus.tokenizing.pieces_of", lambda text: pieces_of(text, 5_000))
    cut = tokenize([text])
    assert (whole.ids == cut.ids).all()
    assert whole.ends.tolist() == cut.ends.tolist()
    assert np.mean((whole.begins & WORD) != (cut.begins & WORD)) == 0
    # A cut may hide what stands before a sentence, so a few of its ends may differ.
    assert ((whole.begins ^ cut.begins) & SENTENCE > 0).sum() <= 12
