"""Labels in one cell: lists in every form people have, one separator for a column, and what looks like one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.errors import UserError
from unmask.tasks.labels import SEPARATORS, WHOLE, parted, said_in, separator_named, separator_of, told


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("['a', 'b']", ["a", "b"]),
        ("[\"it's\", 'b']", ["it's", "b"]),
        ("('a', 'b')", ["a", "b"]),
        ("{'b', 'a'}", ["b", "a"]),
        ("['a' 'b'\n 'c']", ["a", "b", "c"]),
        ("['a' \"it's\" 'c']", ["a", "it's", "c"]),
        ("[\"' '\", 'b']", ["' '", "b"]),
        ("[ 1 20 -3]", ["1", "20", "-3"]),
        ("[np.str_('a'), np.int64(3)]", ["a", "3"]),
        ('["a", "b", null]', ["a", "b"]),
        ("[1, 2.5]", ["1", "2.5"]),
        (" ['Food, Drink'] ", ["Food, Drink"]),
        ("[]", []),
        ("()", []),
        ("set()", []),
        (["b", " a ", "b"], ["b", "a"]),
        (("a",), ["a"]),
        (None, ""),
        (float("nan"), ""),
        (3, "3"),
        (" a, b ", "a, b"),
        ("[draft], news", "[draft], news"),
        ("[draft, news]", "[draft, news]"),
        ("[draft news]", "[draft news]"),
        ("['a' ... 'z']", "['a' ... 'z']"),
        ("[draft]", "[draft]"),
        ("(1)", "(1)"),
        ("{'a': 1}", "{'a': 1}"),
        ("[['a'], 'b']", "[['a'], 'b']"),
        ("[open('x')]", "[open('x')]"),
        ("[" * 100_000 + "]" * 100_000, "[" * 100_000 + "]" * 100_000),
    ],
)
def test_what_a_cell_says(value, said):
    assert said_in(value) == said


@given(st.lists(st.text("ab'\",\\|中é", min_size=1), unique=True))
def test_what_python_wrote_is_read_again(labels):
    assert said_in(repr(labels)) == labels


@pytest.mark.parametrize(
    ("cells", "separator", "labels"),
    [
        (["Food, Drink|Travel", "Travel", "Food, Drink"], "|｜", {"Food, Drink", "Travel"}),
        (["a, b", "b", "a,b,c"], ",，", {"a", "b", "c"}),
        (["a; b", "b；c"], ";；", {"a", "b", "c"}),
        (["体育、财经", "财经"], "、", {"体育", "财经"}),
        (["体育，财经", "体育,科技"], ",，", {"体育", "财经", "科技"}),
        (["衣、食；住", "住", "衣、食"], ";；", {"衣、食", "住"}),
        (["a\tb", "b"], "\t", {"a", "b"}),
        (["a,b", "a,c", "b,c", "a,b,c", "a;b"], ",，", {"a", "b", "c", "a;b"}),  # the semicolon is a slip
        (["a", "b", "a b", "b a", ""], " ", {"a", "b"}),
        (["a", *(f"{x} {y}" for x in "abcde" for y in "abcde")], " ", set("abcde")),
        (["very good", "good", "bad", "very bad"], None, {"very good", "good", "bad", "very bad"}),
        (["New York", "Los Angeles", "Paris"], None, {"New York", "Los Angeles", "Paris"}),
        (["a b", "a c", "b c", "a b c"], None, {"a b", "a c", "b c", "a b c"}),  # nothing stands alone
        (["a", "b"], None, {"a", "b"}),
        ([["a", "Food, Drink"], "Food, Drink"], WHOLE, {"a", "Food, Drink"}),
        ([["a", "b"], "a", []], None, {"a", "b"}),
        ([["a b"], "a", "b", "a b"], None, {"a", "b", "a b"}),
        (["a|b", "b", []], "|｜", {"a", "b"}),
    ],
)
def test_one_separator_for_a_column(cells, separator, labels):
    assert separator_of(cells) == separator
    assert {label for cell in cells for label in parted(cell, separator)} == labels


@given(st.sampled_from(SEPARATORS), st.lists(st.lists(st.sampled_from("abc"), min_size=2, unique=True), min_size=1))
def test_what_was_joined_is_parted(separator, cells):
    texts = [separator[-1].join(cell) for cell in cells]
    assert separator_of(texts) == separator
    assert [parted(text, separator) for text in texts] == cells


def test_what_is_told():
    assert told("tags", "|｜", ["Food, Drink", "Travel"]) == (
        "The labels in 'tags' are parted by '|': there are 2 different ones; others are part of a label, as in "
        "'Food, Drink'."
    )
    assert told("tags", " ", ["a", "b"]) == "The labels in 'tags' are parted by blanks: there are 2 different ones."
    assert told("tags", None, ["a", "b"]) == "No separator is in 'tags': every text has one of 2 labels, or none."


@pytest.mark.parametrize(
    ("name", "cell", "labels"),
    [
        (";", "a, b；c;d", ["a, b", "c", "d"]),
        ("/", "a/b,c", ["a", "b,c"]),
        ("tab", "a\tb c", ["a", "b c"]),
        ("\\t", "a\tb c", ["a", "b c"]),
        ("blank", "a b,c", ["a", "b,c"]),
        ("]", "a]b^c", ["a", "b^c"]),
        ("^", "a]b^c", ["a]b", "c"]),
    ],
)
def test_a_separator_that_is_named(name, cell, labels):
    assert parted(cell, separator_named(name)) == labels


@pytest.mark.parametrize("name", ["", "::", "x", "字"])
def test_what_separates_nothing(name):
    with pytest.raises(UserError, match="but must be one sign"):
        separator_named(name)
