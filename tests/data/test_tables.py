"""Rows of CSV and TSV: what is quoted is read as one field, what only looks quoted swallows nothing."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.tables import rows_of, separator_of

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def rows(text, separator="\t", quotes=None, say=None):
    return [(row.cells, row.line) for row in rows_of(io.StringIO(text, newline=""), separator, quotes=quotes, say=say)]


def cells(text, separator="\t", quotes=None):
    return [row for row, _ in rows(text, separator, quotes)]


@given(st.lists(st.lists(ANY_TEXT, min_size=2, max_size=2), min_size=1), st.sampled_from(",;"))
def test_what_was_written_quoted_is_read_again(table, separator):
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=separator, lineterminator="\r\n").writerows(table)
    assert cells(file.getvalue(), separator, quotes=True) == table
    assert cells(file.getvalue(), separator) == table


@given(st.lists(st.lists(st.text(st.sampled_from('ab" ')), min_size=2, max_size=2), min_size=1))
def test_what_was_written_without_quotes_is_read_again(table):
    text = "".join("\t".join(row) + "\n" for row in table)
    assert cells(text, quotes=False) == table


@pytest.mark.parametrize("quotes", [True, None])
def test_a_mark_that_nothing_closes_is_told_with_its_line(quotes):
    table = 'text,label\nfine,1\n"never closed,0\n' + "more,than,two,1\n" * 50
    with pytest.raises(csv.Error, match=r"unexpected end of data, in the row that begins in line 3$"):
        rows(table, ",", quotes=quotes)


def test_lines_of_rows_that_go_over_several():
    assert rows('a,b\n\n"x\n\ny",1\nz,2\n', ",") == [(["a", "b"], 1), (["x\n\ny", "1"], 3), (["z", "2"], 6)]


@pytest.mark.parametrize("quotes", [True, None])
def test_line_ends_of_all_kinds(quotes):
    """They part rows, and inside quotes they are text as they stand."""
    text = 'a,b\r\n\r\n"x\r\ny\rz\n",1\rv,2\nw,3'
    assert rows(text, ",", quotes) == [
        (["a", "b"], 1),
        (["x\r\ny\rz\n", "1"], 3),
        (["v", "2"], 7),
        (["w", "3"], 8),
    ]


@pytest.mark.parametrize(
    "text",
    [
        'a\tb\n"Great" film\t1\nfine\t0\n',  # GLUE: a mark that ends before the field does
        'a\tb\n"open\t1\nfine\t0\nlast\t1\n',  # one that never ends
        'a\tb\n"open\t1\nfine\t0\nclosed"\t1\nlast\t1\n',  # one that would end in a later row
        'text\n"Great" film\nfine\n',  # one column
        'text\n"Great film\nfine\n',
        'text\n"Great."\nfine\n',
        'text\n"open\n' + "fine\n" * 2000,
        'a\tb\n"whole"\t1\nfine\t0\n',  # quoted without need: no program writes that in one row alone
        'a\tb\nfine\t0\n"',
    ],
)
def test_marks_that_are_text(text):
    plain = [line.split("\t") for line in text.split("\n") if line]
    assert cells(text) == plain


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a\tb\n"say ""yes"""\t1\n', ['say "yes"', "1"]),
        ('a\tb\n"two\nlines"\t1\nx\t2\n', ["two\nlines", "1"]),
        ('a\tb\n"a\ttab"\t1\nx\t2\n', ["a\ttab", "1"]),
        ('"a"\t"b"\n"x"\t"1"\n', ["x", "1"]),
    ],
)
def test_marks_that_quote(text, expected):
    assert cells(text)[1] == expected


@pytest.mark.parametrize("separator", ",\t")
@pytest.mark.parametrize("n", [3, 600])
def test_lines_in_the_fields_of_one_column(separator, n):
    """At any size: the lines that are looked at may end inside a field."""
    texts = [f"第{i}条评论，房间很大\n服务也很好\n下次还来" for i in range(n)]
    assert cells("text\n" + "".join(f'"{text}"\n' for text in texts), separator) == [["text"], *([t] for t in texts)]
    assert cells("".join(f'"{text}"\n' for text in texts) + "end\n", separator)[-1] == ["end"]


def test_what_was_found_is_said_once():
    said = []
    rows('a\tb\n"Great" film\t1\n"Poor" film\t0\n', say=said.append)
    assert said == [False]
    said.clear()
    rows('a\tb\n"say ""yes"""\t1\n', say=said.append)
    assert said == [True]
    said.clear()
    rows("a\tb\nno marks\t1\n", say=said.append)
    assert said == []


def test_the_first_mark_may_come_late():
    late = "".join(f"text {n}\t{n}\n" for n in range(5000))
    assert cells(f'{late}"Great" film\t1\nend\t2\n')[-2:] == [['"Great" film', "1"], ["end", "2"]]
    found = rows(f'{late}"a\nb"\t1\nend\t2\n')
    assert found[-2:] == [(["a\nb", "1"], 5001), (["end", "2"], 5003)]


def test_rows_are_read_one_by_one():
    """Of an endless file no more is read than the lines that are looked at to judge."""
    taken = 0

    def endless():
        nonlocal taken
        while True:
            taken += 1
            yield f'"a ""b""",{taken}\n'

    found = rows_of(endless(), ",", quotes=None)
    assert [next(found).cells[1] for _ in range(10)] == [str(n) for n in range(1, 11)]
    assert taken <= 1001


@pytest.mark.parametrize(
    ("lines", "mark"),
    [
        (["a,b", "x;y;z,1"], ","),
        (["a;b", "x,y;1"], ";"),
        (['"a; b; c",1', '"d, e",2'], ","),
        (["a\tb", "x, y\t1"], "\t"),
        (["text|label", "x, y|1"], "|"),
        (["text,labels", "x,a|b"], ","),
        (["x,a|b", "y,c|d"], ","),
        (["text"], ","),
        ([], ","),
    ],
)
def test_separators(lines, mark):
    assert separator_of(lines) == mark
