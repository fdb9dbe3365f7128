"""Prediction for files: order and columns are kept, a killed run goes on, and only the same one."""

import base64
import csv
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pyarrow
import pyarrow.parquet
import pytest

import small_tasks
import unmask
from unmask import UserError, backend, predict_file
from unmask.data.readers import SAMPLE, Reading
from unmask.interruption import Interrupted
from unmask.predict_file import predict_file as run

pytestmark = pytest.mark.backend


@pytest.fixture(autouse=True)
def _few_at_once(monkeypatch):
    monkeypatch.setattr(predict_file, "_AT_ONCE", 8)


def rows_of(path):
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("classify", ["prediction", "probability", "probabilities"]),
        ("multi", ["prediction", "probabilities"]),
        ("pair", ["prediction", "probability", "probabilities"]),
        ("regress", ["prediction"]),
        ("tag", ["entities", "words", "tags_2"]),
        ("read", ["answer", "start", "end", "probability"]),
        ("choose", ["prediction", "choice", "probability"]),
    ],
)
def test_every_task_keeps_order_and_columns(tuned, tmp_path, task, names):
    source = tuned.test_file(task)
    output = tmp_path / ("out.csv" if source.suffix == ".csv" else "out.jsonl")
    assert run(tuned.predictor(task), str(source), output) == 40
    given, found = small_tasks.rows(task, 40, seed=1), rows_of(output)
    kept = [name for name in found[0] if name in given[0]]
    assert [[row[name] for name in kept] for row in found] == [[row[name] for name in kept] for row in given]
    assert set(kept) == set(given[0])
    if task == "tag":  # whose words came, and whose entities are told by the characters of a text
        assert all(row["text"][e["start"] : e["end"]] == e["text"] for row in found for e in row["entities"])
    assert list(found[0])[-len(names) :] == names
    right = {
        "classify": lambda r: r["prediction"] == r["label"],
        "multi": lambda r: set(json.loads(r["prediction"])) == set(filter(None, r["label"].split(";"))),
        "pair": lambda r: r["prediction"] == r["label"],
        "regress": lambda r: abs(float(r["prediction"]) - float(r["score"])) < 0.34,
        "tag": lambda r: r["tags_2"] == r["tags"],
        "read": lambda r: r["answer"] == r["answers"]["text"][0],
        "choose": lambda r: r["prediction"] == r["label"],
    }[task]
    assert sum(map(right, found)) >= (24 if task == "multi" else 32)


def test_answers_are_those_of_the_texts(tuned, tmp_path):
    predictor = tuned.predictor("classify")
    run(predictor, str(tuned.test_file("classify")), tmp_path / "out.csv")
    texts = [row["text"] for row in small_tasks.rows("classify", 40, seed=1)]
    for row, answer in zip(rows_of(tmp_path / "out.csv"), predictor.classify(texts), strict=True):
        assert float(row["probability"]) == pytest.approx(answer.probability, abs=1e-5)


class Stop(Exception):
    """The end of a run that was stopped."""


def stop_after(predictor, n, monkeypatch):
    """A run that ends after so many parts."""
    real, calls = predictor.predict, []

    def predict(*arguments, **options):
        calls.append(1)
        if len(calls) > n:
            raise Stop
        return real(*arguments, **options)

    monkeypatch.setattr(predictor, "predict", predict)
    return calls


