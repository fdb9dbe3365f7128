"""Names of columns as they are compared."""

import pytest

from unmask.data import names
from unmask.data.names import SEVERAL_CHOICES, ends_in, is_known, is_measure, plain


def test_names_as_they_are_compared():
    assert plain(" Sentence 1 ") == plain("sentence-1") == "sentence_1"


@pytest.mark.parametrize("name", ["Text", "LABEL", "sentence2", "Question Text", "标签", "ending0", "选项A", "index"])
def test_known(name):
    assert is_known(name)


@pytest.mark.parametrize("name", ["", "good", "news_edu", "42", "我的花呗账单", "ending", "endings are sad"])
def test_unknown(name):
    assert not is_known(name)


def test_names_are_sorted_out_of_those_that_are_looked_for():
    assert set(names.FIRST_HALVES) <= {first for first, _ in names.PAIRS} & set(names.FULL_TEXT)
    assert {*names.SCORES, *names.CERTAIN_LABEL} <= set(names.LABEL)


def test_numbered_choices():
    assert SEVERAL_CHOICES.fullmatch("option_b")[2] == "b"


def test_the_last_word_of_a_name():
    for name in ("Star Rating", "starRating", "star_rating", "STAR-RATING", "star.rating", "rating"):
        assert ends_in(name, "rating"), name
    assert not ends_in("operating", "rating")
    assert not ends_in("rating_count", "rating")
    assert ends_in("商品评分", "评分")


def test_measures():
    for name in ("id", "ProductId", "retweet_count", "sentiment_confidence", "Review Date", "created_at", "n_words"):
        assert is_measure(name), name
    for name in ("Class Index", "label_id", "star_rating", "评分", "分数", "valid", "1", "", "Recommended IND"):
        assert not is_measure(name), name
    assert is_measure("点赞数")
    assert is_measure("用户ID")
