"""Texts and pairs as a model reads them: cut by BERT's rule, or in windows that leave no token out."""

import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny_tokenizers
from unmask import UserError
from unmask.data.readers import Record
from unmask.tasks.texts import TextExample, sequences_of, shortened, text_of, texts_of, without_empty
from unmask.tasks.units import Window

TOKENIZERS = {"bert": tiny_tokenizers.bert(), "roberta": tiny_tokenizers.roberta()}
words = st.lists(st.sampled_from(["the", "and", "of", "x", "yz", "to"]), max_size=30).map(" ".join)


def example(text, pair=None):
    return TextExample(text, pair, None, "line 1")


def bert_rule(a, b, room):
    """`_truncate_seq_pair` of BERT's run_classifier.py: token by token from the longer one, the second if equal."""
    a, b = list(a), list(b)
    while len(a) + len(b) > room:
        (a if len(a) > len(b) else b).pop()
    return [a, b]


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 60))
def test_pairs_are_shortened_as_bert_does(n, m, room):
    a, b = list(range(n)), list(range(100, 100 + m))
    assert shortened([a, b], room) == bert_rule(a, b, room)


@given(st.integers(0, 40), st.integers(0, 60))
def test_one_text_loses_its_end(n, room):
    assert shortened([list(range(n))], room) == [list(range(n))[:room]]


@settings(deadline=None)
@given(st.sampled_from(sorted(TOKENIZERS)), words, st.none() | words, st.integers(8, 40))
def test_a_cut_text_is_as_long_as_may_be(family, text, pair, length):
    tokenizer = TOKENIZERS[family]
    whole = tokenizer.encode(text, pair)
    ((sequence,),) = sequences_of([example(text, pair)], tokenizer, Window(length))
    assert len(sequence.ids) == len(sequence.segments) == min(length, len(whole.ids))
    if len(whole.ids) <= length:
        assert (sequence.ids, sequence.segments) == (whole.ids, whole.segments)
    special = [i for i, text_ in zip(whole.ids, whole.texts, strict=True) if text_ is None]
    assert [i for i in sequence.ids if i in special] == special


@settings(deadline=None)
@given(st.sampled_from(sorted(TOKENIZERS)), words, st.integers(8, 40), st.integers(0, 4))
def test_windows_hold_every_token(family, text, length, stride):
    tokenizer = TOKENIZERS[family]
    whole = tokenizer.encode(text)
    inside = [i for i, text_ in zip(whole.ids, whole.texts, strict=True) if text_ is not None]
    (windows,) = sequences_of([example(text)], tokenizer, Window(length, stride))
    assert all(len(window.ids) <= length for window in windows)
    n_special = len(whole.ids) - len(inside)
    begin = 0
    for window in windows:  # each takes up the tokens where the one before it ended, or earlier
        tokens = window.ids[1 : len(window.ids) - n_special + 1]
        starts = [at for at in range(begin + 1) if inside[at : at + len(tokens)] == tokens]
        assert starts
        begin = max(begin, max(starts) + len(tokens))
    assert begin == len(inside)


@settings(deadline=None)
@given(words, st.lists(st.sampled_from(["of", "to"]), min_size=1, max_size=60).map(" ".join))
def test_windows_over_a_pair_hold_every_token_of_the_second(text, pair):
    tokenizer, length, stride = TOKENIZERS["bert"], 24, 3
    (windows,) = sequences_of([example(text, pair)], tokenizer, Window(length, stride))
    found = [[i for i, s in zip(w.ids, w.segments, strict=True) if s == 1][:-1] for w in windows]
    second = tokenizer.encode_many([pair], special=False)[0].ids
    assert sum(map(len, found)) >= len(second)
    assert found[0] == second[: len(found[0])]
    assert found[-1] == second[len(second) - len(found[-1]) :]
    assert all(len(w.ids) <= length for w in windows)


