"""Names of columns as they are compared."""

import pytest

from unmask.data.names import SEVERAL_CHOICES, is_known, plain


def test_names_as_they_are_compared():
    assert plain(" Sentence 1 ") == plain("sentence-1") == "sentence_1"


@pytest.mark.parametrize("name", ["Text", "LABEL", "sentence2", "Question Text", "标签", "ending0", "选项A", "index"])
def test_known(name):
    assert is_known(name)


@pytest.mark.parametrize("name", ["", "good", "news_edu", "42", "我的花呗账单", "ending", "endings are sad"])
def test_unknown(name):
    assert not is_known(name)


def test_numbered_choices():
    assert SEVERAL_CHOICES.fullmatch("option_b")[2] == "b"
