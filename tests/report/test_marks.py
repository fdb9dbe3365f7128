"""Marks cut a text and lose nothing; extracts show the marks."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from unmask.report.marks import Mark, extract, pieces

KINDS = st.sampled_from(["gold", "predicted", "right"])
MARKS = st.lists(st.builds(Mark, st.integers(-3, 40), st.integers(-3, 40), KINDS, st.text(max_size=3)), max_size=6)


@given(st.text(max_size=30), MARKS)
def test_the_pieces_are_the_text(text, marks):
    assert "".join(piece.text for piece in pieces(text, marks)) == text


@given(st.text(max_size=30), MARKS)
def test_each_character_has_the_kinds_of_its_marks(text, marks):
    kinds = [set(piece.kinds) for piece in pieces(text, marks) for _ in piece.text]
    assert kinds == [{mark.kind for mark in marks if mark.start <= place < mark.end} for place in range(len(text))]


@given(st.text(min_size=1, max_size=30), MARKS)
def test_each_label_stands_once_where_its_mark_ends(text, marks):
    place, found = 0, []
    for piece in pieces(text, marks):
        place += len(piece.text)
        found += [(place, *tag) for tag in piece.tags]
    inside = [mark for mark in marks if max(0, mark.start) < min(mark.end, len(text)) and mark.label]
    assert sorted(found) == sorted((min(mark.end, len(text)), mark.kind, mark.label) for mark in inside)


def test_what_overlaps_is_cut():
    found = pieces("abcdef", [Mark(0, 4, "gold", "A"), Mark(2, 6, "predicted", "B")])
    assert [(piece.text, piece.kinds, piece.tags) for piece in found] == [
        ("ab", ("gold",), ()),
        ("cd", ("gold", "predicted"), (("gold", "A"),)),
        ("ef", ("predicted",), (("predicted", "B"),)),
    ]


def test_gaps_are_told():
    found = pieces("abcdefgh", [], [(2, 4), (6, 7)])
    assert [(piece.text, piece.gap) for piece in found] == [
        *(("", True), ("cd", False), ("", True), ("g", False), ("", True)),
    ]


@given(st.text(alphabet="ab \u0301\u200d👩字", max_size=3000), MARKS)
def test_an_extract_lies_in_the_text(text, marks):
    parts = extract(text, marks, around=20, room=200)
    assert all(0 <= start < end <= len(text) for start, end in parts)
    assert all(one[1] < other[0] for one, other in pairwise(parts))
    # A part is 40 characters and up to 20 more on either side, by which words stay whole.
    assert sum(end - start for start, end in parts) <= 10 * (40 + 40)
    assert parts or not text


@given(st.integers(0, 5000), st.integers(1, 3000))
def test_an_extract_shows_both_ends_of_a_mark(start, length):
    text = "word " * 2000
    parts = extract(text, [Mark(start, start + length, "gold")])
    for place in (start, start + length - 1):
        assert any(first <= place < last for first, last in parts)


def test_without_marks_the_beginning_and_the_end_are_shown():
    text = "the beginning " + "x " * 5000 + "the end"
    parts = extract(text, [])
    assert text[slice(*parts[0])].startswith("the beginning")
    assert parts[0][0] == 0
    assert parts[-1][1] == len(text)
    assert len(parts) == 2


def test_no_accent_is_torn_off():
    text = "e\u0301" * 1000
    for start, end in extract(text, [Mark(901, 903, "gold")], around=100):
        assert text[start] == "e"
        assert end == len(text) or text[end] == "e"
