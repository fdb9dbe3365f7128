"""What the values of a column look like."""

import pytest

from unmask.data import contents


@pytest.mark.parametrize(
    ("values", "are"),
    [
        (["1", "2.5", None], {"are_numbers", "are_mostly_numbers", "any_fraction", "are_uncounted_numbers"}),
        (["1", "2", "3"], {"are_numbers", "are_mostly_numbers"}),  # they count the rows
        (["a good film", "a dull story", ""], {"are_words", "are_texts", "are_lists"}),
        (["一部好电影", "无聊的故事", "还可以的剧本"], {"are_words", "are_texts"}),
        (["2015-02-01T11:35:52 -0800", "2 March 2010, 1:00 pm", "2010-04-05 6:00"], {"are_words"}),
        (["Mon Apr 06 22:19:45 PDT 2009", "Tue Apr 07 01:00:00 PDT 2009", "7 May 2009"], {"are_words"}),
        (["2015年2月1日", "2015年2月2日 上午9时", "2015年12月3日"], {"are_words"}),
        (["May 68 was hot", "on 3 March at 9:00 sharp", "12 monkeys"], {"are_words", "are_texts"}),
        (["good", "bad", "good", "bad", "bad", "good"], {"are_words", "are_classes", "may_be_classes"}),
        ([["a"], ["b", "c"], ["d"]], {"are_lists", "any_list"}),
        ([True, False], {"are_classes"}),
        (["1", "x", "y"], {"are_words"}),
    ],
)
def test_what_values_are(values, are):
    for name in ("are_numbers", "are_mostly_numbers", "are_words", "are_texts", "are_classes", "any_list"):
        assert getattr(contents, name)(values) == (name in are), name
    for name in are:
        assert getattr(contents, name)(values), name
    if are >= {"are_numbers"}:
        assert contents.are_uncounted_numbers(values) == ("are_uncounted_numbers" in are)


def test_texts_that_are_much_longer():
    assert contents.much_longer(["four words and more", None], ["a word", ""])
    assert not contents.much_longer(["three more words"], ["these are three"])


def test_grades_are_small():
    assert contents.are_grades(["-1", 0, "5.0", None])
    assert not contents.are_grades(["1", "2401"])


def test_missing_values_are_none():
    assert contents.filled(["", None, 0, "a"]) == [0, "a"]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("1,339", "write 1339 if the comma parts thousands, 1.339 if decimals"),
        ("4,5", "write a point for its comma"),
        ("four", None),
    ],
)
def test_a_number_with_a_comma(value, told):
    assert contents.without_comma(value) == told
