"""Rows beside those that were read: what is written is read again, a stop loses nothing, no column is written over."""

import gzip
import json
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unmask import UserError
from unmask.data.readers import Reading, read_records
from unmask.data.writers import RowWriter, free_names

texts = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\r\t,\"';"), max_size=30)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(st.tuples(texts, texts), min_size=1, max_size=6), ending=st.sampled_from([".csv", ".tsv"]))
def test_any_text_in_a_table_is_read_again(tmp_path, rows, ending):
    path = tmp_path / f"rows{ending}"
    with RowWriter(path, ["one", "two"], {}) as writer:
        writer.write({"one": f"a{one}", "two": two} for one, two in rows)
    read = list(read_records(path, Reading(header=True, quotes=True, kind=ending[1:])))
    assert [tuple(record.values.values()) for record in read] == [(f"a{one}", two) for one, two in rows]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(st.dictionaries(st.sampled_from("ab"), texts | st.integers() | st.none()), max_size=6))
def test_any_value_in_json_lines_is_read_again(tmp_path, rows):
    path = tmp_path / "rows.jsonl"
    with RowWriter(path, ["a", "b"], {}) as writer:
        writer.write(rows)
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    assert [json.loads(line) for line in lines] == rows


def test_lists_objects_and_nothing_in_a_table(tmp_path):
    with RowWriter(tmp_path / "rows.csv", ["a", "b", "c"], {}) as writer:
        writer.write([{"a": [1, "北"], "b": {"x": None}}])
    assert (tmp_path / "rows.csv").read_text(encoding="utf-8") == 'a,b,c\n"[1, ""北""]","{""x"": null}",\n'


@pytest.mark.parametrize(("ending", "first"), [(".csv", "/w=="), (".jsonl", '{"a": "/w==", ')])
def test_bytes_are_written_in_base64(tmp_path, ending, first):
    with RowWriter(tmp_path / f"rows{ending}", ["a", "b"], {}) as writer:
        writer.write([{"a": b"\xff", "b": {"bytes": b"\xff\0"}}])
    written = (tmp_path / f"rows{ending}").read_text(encoding="utf-8").splitlines()[-1]
    assert written.startswith(first)
    assert "/wA=" in written


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_a_table_refuses_columns_that_come_after_its_header(tmp_path, ending):
    with pytest.raises(UserError) as error, RowWriter(tmp_path / f"rows{ending}", ["a"], {}) as writer:  # noqa: PT012
        writer.write([{"a": 1}, {}])
        writer.write([{"a": 2}, {"a": 3, "late": 4}, {"": 5}])
    assert str(error.value) == (
        f"rows{ending}: row 4 has a column 'late', which no row had before the header was written; choose an output of "
        "JSON lines (.jsonl), or give the input as a file, not on standard input."
    )
    assert not (tmp_path / f"rows{ending}").exists()


def test_json_lines_keep_columns_whenever_they_come(tmp_path):
    with RowWriter(tmp_path / "rows.jsonl", ["a", "b"], {}) as writer:
        writer.write([{"a": 1}, {"late": 2, "b": 3}])
    lines = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines == ['{"a": 1}', '{"late": 2, "b": 3}']


def test_a_second_writer_of_the_same_file_is_refused(tmp_path):
    """Two runs would write into one another's rows, and both would say that all is well."""
    path = tmp_path / "rows.csv"
    with RowWriter(path, ["a"], {}) as writer:
        writer.write([{"a": 1}])
        command = (
            "import sys, pathlib; from unmask.data.writers import RowWriter;"
            "RowWriter(pathlib.Path(sys.argv[1]), ['a'], {}).__enter__()"
        )
        second = subprocess.run([sys.executable, "-c", command, path], capture_output=True, text=True, check=False)
        assert f"Another run is writing {path}; wait for it, or choose another name." in second.stderr
        writer.write([{"a": 2}])
    assert path.read_text(encoding="utf-8") == "a\n1\n2\n"
    assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]