def test_it_goes_on_after_the_rows_that_are_written(tuned, tmp_path, monkeypatch):
    source = str(tuned.test_file("classify"))
    run(tuned.predictor("classify"), source, tmp_path / "whole.csv")
    predictor = tuned.predictor("classify")
    with monkeypatch.context() as patch:
        stop_after(predictor, 2, patch)
        with pytest.raises(Stop):
            run(predictor, source, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    calls = stop_after(predictor, 100, monkeypatch)
    assert run(predictor, source, tmp_path / "out.csv") == 40
    assert len(calls) == 3
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


@pytest.mark.parametrize("what", ["input", "model", "stride", "weights"])
def test_it_begins_anew_where_anything_differs(tuned, tmp_path, monkeypatch, what):
    predictor = tuned.predictor("classify")
    source = small_tasks.write_rows(tmp_path / "in.csv", small_tasks.rows("classify", 24, seed=1))
    with monkeypatch.context() as patch:
        stop_after(predictor, 1, patch)
        with pytest.raises(Stop):
            run(predictor, str(source), tmp_path / "out.csv")
    options = {"stride": 3} if what == "stride" else {}
    if what == "input":
        small_tasks.write_rows(source, small_tasks.rows("classify", 24, seed=2))
    other = tuned.predictor("pair" if what == "model" else "classify")
    if what == "weights":  # the same folder, trained again
        other = unmask.load(tuned("classify"))
        bias = other.model.head.dense.bias
        bias.assign(bias.value + 1)
    calls = stop_after(other, 100, monkeypatch)
    run(other, str(source), tmp_path / "out.csv", **options)
    assert len(calls) == 3
    assert len(rows_of(tmp_path / "out.csv")) == 24


def start(model, source, output):
    command = [sys.executable, "-c", "from unmask import predict_file; predict_file._AT_ONCE = 4\n"]
    command[-1] += "from unmask.cli import main; main()"
    command += ["predict", model, "--input", source, "--output", output, "--backend", backend.current()]
    return subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ)
    )


def test_killed_for_real(tuned, tmp_path):
    source = small_tasks.write_rows(tmp_path / "in.csv", small_tasks.rows("classify", 400, seed=1))
    process = start(tuned("classify"), source, tmp_path / "out.csv")
    note = tmp_path / "out.csv.part.json"
    while process.poll() is None and not note.exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL, output
    n_before = json.loads(note.read_text())["rows"]
    assert 0 < n_before < 400
    process = start(tuned("classify"), source, tmp_path / "out.csv")
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    assert "rows are written already; going on after them." in output
    assert "400 rows are in" in output
    assert [row["text"] for row in rows_of(tmp_path / "out.csv")] == [row["text"] for row in rows_of(source)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "out.csv"]


def test_an_interruption_is_heard_wherever_it_comes(tuned, tmp_path, monkeypatch):
    """Even where Python drops exceptions, as in a callback of the garbage collector that another library has."""
    predictor = tuned.predictor("classify")
    source = small_tasks.write_rows(tmp_path / "in.csv", small_tasks.rows("classify", 40, seed=1))
    usual = predictor.predict

    def interrupted(*args, **options):
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return usual(*args, **options)

    monkeypatch.setattr(predictor, "predict", interrupted)
    with pytest.raises(Interrupted, match="Stopped after 8 rows, which are saved"):
        run(predictor, str(source), tmp_path / "out.csv")
    monkeypatch.undo()
    assert run(predictor, str(source), tmp_path / "out.csv") == 40
    assert [row["text"] for row in rows_of(tmp_path / "out.csv")] == [row["text"] for row in rows_of(source)]


def sizes_of_parts(predictor, monkeypatch):
    """How many records each part has that is answered from now on."""
    real, sizes = predictor.predict, []

    def predict(records, *arguments, **options):
        sizes.append(len(records))
        return real(records, *arguments, **options)

    monkeypatch.setattr(predictor, "predict", predict)
    return sizes


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [
        ([4] * 8, [8]),  # short ones: as many as there may be
        ([4] * 17, [8, 8, 1]),
        ([40] * 6, [2, 2, 2]),
        ([50, 50, 51, 50, 4], [2, 1, 2]),
        ([4, 101, 0, 4], [1, 1, 2]),  # longer than a part may be
        ([300, 300], [1, 1]),
    ],
)
def test_parts_end_by_their_characters_too(tuned, tmp_path, monkeypatch, lengths, sizes):
    monkeypatch.setattr(predict_file, "_CHARACTERS_AT_ONCE", 100)
    texts = [("joy " * n)[:n] for n in lengths]
    source = small_tasks.write_rows(tmp_path / "in.jsonl", [{"text": text, "other": "x" * 90} for text in texts])
    predictor = tuned.predictor("classify")
    found = sizes_of_parts(predictor, monkeypatch)
    assert run(predictor, str(source), tmp_path / "out.jsonl") == len(lengths)
    assert found == sizes
    assert [row["text"] for row in rows_of(tmp_path / "out.jsonl")] == texts


