"""Parquet a few rows at a time."""

import pyarrow
import pyarrow.parquet

from unmask.data.decode import Seen
from unmask.data.parquet import holds_texts, opened_parquet, parquet_batches, parquet_rows
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


def test_what_holds_texts():
    texts = (pyarrow.string(), pyarrow.large_string(), pyarrow.binary(), pyarrow.large_binary())
    assert all(holds_texts(kind) for kind in texts)
    assert not holds_texts(pyarrow.int64())
    assert not holds_texts(pyarrow.list_(pyarrow.string()))
