"""Filling masks without a model: masks found, windows around them, tokens put in with their spaces."""

import numpy as np
import pytest

import fill_tokenizers
from unmask import UserError
from unmask.tasks.fill import filled, read_masks, windows

BERT, ROBERTA, XLM = fill_tokenizers.bert(), fill_tokenizers.roberta(), fill_tokenizers.xlm_roberta()


def put(tokenizer, text, *tokens):
    """The text with these tokens in the place of its masks."""
    ids = np.array([[tokenizer.rust.token_to_id(token)] for token in tokens])
    masked = read_masks([text], tokenizer, 100)[0]
    return filled(masked, ids, np.ones(ids.shape), tokenizer)


@pytest.mark.parametrize(
    ("tokenizer", "text", "token", "expected"),
    [
        (ROBERTA, "Paris is <mask> city.", "Ġthe", "Paris is the city."),
        (ROBERTA, "Paris is [MASK] city.", "Ġthe", "Paris is the city."),
        (ROBERTA, "Paris is the <mask>.", "m", "Paris is them."),
        (ROBERTA, "<mask> city.", "Ġthe", "the city."),
        (ROBERTA, "<mask>is", "P", "Pis"),
        (ROBERTA, "Paris<mask>city", "Ġis", "Paris iscity"),
        (ROBERTA, "a\n<mask>", "Ġis", "a\nis"),
        (ROBERTA, "a\n<mask>", "is", "a\nis"),
        (BERT, "Paris is the [MASK] of France.", "capital", "Paris is the capital of France."),
        (BERT, "Paris is the <mask> of France.", "capital", "Paris is the capital of France."),
        (BERT, "a walk [MASK].", "##ing", "a walking."),
        (BERT, "北[MASK]是中国的首都", "京", "北京是中国的首都"),
        (XLM, "Paris is <mask> city.", "▁the", "Paris is the city."),
        (XLM, "the city<mask>", "s", "the citys"),
        (XLM, "<mask>的 city", "▁北京", "北京的 city"),
    ],
)
def test_a_token_takes_its_space_along(tokenizer, text, token, expected):
    answer = put(tokenizer, text, token)
    assert answer.filled == expected
    assert answer.masks[0].candidates[0].filled == expected
    assert answer.text == text


def test_several_masks():
    answer = put(ROBERTA, "Paris <mask> [MASK] city<mask>", "Ġis", "Ġthe", ".")
    assert answer.filled == "Paris is the city."
    assert [mask.candidates[0].filled for mask in answer.masks] == [
        "Paris is [MASK] city<mask>",
        "Paris <mask> the city<mask>",
        "Paris <mask> [MASK] city.",
    ]
    assert [mask.candidates[0].text for mask in answer.masks] == [" is", " the", "."]
    assert put(BERT, "[MASK]", "##ing").masks[0].candidates[0].text == "ing"


def test_rows_are_what_the_tokenizer_gives():
    [masked] = read_masks(["paris is the <mask>."], BERT, 100)
    assert [row.ids for row in masked.rows] == [BERT.encode("paris is the [MASK].").ids]
    assert [row.positions for row in masked.rows] == [[4]]
    assert read_masks([], BERT, 100) == []


def test_windows_keep_the_mask_in_their_middle():
    ids, frame = [101, *range(20), 102], [True, *[False] * 20, True]
    assert [row.ids for row in windows(ids, [3], frame, 22)] == [ids]
    rows = windows(ids, [1, 11, 20], frame, 8)
    assert [row.ids for row in rows] == [
        [101, 0, 1, 2, 3, 4, 5, 102],
        [101, 7, 8, 9, 10, 11, 12, 102],
        [101, 14, 15, 16, 17, 18, 19, 102],
    ]
    assert [[row.ids[place] for place in row.positions] for row in rows] == [[0], [10], [19]]
    with pytest.raises(UserError, match="reads 2 tokens, too few for a mask and 2 special tokens"):
        windows(ids, [3], frame, 2)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["Paris is nice."], r"The text has no mask: 'Paris is nice\.'; write <mask>"),
        (["<mask>", ""], "Text 2 of 2 has no mask: ''"),
        (["long " * 40], "long…'; write <mask>"),
        ("<mask>", "must be a list of texts, but a str came"),
        ([None], "None is a NoneType"),
    ],
)
def test_what_cannot_be_filled(texts, message):
    with pytest.raises(UserError, match=message):
        read_masks(texts, BERT, 100)


def test_a_tokenizer_that_does_not_know_its_mask():
    tokenizer = fill_tokenizers.bert()
    tokenizer.settings["mask_token"] = "walk"
    with pytest.raises(UserError, match="reads 1 times walk as 0 masks"):
        read_masks(["paris<mask>"], tokenizer, 100)
