"""Parquet a few rows at a time."""

import json

import pyarrow
import pyarrow.parquet
import pytest

from unmask.data.decode import Seen
from unmask.data.parquet import class_names, holds_texts, opened_parquet, parquet_batches, parquet_rows
from unmask.data.where import find_sources


def test_rows_are_numbered_and_bytes_counted(tmp_path):
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": [f"t{n}" for n in range(3000)], "n": range(3000)}), path)
    [source], seen = find_sources([path]), Seen()
    rows = list(parquet_rows(source, "utf-8", "refuse", seen))
    assert rows[0] == ({"text": "t0", "n": 0}, 1)
    assert rows[-1] == ({"text": "t2999", "n": 2999}, 3000)
    assert abs(seen.raw_bytes - path.stat().st_size) <= 3
    with opened_parquet(source, seen) as table:
        assert max(len(batch) for batch in parquet_batches(table, ["n"], source, seen)) <= 1024


def test_bytes_are_judged_by_the_first_that_come(tmp_path):
    path = tmp_path / "a.parquet"
    columns = {
        "text": [None] * 2000 + [b"fine film" * 9, b"caf\xe9"],
        "blob": [None] * 2000 + [b"\xff\xd8\xff", b"fine"],
        "word": ["", None] * 1001,
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    seen = Seen()
    rows = [row for row, _ in parquet_rows(find_sources([path])[0], "utf-8", "replace", seen)]
    assert rows[0] == {"text": None, "blob": None, "word": ""}
    assert rows[-1] == {"text": "caf\ufffd", "blob": b"fine", "word": None}
    assert seen.invalid == 1


def test_what_holds_texts():
    texts = (pyarrow.string(), pyarrow.large_string(), pyarrow.binary(), pyarrow.large_binary())
    assert all(holds_texts(kind) for kind in texts)
    assert not holds_texts(pyarrow.int64())
    assert not holds_texts(pyarrow.list_(pyarrow.string()))


def test_classes_have_the_names_that_stand_beside_them(tmp_path):
    sequence = {"feature": {"names": ["O", "B-PER"], "_type": "ClassLabel"}, "_type": "Sequence"}
    features = {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}, "tags": sequence, "n": {"_type": "Value"}}
    columns = {"label": [1, 0, -1], "tags": [[0, 1], [], [1]], "n": [0, 1, 2]}
    about = json.dumps({"info": {"features": features}})
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns).replace_schema_metadata({"huggingface": about}), path)
    rows = [row for row, _ in parquet_rows(find_sources([path])[0], "utf-8", "refuse", Seen())]
    assert [row["label"] for row in rows] == ["pos", "neg", None]
    assert [row["tags"] for row in rows] == [["O", "B-PER"], [], ["B-PER"]]
    assert [row["n"] for row in rows] == [0, 1, 2]


@pytest.mark.parametrize("about", ["{", "[]", "{}", '{"info": {"features": [1]}}', '{"info": {"features": {"n": 3}}}'])
def test_other_things_beside_the_columns_do_no_harm(about):
    assert class_names(pyarrow.schema([("n", pyarrow.int64())]).with_metadata({"huggingface": about})) == {}
