"""JSON objects: a line each, or items of a list that is never in memory as a whole."""

import json
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.objects import json_items, json_lines
from unmask.data.source import Source
from unmask.errors import UserError

FILE = Source("a.json", None, "jsonl", "")
OBJECTS = st.lists(
    st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()))
)


def items(text, size=7):
    return [item for item, _ in json_items((text[i : i + size] for i in range(0, len(text), size)), FILE)]


@given(OBJECTS, st.sampled_from([None, 1]), st.integers(1, 9), st.booleans())
def test_a_list_in_blocks_of_any_size(objects, indent, size, ascii_only):
    assert items(json.dumps(objects, indent=indent, ensure_ascii=ascii_only), size) == objects


@given(OBJECTS)
def test_lines(objects):
    lines = [json.dumps(one, ensure_ascii=False) for one in objects]
    assert [one for one, _ in json_lines([*lines, "", "  "], FILE)] == objects


def test_an_endless_list_is_read_item_by_item():
    def endless():
        yield "["
        while True:
            yield '{"text": "x"},'

    assert [number for _, number in islice(json_items(endless(), FILE), 1000)] == list(range(1, 1001))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1}', r"a.json must hold a JSON list, but begins with '\{'"),
        ('[{"a": 1}, {"a": ]', r"a.json, item 2 of the list is not valid JSON \(Expecting value\)"),
        ('[{"a": 1}', "after item 1 of the list a comma or ] must follow, but the file ends"),
        ('[{"a": 1} {"a": 2}]', "after item 1 of the list a comma or ] must follow, but '{'"),
        ('[{"a": 1}] x', "the list ends after item 1, but 'x' follows"),
        ("[1, 2]", "item 1 of the list must be a JSON object, but is a int"),
        ("[{},]", "item 2 of the list is not valid JSON"),
    ],
)
def test_lists_that_are_refused(text, said):
    with pytest.raises(UserError, match=said):
        items(text)