CHOICES = ["joy " * 5, "dull " * 4, "poor " * 4]


@pytest.mark.parametrize(
    ("task", "row", "said"),
    [
        ("tag", {"tokens": ["film"] * 15}, {}),
        ("read", {"question": "which colour is it ?", "context": "the film was red " * 2 + "blue"}, {}),
        ("choose", {"context": "", "choices": CHOICES}, {}),
        ("choose", {"context": "", "choices": [{"label": "ABC"[n], "text": CHOICES[n]} for n in range(3)]}, {}),
        ("choose", {"context": "", "a": CHOICES[0], "b": CHOICES[1], "c": CHOICES[2]}, {"choices": "a,b,c"}),
    ],
)
def test_words_and_choices_count_as_texts_do(tuned, tmp_path, monkeypatch, task, row, said):
    """About 60 characters in each record, in whatever form."""
    monkeypatch.setattr(predict_file, "_CHARACTERS_AT_ONCE", 130)
    source = small_tasks.write_rows(tmp_path / "in.jsonl", [row] * 6)
    predictor = tuned.predictor(task)
    found = sizes_of_parts(predictor, monkeypatch)
    run(predictor, str(source), tmp_path / "out.jsonl", said=said)
    assert found == [2, 2, 2]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "jsonl.gz"])
def test_an_interruption_between_parts_of_long_texts_loses_nothing(tuned, tmp_path, monkeypatch, ending):
    monkeypatch.setattr(predict_file, "_CHARACTERS_AT_ONCE", 150)
    rows = small_tasks.rows("classify", 24, seed=1)
    rows = [row | {"text": " ".join([row["text"]] * (1 + 3 * (n % 5 == 0)))} for n, row in enumerate(rows)]
    source = str(small_tasks.write_rows(tmp_path / "in.csv", rows))
    predictor = tuned.predictor("classify")
    with monkeypatch.context() as patch:
        sizes = sizes_of_parts(predictor, patch)
        run(predictor, source, tmp_path / f"whole.{ending}")
    assert len(set(sizes)) > 1
    assert max(sizes) < 8
    for stop in range(1, len(sizes)):
        with monkeypatch.context() as patch:
            interrupt_in_part(predictor, stop, patch)
            with pytest.raises(Interrupted, match=f"Stopped after {sum(sizes[:stop])} rows, which are saved"):
                run(predictor, source, tmp_path / f"out.{ending}")
        with monkeypatch.context() as patch:
            rest = sizes_of_parts(predictor, patch)
            assert run(predictor, source, tmp_path / f"out.{ending}") == 24
        assert rest == sizes[stop:]
        assert (tmp_path / f"out.{ending}").read_bytes() == (tmp_path / f"whole.{ending}").read_bytes()


def interrupt_in_part(predictor, number, monkeypatch):
    """Presses Ctrl-C while this part is answered."""
    real, calls = predictor.predict, []

    def predict(*arguments, **options):
        calls.append(1)
        if len(calls) == number:
            signal.raise_signal(signal.SIGINT)
        return real(*arguments, **options)

    monkeypatch.setattr(predictor, "predict", predict)