def stopped(path, work, rows):
    """A run that ends in the middle of a write."""
    with pytest.raises(KeyboardInterrupt), RowWriter(path, ["a"], work) as writer:  # noqa: PT012
        writer.write(rows)
        writer.file.write(b"half of a ro")
        writer.file.flush()
        raise KeyboardInterrupt


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
def test_the_same_work_goes_on_after_what_is_written(tmp_path, ending):
    path, whole = tmp_path / f"rows{ending}", tmp_path / f"whole{ending}"
    rows = [{"a": f"{n}\n,"} for n in range(5)]
    stopped(path, {"input": "x"}, rows[:3])
    assert not path.exists()
    with RowWriter(path, ["a"], {"input": "x"}) as writer:
        assert writer.n_rows == 3
        writer.write(rows[3:])
    with RowWriter(whole, ["a"], {"input": "x"}) as writer:
        writer.write(rows)
    assert path.read_bytes() == whole.read_bytes()
    assert sorted(found.name for found in tmp_path.iterdir()) == sorted([path.name, whole.name])


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
def test_packed_rows_are_the_same_and_go_on_too(tmp_path, ending):
    packed, plain = tmp_path / f"rows{ending}.gz", tmp_path / f"rows{ending}"
    rows = [{"a": f"{n}\n,北"} for n in range(5)]
    stopped(packed, {"input": "x"}, rows[:3])
    with RowWriter(packed, ["a"], {"input": "x"}, marked=True) as writer:
        assert writer.n_rows == 3
        writer.write(rows[3:])
    with RowWriter(plain, ["a"], {"input": "x"}) as writer:
        writer.write(rows)
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert [record.values for record in read_records(packed)] == [record.values for record in read_records(plain)]


@pytest.mark.parametrize("change", [{"input": "y"}, {"input": "x", "model": "other"}])
def test_other_work_begins_anew(tmp_path, change, caplog):
    path = tmp_path / "rows.csv"
    stopped(path, {"input": "x"}, [{"a": 1}, {"a": 2}])
    with RowWriter(path, ["a"], change) as writer:
        assert writer.n_rows == 0
        writer.write([{"a": 9}])
    assert path.read_text() == "a\n9\n"
    assert "rows of another input, model or option are dropped; beginning anew" in caplog.text


def test_other_columns_begin_anew(tmp_path):
    path = tmp_path / "rows.csv"
    stopped(path, {}, [{"a": 1}])
    with RowWriter(path, ["a", "b"], {}) as writer:
        assert writer.n_rows == 0


def test_rows_that_were_lost_are_not_counted_on(tmp_path):
    path = tmp_path / "rows.csv"
    stopped(path, {}, [{"a": 1}])
    (tmp_path / "rows.csv.part").write_text("a\n")
    with RowWriter(path, ["a"], {}) as writer:
        assert writer.n_rows == 0


def test_endings_and_folders_that_are_no_file_of_rows(tmp_path):
    with pytest.raises(UserError) as error:
        RowWriter(tmp_path / "rows.xlsx", ["a"], {})
    assert str(error.value) == (
        "rows.xlsx: rows are written as .csv, .tsv, .jsonl, .ndjson; choose one of these endings, with .gz after it or "
        "not."
    )
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UserError, match=r"folder\.csv is a folder; name a file for the rows"):
        RowWriter(tmp_path / "folder.csv", ["a"], {})


@given(st.lists(st.sampled_from("abcd"), unique=True), st.lists(st.sampled_from(["a", "b", "a_2", "b_3", "x"])))
def test_new_columns_hide_none(wanted, taken):
    names = free_names(wanted, taken)
    assert list(names) == wanted
    assert len(set(names.values())) == len(wanted)
    assert not set(names.values()) & set(taken)


def test_a_file_that_is_there_is_told_and_replaced_at_the_end(tmp_path, caplog):
    path = tmp_path / "rows.csv"
    path.write_text("precious")
    with RowWriter(path, ["a"], {}) as writer:
        writer.write([{"a": 1}])
        assert path.read_text() == "precious"
    assert path.read_text() == "a\n1\n"
    assert f"{path} is there already; it is replaced when all rows are written." in caplog.text
