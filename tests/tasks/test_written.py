"""Lists and objects in cells, however a program wrote them."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odd_texts import TEXTS
from unmask.tasks.written import read_list, read_object


@given(st.lists(TEXTS), st.lists(st.integers(-(2**31), 2**31)))
def test_what_a_program_prints_is_read_back(texts, numbers):
    arrays = {"text": np.array(texts, object), "start": np.array(numbers, np.int64)}
    plain = {"text": texts, "start": numbers}
    with np.printoptions(threshold=2**31):
        for written in (json.dumps(plain), str(plain), str(arrays)):
            assert read_object(written) == plain
        assert read_list(str(texts)) == texts
        assert read_list(str(numbers)) == numbers


@pytest.mark.parametrize("text", ["{x}", "{'a'}", "{'a': f(1)}", "{'a': array([1 ... 2])}", "[1]", "", "{" * 5000])
def test_what_is_no_object(text):
    assert read_object(text) is None


@pytest.mark.parametrize("text", ["[a, b]", "['a'", "{'a': 1}", "a", "[f('a')]", "['a', ['b']]"])
def test_what_is_no_list(text):
    assert read_list(text) is None