def test_columns_of_training_are_taken_and_others_may_be_said(tuned, tmp_path):
    predictor = tuned.predictor("classify")
    path = tmp_path / "in.csv"
    path.write_text("prediction,text,other\nmine,the film was great,a dull story\n")
    run(predictor, str(path), tmp_path / "a.csv")
    run(predictor, str(path), tmp_path / "b.csv", said={"text": "other"})
    (a,), (b,) = rows_of(tmp_path / "a.csv"), rows_of(tmp_path / "b.csv")
    assert (a["prediction"], a["prediction_2"], b["prediction_2"]) == ("mine", "good", "bad")
    with pytest.raises(UserError) as error:
        run(predictor, str(path), tmp_path / "c.csv", said={"text": "review"})
    assert str(error.value) == "There is no column 'review' for --text, only prediction, text, other."


def test_outputs_that_cannot_be(tuned, tmp_path):
    predictor = tuned.predictor("classify")
    source = small_tasks.write_rows(tmp_path / "in.csv", small_tasks.rows("classify", 8))
    before = source.read_bytes()
    with pytest.raises(UserError, match=r"in\.csv is the input too; choose another name for --output"):
        run(predictor, str(source), source)
    assert source.read_bytes() == before
    with pytest.raises(UserError, match="choose one of these endings"):
        run(predictor, str(source), tmp_path / "out.xlsx")
    with pytest.raises(UserError, match=r"was trained for no task, nothing to predict"):
        run(unmask.load(tuned.base), str(source), tmp_path / "out.csv")
    with pytest.raises(OSError, match=r"in\.csv"):
        run(predictor, str(source), source / "out.csv")


def test_what_was_cut_or_empty_is_totalled_over_the_file(tuned, tmp_path, caplog, monkeypatch):
    texts = [["fine", "joy " * 40, "", "joy " * 60][n % 4] for n in range(20)]
    source = str(small_tasks.write_rows(tmp_path / "in.csv", [{"text": text, "label": "good"} for text in texts]))
    predictor = tuned.predictor("classify")
    run(predictor, source, tmp_path / "a.csv")
    kinds = ("texts are longer than 32 tokens", "texts are empty")
    told = [[line for line in caplog.messages if kind in line] for kind in kinds]
    assert [[line.partition(" texts")[0] for line in lines] for lines in told] == [
        ["4 of 8", "In all, 10 of 20"],
        ["2 of 8", "In all, 5 of 20"],
    ]
    assert "in.csv, line 4)" in told[1][1]
    with monkeypatch.context() as patch:
        stop_after(predictor, 1, patch)
        with pytest.raises(Stop):
            run(predictor, source, tmp_path / "b.csv")
    caplog.clear()
    run(predictor, source, tmp_path / "b.csv")
    assert any(line.startswith("After row 8, 6 of 12 texts are longer") for line in caplog.messages)


def test_any_columns_of_objects_come_through(tuned, tmp_path):
    rows = [{"text": "the film was great", "meta": {"x": [1, None]}, "n": 1.5}, {"text": "dull", "meta": None, "n": 2}]
    small_tasks.write_rows(tmp_path / "in.jsonl", rows)
    run(tuned.predictor("classify"), str(tmp_path / "in.jsonl"), tmp_path / "out.jsonl")
    found = rows_of(tmp_path / "out.jsonl")
    assert [{name: row[name] for name in ("text", "meta", "n")} for row in found] == rows


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_bytes_and_nothing_in_parquet_come_through(tuned, tmp_path, caplog, ending):
    texts = ["the film was great", None, "a dull story"]
    table = pyarrow.table({"text": texts, "note": ["", None, "x"], "blob": [bytes(range(n, 256)) for n in range(3)]})
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet")
    with caplog.at_level("INFO", "unmask"):
        run(tuned.predictor("classify"), str(tmp_path / "in.parquet"), tmp_path / f"out.{ending}")
    assert "in.parquet: the column 'blob' holds bytes and no text; they are written in base64." in caplog.text
    found = rows_of(tmp_path / f"out.{ending}")
    assert [row["prediction"] for row in found][::2] == ["good", "bad"]
    assert [base64.b64decode(row["blob"]) for row in found] == table["blob"].to_pylist()
    if ending == "jsonl":
        assert [(row["text"], row["note"]) for row in found] == list(zip(texts, ["", None, "x"], strict=True))