def test_what_is_cut_is_said(caplog):
    texts = [example("the and of"), TextExample("the " * 30, None, None, "a.csv, line 7")]
    with caplog.at_level(logging.WARNING):
        sequences_of(texts, TOKENIZERS["bert"], Window(10))
    assert (
        "1 of 2 texts are longer than 10 tokens and were cut (the longest, a.csv, line 7, has 32); "
        "pass --stride to read them whole, in windows." in caplog.text
    )
    caplog.clear()
    sequences_of(texts, TOKENIZERS["bert"], Window(10, 2))
    assert not caplog.text


def test_a_first_text_that_windows_cannot_hold_is_said(caplog):
    """Windows move over the second text; of the first, half a window at most stands in each."""
    with caplog.at_level(logging.WARNING):
        sequences_of([example("the " * 30, "of " * 5)], TOKENIZERS["bert"], Window(12, 2))
    assert "1 of 1 first texts of pairs are longer than 4 tokens and were cut (the first: line 1)" in caplog.text


def test_windows_over_a_pair_of_long_texts_are_few():
    (windows,) = sequences_of([example("the " * 200, "of " * 200)], TOKENIZERS["bert"], Window(64, 16))
    assert len(windows) < 16


def test_a_short_second_text_takes_no_more_room_than_it_needs(caplog):
    """As much of the first is read with a stride as without."""
    long = [example("the " * 30, "of")]
    with caplog.at_level(logging.WARNING):
        ((cut,),) = sequences_of(long, TOKENIZERS["bert"], Window(24))
    assert "--stride" not in caplog.text  # it would not help
    with caplog.at_level(logging.WARNING):
        sequences_of([example("of", "the " * 30)], TOKENIZERS["bert"], Window(24))
    assert "pass --stride to read second texts whole, in windows; of first ones half a window is read" in caplog.text
    ((window,),) = sequences_of(long, TOKENIZERS["bert"], Window(24, 8))
    assert window == cut
    assert len(window.ids) == 24


def test_windows_without_room():
    for pair, special in ((None, 2), ("of " * 9, 3)):
        with pytest.raises(UserError, match=f"3 tokens hold no text beside {special} special ones" if pair else ".*"):
            sequences_of([example("the " * 9, pair)], TOKENIZERS["bert"], Window(3 if pair else 2))


def test_no_examples():
    assert sequences_of([], TOKENIZERS["bert"], Window(10)) == []


def test_examples_without_text_are_left_out_and_told(caplog):
    kept = without_empty([example("a"), TextExample(" \n", "", 0, "x.csv, line 3"), example("", "b")])
    assert [(one.text, one.pair) for one in kept] == [("a", None), ("", "b")]
    assert "1 of 3 examples have no text and are left out; the first is x.csv, line 3." in caplog.text


def test_empty_texts_are_answered_and_told(caplog):
    examples = [TextExample("cat", None, None, "line 1"), TextExample(" ", None, None, "line 2")]
    assert len(sequences_of(examples, tiny_tokenizers.bert(), Window(8))) == 2
    assert "1 of 2 texts are empty (the first: line 2)" in caplog.text


def test_pairs_with_one_text_are_answered_and_told(caplog):
    examples = [TextExample("cat", "mat", None, "line 1"), TextExample("cat", " ", None, "line 2")]
    assert len(sequences_of([*examples, TextExample("", "", None, "line 3")], tiny_tokenizers.bert(), Window(8))) == 3
    assert "1 of 3 pairs have one text only (the first: line 2); the other is read as an empty one." in caplog.text


def test_texts_of_records():
    record = Record({"a": "one", "b": None, "c": 5, "d": ["x"]}, "x.csv, line 2")
    assert texts_of(record, {"text": "a"}) == ("one", None)
    assert texts_of(record, {"text": "c", "pair": "b"}) == ("5", "")
    for column, message in (
        ("e", "x.csv, line 2: there is no 'e', only a, b, c, d."),
        ("d", "x.csv, line 2: 'd' must hold a text, not a list."),
    ):
        with pytest.raises(UserError) as error:
            text_of(record, column)
        assert str(error.value) == message
