"""Units as arrays: every token is in its row, nothing else counts; windows that make no sense are told."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask import UserError
from unmask.tasks.tag import TagUnit
from unmask.tasks.units import Sequence, Shape, Unit, Window, of_like_length

ids = st.lists(st.integers(1, 99), min_size=1, max_size=40)
single = st.lists(ids, min_size=1, max_size=9).map(
    lambda rows: [Unit(n, (Sequence(row, [n % 2] * len(row)),), {"label": n}) for n, row in enumerate(rows)]
)
several = st.lists(st.lists(ids, min_size=1, max_size=4), min_size=1, max_size=5).map(
    lambda rows: [Unit(n, tuple(Sequence(row, [0] * len(row)) for row in each), {}) for n, each in enumerate(rows)]
)


@given(single, st.booleans())
def test_arrays_hold_every_token(units, fixed):
    arrays = Shape(7, 40, fixed=fixed).arrays(units)
    for unit, row, segments, attend in zip(
        units, arrays["ids_BL"], arrays["segments_BL"], arrays["attend_BL"], strict=False
    ):
        (sequence,) = unit.sequences
        assert row[attend].tolist() == sequence.ids
        assert segments[attend].tolist() == sequence.segments
        assert (row[~attend] == 7).all()
        assert attend[: len(sequence.ids)].all()
    assert arrays["rows_B"].tolist() == [1] * len(units) + [0] * (len(arrays["rows_B"]) - len(units))
    assert not arrays["attend_BL"][len(units) :].any()
    if fixed:
        size, length = arrays["ids_BL"].shape
        assert size & (size - 1) == 0
        assert length in (32, 40)
    else:
        assert arrays["ids_BL"].shape == (len(units), max(unit.length for unit in units))


@given(several, st.booleans())
def test_arrays_hold_every_choice(units, fixed):
    arrays = Shape(0, 40, several=True, fixed=fixed).arrays(units)
    assert arrays["ids_BL"].shape[1] == max(len(unit.sequences) for unit in units)
    for b, unit in enumerate(units):
        for i, sequence in enumerate(unit.sequences):
            assert arrays["ids_BL"][b, i][arrays["attend_BL"][b, i]].tolist() == sequence.ids
        assert not arrays["attend_BL"][b, len(unit.sequences) :].any()


@given(single, st.booleans())
def test_tokens_that_are_wanted(units, fixed):
    assert "wanted_BL" not in Shape(7, 40, fixed=fixed).arrays(units)
    of_tags = [
        TagUnit(unit.example, unit.sequences, {}, list(range(0, unit.length, 2)), [(0, 1)] * -(-unit.length // 2))
        for unit in units
    ]
    arrays = Shape(7, 40, fixed=fixed).arrays(of_tags)
    assert arrays["wanted_BL"].shape == arrays["ids_BL"].shape
    for unit, wanted in zip(of_tags, arrays["wanted_BL"], strict=False):
        assert np.flatnonzero(wanted).tolist() == unit.positions
    assert not arrays["wanted_BL"][len(of_tags) :].any()


def test_targets_of_each_kind():
    one, two = Sequence([1, 2, 3], [0] * 3), Sequence([4], [0])
    tags = [Unit(0, (one,), {"tags": np.asarray([-1, 2, 0])}), Unit(1, (two,), {"tags": np.asarray([1])})]
    found = Shape(0, 8).targets(tags, 4, 5)["tags"]
    assert found.tolist() == [[-1, 2, 0, -1, -1], [1, -1, -1, -1, -1], [-1] * 5, [-1] * 5]
    values = [Unit(0, (one,), {"value": 0.5}), Unit(1, (two,), {"value": 2.0})]
    assert Shape(0, 8).targets(values, 4, 5)["value"].tolist() == [0.5, 2.0, 0.0, 0.0]
    labels = [Unit(0, (one,), {"labels": np.asarray([0, 1], np.float32)})]
    found = Shape(0, 8).targets(labels, 2, 5)["labels"]
    assert found.dtype == np.float32
    assert found.tolist() == [[0, 1], [0, 0]]
    spans = [Unit(0, (one,), {"start": 1, "end": 2})]
    found = Shape(0, 8).targets(spans, 2, 5)
    assert {name: array.tolist() for name, array in found.items()} == {"start": [1, 0], "end": [2, 0]}


@given(single | several, st.integers(1, 200))
def test_units_of_like_length_are_all_of_them(units, most):
    chosen = list(of_like_length(units, most))
    assert sorted(i for batch in chosen for i in batch) == list(range(len(units)))
    for batch in chosen:
        rows, length = sum(len(units[i].sequences) for i in batch), max(units[i].length for i in batch)
        assert len(batch) == 1 or rows * length <= most
    lengths = [units[i].length for batch in chosen for i in batch]
    assert lengths == sorted(lengths)


@pytest.mark.parametrize(
    ("length", "stride", "message"),
    [
        (0, None, "A window of 0 tokens holds no text."),
        (8, 8, "Windows of 8 tokens cannot share 8; take such as --stride 2."),
        (8, -1, "Windows of 8 tokens cannot share -1; take such as --stride 2."),
    ],
)
def test_windows_that_make_no_sense(length, stride, message):
    with pytest.raises(UserError) as error:
        Window(length, stride)
    assert str(error.value) == message