LATE = [
    *({"text": f"the film was great {n}", "n": n} for n in range(SAMPLE)),
    *({"text": f"a dull story {n}", "prediction": f"mine {n}", "note": [n]} for n in range(10)),
]
"""Columns that the first records do not have, one of them called as the answers are."""


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_columns_that_come_late_are_kept(tuned, tmp_path, monkeypatch, ending):
    monkeypatch.setattr(predict_file, "_AT_ONCE", 300)
    source = str(small_tasks.write_rows(tmp_path / "in.jsonl", LATE))
    run(tuned.predictor("classify"), source, tmp_path / f"whole.{ending}")
    found = rows_of(tmp_path / f"whole.{ending}")
    late = ["prediction", "note"] if ending == "csv" else []  # each JSON line has the columns of its own
    assert list(found[0]) == ["text", "n", *late, "prediction_2", "probability", "probabilities"]
    assert [row.get("prediction") or None for row in found] == [row.get("prediction") for row in LATE]
    assert str(found[-1]["note"]) == "[9]"
    predictor = tuned.predictor("classify")
    with monkeypatch.context() as patch:
        stop_after(predictor, 1, patch)
        with pytest.raises(Stop):
            run(predictor, source, tmp_path / f"out.{ending}")
    calls = stop_after(predictor, 100, monkeypatch)
    run(predictor, source, tmp_path / f"out.{ending}")
    assert len(calls) == 1
    assert (tmp_path / f"out.{ending}").read_bytes() == (tmp_path / f"whole.{ending}").read_bytes()


def test_columns_that_come_late_on_standard_input(tuned, tmp_path, monkeypatch):
    """It is read once only, so a header cannot wait for them."""
    monkeypatch.setattr(predict_file, "_AT_ONCE", 300)

    def piped(rows, output):
        lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
        monkeypatch.setattr("unmask.data.decode.blocks_of", lambda *_: iter([lines]))
        run(tuned.predictor("classify"), "-", tmp_path / output)

    rows = [{name: value for name, value in row.items() if name != "prediction"} for row in LATE]
    piped(rows, "out.jsonl")
    assert [row.get("note") for row in rows_of(tmp_path / "out.jsonl")] == [row.get("note") for row in rows]
    with pytest.raises(UserError, match=r"out.csv: row 501 has a column 'note', .* JSON lines \(.jsonl\)"):
        piped(rows, "out.csv")
    with pytest.raises(UserError, match=r"-, line 501 has a column 'prediction', .* give the input as a file"):
        piped(LATE, "out.jsonl")


@pytest.mark.parametrize(("mark", "encoding"), [(b"\xef\xbb\xbf", "utf-8"), (b"", "utf-16"), (b"", "utf-8")])
def test_a_file_of_excel_gets_one_that_excel_reads(tuned, tmp_path, mark, encoding):
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes(mark + "text,数\nthe film was superb,一\n".encode(encoding))
    run(tuned.predictor("classify"), str(source), output, reading=Reading(encoding=encoding))
    marked = bool(mark) or encoding == "utf-16"
    assert output.read_bytes().startswith(b"\xef\xbb\xbf") == marked
    assert output.read_text(encoding="utf-8-sig").startswith("text,数,prediction")


def test_line_ends_within_a_field_are_kept(tuned, tmp_path):
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes(b'text,n\r\n"the film\r\nwas superb\r",1\r\n"dull\nplot",2\r\n')
    run(tuned.predictor("classify"), str(source), output)
    assert [row["text"] for row in rows_of(output)] == ["the film\r\nwas superb\r", "dull\nplot"]
