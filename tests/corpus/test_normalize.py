"""Normalization does what its docstring says, once and for all."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.corpus import normalize as module
from unmask.corpus.normalize import check_form, normalize
from unmask.errors import UserError


def test_the_example_of_the_docstring():
    assert doctest.testmod(module).attempted == 1
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a\r\nb\rc\x0bd\x0ce\x85f\u2028g\u2029h", "a\nb\nc\nd\ne\nf\ng\nh"),
        ("e\u0301", "é"),
        ("\ufeffa\u200bb\xadc\x00\x07\x1b\x9fd", "abcd"),
        ("a \t\u3000\xa0 b", "a b"),
        ("  a  \n  b  ", "a\nb"),
        ("a\n\n\n\n\nb", "a\n\nb"),
        ("a\n \n \nb", "a\n\nb"),
        ("e\xad\u0301", "é"),
        ("\ud800x", "\ufffdx"),
        ("ＡＢ ﬁ ①", "ＡＢ ﬁ ①"),
        ("👩‍👩‍👧 می‌خواهم", "👩‍👩‍👧 می‌خواهم"),  # joiners carry meaning
    ],
)
def test_nfc(text, wanted):
    assert normalize(text) == wanted


def test_nfkc_makes_letters_plain():
    assert normalize("ＡＢ ﬁ ①", "nfkc") == "AB fi 1"


def test_none_keeps_all_but_line_ends_and_halves_of_pairs():
    assert normalize(" e\u0301\t\x07  x\r\n\udc00", "none") == " e\u0301\t\x07  x\n\ufffd"


@given(st.text(st.characters()), st.sampled_from(["nfc", "nfkc", "none"]))
def test_twice_is_once_and_the_result_is_unicode(text, form):
    once = normalize(text, form)
    once.encode()
    assert normalize(once, form) == once


def test_an_unknown_form():
    with pytest.raises(UserError, match="There is no normalization 'nfd'; choose nfc, nfkc, none"):
        check_form("nfd")
