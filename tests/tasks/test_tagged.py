"""Tagged texts: words by rule, texts of tokens, spans by character."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odd_texts import TEXTS
from unmask import UserError
from unmask.data.readers import Record
from unmask.tasks.metrics.entities import Entity
from unmask.tasks.schemes import entities
from unmask.tasks.tagged import (
    by_character,
    cut_words,
    from_spans,
    from_tokens,
    join,
    listed,
    spans_of,
    tags_of,
    words_of,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's 5kg, 北京!", ["It", "'", "s", "5kg", ",", "北", "京", "!"]),
        ("nai\u0308ve हिन्दी", ["nai\u0308ve", "हिन्दी"]),
        ("日本のカメラ한국어", ["日", "本", "の", "カ", "メ", "ラ", "한국어"]),
        ("snake_case\n\u200b", ["snake", "_", "case", "\u200b"]),
        ("", []),
    ],
)
def test_words_by_rule(text, words):
    assert [text[start:end] for start, end in words_of(text)] == words


@given(TEXTS, st.booleans())
def test_words_hold_all_but_white_space(text, characters):
    words = words_of(text, characters=characters)
    assert "".join(text[start:end] for start, end in words) == "".join(text.split())
    assert all(end - start == 1 for start, end in words) or not characters


@pytest.mark.parametrize(
    ("tokens", "characters", "text"),
    [
        (["EU", "rejects", "German", "."], False, "EU rejects German ."),
        (["我", "爱", "New", "York", "，", "a"], False, "我爱New York，a"),
        (["N", "B", "A", "赛"], True, "NBA赛"),
        ([], False, ""),
        (["", "a"], False, " a"),
    ],
)
def test_joined_tokens(tokens, characters, text):
    joined, spans = join(tokens, characters=characters)
    assert joined == text
    assert [joined[start:end] for start, end in spans] == tokens


@given(st.lists(TEXTS), st.booleans())
def test_joined_tokens_are_where_they_are_said_to_be(tokens, characters):
    text, spans = join(tokens, characters=characters)
    assert [text[start:end] for start, end in spans] == tokens


LISTS = [
    ["B-X", "O"],
    ("B-X", "O"),
    np.array(["B-X", "O"]),
    '["B-X", "O"]',
    "B-X  O",
    "['B-X', 'O']",
    " ['B-X' 'O']\n",
    "['B-X'\n 'O']",
    "('B-X', 'O')",
    "[np.str_('B-X'), np.str_('O')]",
]


@pytest.mark.parametrize("value", LISTS)
def test_lists_of_tags(value):
    assert listed(Record({"t": value}, "a.csv, line 2"), "t") == ["B-X", "O"]


@pytest.mark.parametrize("value", ["[3, 0, -1]", "[ 3  0 -1]", "[np.int64(3), np.int64(0), np.int64(-1)]"])
def test_tags_that_are_numbers(value):
    assert listed(Record({"t": value}, "a.csv, line 2"), "t") == ["3", "0", "-1"]


@given(st.lists(TEXTS))
def test_lists_as_python_and_numpy_write_them(tokens):
    with np.printoptions(threshold=2**31):
        written = [str(tokens), str(np.array(tokens, object))]
    assert [listed(Record({"t": cell}, "here"), "t") for cell in written] == [tokens, tokens]


@pytest.mark.parametrize(
    "text",
    [
        "[ laughs ]",
        "[laughs loudly]",
        "[laughs, loudly] yes",
        "[CLS] a [SEP]",
        "[ yes , no ]",
        '[ " yes " ]',
        "( 1994 , 1995 )",
        '("so", \'he said)',
    ],
)
def test_words_with_brackets(text):
    assert listed(Record({"t": text}, "here"), "t") == text.split()


@pytest.mark.parametrize(
    "cell",
    [
        "['O',",
        "['O', 'B-LOC'",
        "['O', nan]",
        "['O' ... 'O']",
        "[B-LOC, O]",
        "[B-LOC,O]",
        "array(['B-LOC', 'O'], dtype=object)",
        "[B-LOC O]",
        "[B-LOC, O, B",
        "('O', nan)",
    ],
)
def test_a_list_that_is_broken_makes_no_tags(cell):
    with pytest.raises(UserError, match=r"a.csv, line 2: 't' holds neither a list nor words .* write it as JSON"):
        tags_of(Record({"t": cell}, "a.csv, line 2"), "t", len(cell.split()))


def test_a_text_that_begins_with_a_bracket():
    record = Record({"text": "[1] a  note", "tokens": "[1] a note"}, "here")
    assert listed(record, "tokens") == ["[1]", "a", "note"]
    assert from_tokens(record, {"text": "text"}, characters=False) == ("[1] a  note", [(0, 3), (4, 5), (7, 11)])


SPANS = [
    [{"start": 0, "end": 3, "label": "X"}],
    [[0, 3, "X"]],
    '[[0, 3, "X"]]',
    np.array([[0, 3, "X"]], object),
    "[{'start': 0, 'end': 3, 'label': 'X'}]",
    "[(0, 3, 'X')]",
    [{"start": 0.0, "end": 3.0, "label": "X"}],
    [{"start": 0, "end": 3, "labels": ["X"]}],
    [{"id": 4, "start_offset": 0, "end_offset": 3, "label": "X"}],
    [[0, 3, "X"], [0, 3, "X"]],
]


@pytest.mark.parametrize("value", SPANS)
def test_spans(value):
    assert spans_of(Record({"s": value}, "here"), "s", "New York") == [Entity(0, 3, "X")]
    assert spans_of(Record({"s": ""}, "here"), "s", "New York") == []


def test_words_are_as_in_prediction_and_belong_to_the_first_span_on_them():
    text, spans = "unbelievable 北京 ", [Entity(2, 7, "X"), Entity(7, 12, "Y"), Entity(12, 16, "Z")]
    words = words_of(text)
    tags, bare = from_spans(text, spans, words, "IOB2")
    assert tags == ["B-X", "B-Z", "I-Z"]
    assert bare == [Entity(2, 7, "X"), Entity(7, 12, "Y"), Entity(13, 15, "Z")]
    assert cut_words(spans, words) == 2
    assert by_character([Entity(1, 3, "Z")], words) == bare[2:]


@given(st.data(), TEXTS)
def test_spans_come_back_from_characters(data, text):
    """Where each character is a word, every span is whole, but for white space at its ends."""
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    spans = [Entity(*cut, "X") for cut in pairwise(cuts) if text[slice(*cut)].strip()]
    words = words_of(text, characters=True)
    tags, bare = from_spans(text, spans, words, "IOB2")
    assert [text[one.start : one.end] for one in bare] == [text[one.start : one.end].strip() for one in spans]
    assert by_character(entities(tags, "IOB2"), words) == bare
    assert cut_words(bare, words) == 0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[0, 3, "X"], [2, 5, "Y"]], r"line 7: the spans \(0, 3, 'X'\) and \(2, 5, 'Y'\) overlap"),
        ([[3, 3, "X"]], "no span of a text of 8 characters"),
        ([[0, 9, "X"]], "no span of a text of 8 characters"),
        ([[3, 4, "X"]], "around some words"),
        ([["0", 3, "X"]], "must have two whole numbers and a label"),
        ([[0, 3, " "]], "must have two whole numbers and a label"),
        ([{"start": 0, "label": "X"}], "must have two whole numbers and a label"),
        ([{"start": 0, "end": 3, "type": "X"}], "must have two whole numbers and a label"),
        ([7], "7 must have two whole numbers and a label"),
        ("nonsense", r"spans must be a list of \[start, end, label\], but 'nonsense' came; write it as JSON"),
        ([{"start": 0, "end": 3, "label": ["X", "Y"]}], "must have two whole numbers and a label"),
        ([{"start": 0, "end": 3.5, "label": "X"}], "must have two whole numbers and a label"),
        (None, "but None came"),
    ],
)
def test_what_is_no_span(value, message):
    with pytest.raises(UserError, match=message):
        spans_of(Record({"s": value}, "a.jsonl, line 7"), "s", "New York")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"t": ["O"]}, "here: 2 words came with 1 tags"),
        ({"t": None}, "'t' must hold a list of texts, but None came"),
        ({"t": [None, "O"]}, "must hold a list of texts"),
    ],
)
def test_what_are_no_tags(values, message):
    with pytest.raises(UserError, match=message):
        tags_of(Record(values, "here"), "t", 2)


def test_a_label_may_be_a_number():
    assert spans_of(Record({"spans": [[0, 3, 0]]}, "line 7"), "spans", "ein Text") == [Entity(0, 3, "0")]


def test_a_tag_that_is_empty_is_named():
    record = Record({"tags": ["B-PER", "", "O"]}, "line 7")
    with pytest.raises(UserError, match="line 7: the tag of word 2 is empty; a word that is part of nothing has O"):
        tags_of(record, "tags", 3)
    assert tags_of(Record({"tags": [0, 1, 0]}, "line 8"), "tags", 3) == ["0", "1", "0"]
