"""Every kind of file gives its records with their places; a file that cannot be read is refused in one sentence."""

import csv
import gzip
import io
import json
import subprocess
import sys
from itertools import islice

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from unmask.data import readers
from unmask.data.readers import Reading, read_records
from unmask.errors import UserError

ROWS = [
    {"text": 'one, "two";\tthree', "label": "a"},
    {"text": "第一行\n第二行", "label": "b"},
    {"text": "x\u2028y", "label": "a"},
]
SQUAD = {
    "version": "1.1",
    "data": [
        {
            "title": "T",
            "paragraphs": [
                {
                    "context": "Rome.",
                    "qas": [{"id": "1", "question": "?", "answers": [{"text": "Rome", "answer_start": 0}]}],
                }
            ],
        }
    ],
}


def as_bytes(kind, rows):
    if kind == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    if kind == "json":
        return json.dumps(rows, indent=2).encode()
    file = io.BytesIO() if kind == "parquet" else io.StringIO(newline="")
    if kind == "parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
        return file.getvalue()
    writer = csv.DictWriter(file, list(rows[0]), delimiter={"csv": ",", "tsv": "\t"}[kind])
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def values(path, **how):
    return [record.values for record in read_records(path, Reading(**how))]


def said_of(path, **how):
    said = []
    for _ in read_records(path, Reading(**how), say=said.append):
        pass
    return said


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "json", "parquet"])
@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_every_table_packed_and_not(tmp_path, kind, packing):
    path = tmp_path / f"a.{kind}{packing}"
    packed = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[packing]
    path.write_bytes(packed(as_bytes(kind, ROWS)))
    records = read_records(path)
    assert records.names == ["text", "label"]
    assert records.kind == kind
    assert [record.values for record in records] == ROWS
    assert [record.values for record in records] == ROWS  # again
    assert [record.values for record in records.sample] == ROWS


@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_the_other_kinds_packed_and_not(tmp_path, packing):
    packed = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[packing]
    for name, content in {
        "a.conll": "EU\tB-ORG\nis\tO\n\nx\tO\n",
        "a.json": json.dumps(SQUAD),
        "a.all": "0 fine\n1 poor\n0 good\n1 bad\n",
        "a.txt": "one\n\ntwo\n",
    }.items():
        (tmp_path / f"{name}{packing}").write_bytes(packed(content.encode()))
    kinds = [read_records(tmp_path / f"{name}{packing}").kind for name in ("a.conll", "a.json", "a.all", "a.txt")]
    assert kinds == ["conll", "squad", "labels", "text"]
    assert values(tmp_path / f"a.conll{packing}")[0]["tags"] == ["B-ORG", "O"]
    assert values(tmp_path / f"a.json{packing}")[0]["answers"] == [{"text": "Rome", "start": 0}]
    assert values(tmp_path / f"a.all{packing}")[1] == {"label": "1", "text": "poor"}
    assert values(tmp_path / f"a.txt{packing}") == [{"text": "one"}, {"text": "two"}]


ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"))


@given(
    st.lists(st.fixed_dictionaries({"text": ANY_TEXT, "label": ANY_TEXT}), min_size=1),
    st.sampled_from(["csv", "jsonl", "json"]),
)
def test_any_text_comes_back(tmp_path_factory, rows, kind):
    path = tmp_path_factory.mktemp("any") / f"a.{kind}"
    path.write_bytes(as_bytes(kind, rows))
    assert values(path, header=True if kind == "csv" else None) == rows


def test_places(tmp_path):
    (tmp_path / "a.csv").write_text('text,n\n"one\ntwo",1\n\nthree,2\n')
    (tmp_path / "b.jsonl").write_text('{"text": "x"}\n\n{"text": "y"}\n')
    (tmp_path / "c.json").write_text('[{"text": "x"},\n{"text": "y"}]')
    (tmp_path / "d.conll").write_text("\na O\nb O\n\nc O\n")
    (tmp_path / "e.parquet").write_bytes(as_bytes("parquet", ROWS))
    found = [[record.place.rsplit("/", 1)[1] for record in read_records(path)] for path in sorted(tmp_path.iterdir())]
    assert found == [
        ["a.csv, line 2", "a.csv, line 5"],
        ["b.jsonl, line 1", "b.jsonl, line 3"],
        ["c.json, item 1", "c.json, item 2"],
        ["d.conll, line 2", "d.conll, line 5"],
        ["e.parquet, row 1", "e.parquet, row 2", "e.parquet, row 3"],
    ]


def test_line_ends_of_all_kinds_and_a_byte_order_mark(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbftext,n\r\n"a\r\nb",1\rc,2\nd,3')
    assert [row["text"] for row in values(tmp_path / "a.csv")] == ["a\r\nb", "c", "d"]
    assert [record.place for record in read_records(tmp_path / "a.csv")][-1] == f"{tmp_path / 'a.csv'}, line 5"
    (tmp_path / "a.tsv").write_bytes(b'text\tn\r\n"a\r\nb"\t1\r\nc\t2\r\n')
    assert [row["text"] for row in values(tmp_path / "a.tsv")] == ["a\r\nb", "c"]
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\rthree")
    assert [row["text"] for row in values(tmp_path / "a.txt")] == ["one", "two", "three"]
    (tmp_path / "a.conll").write_bytes(b"\xef\xbb\xbfEU\tB-ORG\r\nis\tO\r\n\r\nx\tO")
    assert [row["tokens"] for row in values(tmp_path / "a.conll")] == [["EU", "is"], ["x"]]


def test_headers_are_found_or_given(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("x y\tz\nv w\tz\n")
    assert values(path) == [{"1": "x y", "2": "z"}, {"1": "v w", "2": "z"}]
    assert values(path, header=True) == [{"x y": "v w", "z": "z"}]
    assert said_of(path) == [f"{path} has no header, so its columns are numbered from 1 to 2 (otherwise: --header)."]
    assert said_of(path, header=False) == []
    path.write_text("text\tlabel\nv w\tz\n")
    assert values(path) == [{"text": "v w", "label": "z"}]
    assert values(path, header=False)[0] == {"1": "text", "2": "label"}
    path.write_text("\ttext\tlabel\n0\tv w\tz\n")
    assert values(path) == [{"1": "0", "text": "v w", "label": "z"}]
    path.write_text("v1\tv2\t\t\nham\tsee you there\t\t\nspam\ta prize for you\t\t\n")
    assert values(path)[0] == {"v1": "ham", "v2": "see you there", "3": "", "4": ""}
    assert said_of(path) == [f"{path}: its first line is read as a header: v1, v2 (otherwise: --no-header)."]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "sep=;\r\ntext;label\r\nfine, really;1\r\n"),
        ("a.csv", '"sep=;"\n"text";"label"\n"fine, really";1\n'),
        ("a.csv", "SEP=\t\ntext\tlabel\nfine, really\t1\n"),
        ("a.tsv", "sep=|\ntext|label\nfine, really|1\n"),
    ],
)
def test_the_separator_that_excel_writes_before_the_header(tmp_path, name, content):
    (tmp_path / name).write_text(content, newline="")
    assert values(tmp_path / name) == [{"text": "fine, really", "label": "1"}]
    assert [record.place for record in read_records(tmp_path / name)] == [f"{tmp_path / name}, line 3"]


def test_quotation_marks_that_are_text(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text('sentence\tlabel\n"Great" film\t1\n"open\t0\nlast\t1\n')
    assert [row["sentence"] for row in values(path)] == ['"Great" film', '"open', "last"]
    assert said_of(path) == [f"{path} does not quote its fields: quotation marks are text (otherwise: --quotes)."]
    with pytest.raises(UserError, match=r"is not CSV as it should be .*--no-quotes"):
        values(path, quotes=True)


def test_a_kind_that_is_given(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("good film\nbad film\n")
    assert values(path) == [{"text": "good film"}, {"text": "bad film"}]
    assert values(path, kind="labels") == [{"label": "good", "text": "film"}, {"label": "bad", "text": "film"}]
    assert values(path, kind="conll")[0]["tokens"] == ["good", "bad"]
    with pytest.raises(UserError, match="There is no kind of file 'xml'; choose among csv"):
        Reading(kind="xml")


def test_labels_of_fasttext(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("__label__a fine film\n__label__a __label__b  poor plot\n")
    assert values(path) == [{"label": "a", "text": "fine film"}, {"label": ["a", "b"], "text": "poor plot"}]
    assert "is read as a label and a text a line (another kind: --kind)" in said_of(path)[0]
    path.write_text("__label__a\t__label__b\tgood film here\n__label__a __label__b  __label__c\u3000good\n")
    assert values(path) == [
        {"label": ["a", "b"], "text": "good film here"},
        {"label": ["a", "b", "c"], "text": "good"},
    ]
    path.write_text("__label__a fine film\n__label__a\n")
    with pytest.raises(UserError, match=r"line 2 has a label and no text"):
        values(path)


def test_broken_encodings_are_said(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"caf\xe9\n" + b"fine film\n" * 9)
    assert values(path)[:2] == [{"text": "caf\ufffd"}, {"text": "fine film"}]
    assert said_of(path) == [f"{path}: 1 place is not utf-8 and read as U+FFFD (another one: --encoding)."]
    assert values(path, encoding="latin-1")[0] == {"text": "café"}
    with pytest.raises(UserError, match="line 1: byte 0xe9 is not utf-8"):
        values(path, encoding_errors="refuse")


@pytest.mark.skipif(sys.platform == "win32", reason="standard input is /dev/stdin")
def test_broken_encodings_of_standard_input_are_said():
    code = "from unmask.data.readers import read_records; list(read_records('-', say=print))"
    content = b"fine film\n" * 2000 + b"caf\xe9\n"
    ran = subprocess.run([sys.executable, "-c", code], input=content, capture_output=True, check=True)
    assert ran.stdout.decode().splitlines()[1:] == [
        "-: 1 place is not utf-8 and read as U+FFFD (another one: --encoding)."
    ]


def test_another_encoding_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("文本,标签\n很好的酒店,1\n房间太小,0\n".encode("gb18030"))
    with pytest.raises(UserError, match=r"a.csv is not utf-8: it cannot be read at \d+ places .* such as gb18030"):
        read_records(path)
    assert values(path, encoding="gb18030")[0] == {"文本": "很好的酒店", "标签": "1"}
    (tmp_path / "a.conll").write_bytes("北\tB-LOC\n京\tI-LOC\n".encode("gb18030"))
    with pytest.raises(UserError, match=r"a.conll is not utf-8"):
        read_records(tmp_path / "a.conll")


def test_headers_that_are_guessed_are_said(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("utterance of a user\tn\nhello\t1\nbye\t2\n")
    assert said_of(path) == [
        f"{path}: its first line is read as a header: utterance of a user, n (otherwise: --no-header)."
    ]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"", r"a.csv is empty; there is nothing to read"),
        ("a.txt", b"\n \n", r"a.txt is empty"),
        ("a.jsonl", b"\n", r"a.jsonl is empty"),
        ("a.json", b"[]", r"a.json is empty"),
        ("a.json", b"", r"a.json is empty"),
        ("a.conll", b"\n\n", r"a.conll is empty"),
        ("a.csv", b"text,label\n", r"a.csv has a header and no rows: text, label"),
        ("a.csv", b"text,label\nx,1\ny\n", r"a.csv, line 3 has 1 column, but the first line has 2: 'y'"),
        ("a.tsv", b"text\tlabel\nx\t1\ty\n", r"a.tsv, line 2 has 3 columns, but the first line has 2"),
        ("a.csv", b'text,label\n"open,1\nx,2\n"', r"a.csv, line 2 has 1 column,|not CSV as it should be"),
        ("a.csv", b"text,label,text\nx,1,y\n", r"a.csv has two columns named 'text'; rename one of them."),
        ("a.jsonl", b'{"text": "x"}\n{"text": \n', r"a.jsonl, line 2 is not valid JSON"),
        ("a.jsonl", b"[1]\n", r"a.jsonl, line 1 must hold a JSON object, but holds a list"),
        ("a.json", b'[{"text": "x"}', r"a.json: after item 1 of the list"),
        ("a.json", b'{"data": [{"qas": [', r"a.json is not valid JSON"),
        ("a.jsonl", b'{"a": ' + b"[" * 99_999, r"a.jsonl holds JSON that is nested too deeply|not valid JSON"),
        ("a.conll", b"EU\tO\nis\nx\tO\n", r"a.conll, line 2 has 1 column, but the file has 2: 'is'"),
        ("a.txt", b"EU N O\nis V O\n\nx N\ny N O\n", r"a.txt, line 4 has 2 columns, but the file has 3: 'x N'"),
        ("a.parquet", b"PAR1 no", r"a.parquet is not Parquet or damaged"),
        ("a.txt", b"text\nand\0bytes", r"a.txt, line 2: there are NUL bytes"),
        ("a.tsv", b"\x1f\x8b\x08\0", r"a.tsv is packed, but its name does not say so; let it end in \.gz"),
        ("a.xlsx", b"PK\x03\x04\0\0", r"a.xlsx is a workbook or another packed file, not text; save it as CSV"),
        ("a.csv", "text,label\n".encode("utf-16"), r"a.csv is not utf-8 but, by its first bytes, utf-16; give --enc"),
        ("a.csv.gz", gzip.compress(b"x" * 99, mtime=0)[:-9], r"a.csv.gz is cut off or damaged gzip"),
    ],
)
def test_files_that_are_refused(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=said):
        values(tmp_path / name)


def test_a_missing_file(tmp_path):
    with pytest.raises(UserError, match="There is no file"):
        read_records(tmp_path / "missing.csv")


def test_several_files_with_the_same_columns(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nx,1\n")
    (tmp_path / "b.csv").write_text("text,label\ny,2\n")
    assert [row["text"] for row in values(tmp_path)] == ["x", "y"]
    (tmp_path / "b.csv").write_text("text,stars\ny,2\n")
    with pytest.raises(UserError, match=r"b.csv has the columns text, stars, but .*a.csv has text, label"):
        values(tmp_path)


def test_the_kind_of_many_files_is_said_once(tmp_path):
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text('{"text": "x"}\n')
    (tmp_path / "d.txt").write_text("0 fine\n1 poor\n0 good\n1 bad\n")
    assert said_of(tmp_path) == [
        f"{tmp_path / 'a.txt'}, the first of 4 files, is read as JSON lines (another kind: --kind).",
        f"{tmp_path / 'd.txt'} is read as a label and a text a line (another kind: --kind).",
    ]


def test_a_folder_of_columns_beside_a_readme(tmp_path):
    (tmp_path / "train.conll").write_text("EU\tB-ORG\nis\tO\n")
    (tmp_path / "README.txt").write_text("How the data were made.\n")
    assert [row["tokens"] for row in values(tmp_path)] == [["EU", "is"]]


@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_columns_that_come_late(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    path.write_bytes(as_bytes(kind, [{"text": "x"}] * readers.SAMPLE + [{"late": 1, "text": "y"}]))
    records = read_records(path)
    assert records.names == ["text"]
    assert records.all_names() == ["text", "late"]
    assert records.columns_of(list(records)[-1]) == {"late": 1, "text": "y"}


def test_columns_of_several_files_of_objects(tmp_path):
    for name, row in {"a": {"text": "x"}, "b": {"text": "y", "late": 1}}.items():
        (tmp_path / f"{name}.parquet").write_bytes(as_bytes("parquet", [row]))
    assert read_records(tmp_path).all_names() == ["text", "late"]


def test_each_column_of_conll_once(tmp_path):
    (tmp_path / "a.conll").write_text("EU NNP B-ORG\nis VB O\n")
    records = read_records(tmp_path / "a.conll")
    assert records.all_names() == ["tokens", "tags", "2"]
    assert [list(records.columns_of(record)) for record in records] == [["tokens", "tags", "2"]]


@pytest.mark.parametrize("indent", [None, 1])
def test_squad_with_a_long_context(tmp_path, indent):
    content = json.loads(json.dumps(SQUAD))
    content["data"][0]["paragraphs"][0]["context"] = "Rome. " * 500_000
    (tmp_path / "a.json").write_text(json.dumps(content, indent=indent))
    records = read_records(tmp_path / "a.json")
    assert records.kind == "squad"
    assert [record.values["question"] for record in records] == ["?"]


def test_a_dataset_of_the_hub(tmp_path, monkeypatch):
    (tmp_path / "train-0.parquet").write_bytes(as_bytes("parquet", ROWS))
    monkeypatch.setattr("unmask.data.hub.listed_on_hub", lambda name, kind: ["train-0.parquet"])
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *args, **kwargs: str(tmp_path))
    assert values("hf:owner/name") == ROWS


def test_types_and_bytes_of_parquet(tmp_path):
    table = pyarrow.table({"text": [b"caf\xc3\xa9", None], "label": [1, 2], "tokens": [["a"], []], "ok": [True, None]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert values(tmp_path / "a.parquet") == [
        {"text": "café", "label": 1, "tokens": ["a"], "ok": True},
        {"text": None, "label": 2, "tokens": [], "ok": None},
    ]


@pytest.mark.parametrize("errors", ["replace", "refuse"])
def test_bytes_that_are_no_text_do_not_get_in_the_way(tmp_path, errors):
    rows = [{"text": "fine film", "raw": b"caf\xc3\xa9", "blob": bytes(range(n, 256))} for n in range(20)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    expected = [{**row, "raw": "café"} for row in rows]
    assert values(tmp_path / "a.parquet", encoding_errors=errors) == expected
    assert said_of(tmp_path / "a.parquet") == []


@pytest.mark.skipif(sys.platform == "win32", reason="standard input is /dev/stdin")
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("text,label\n" + "fine film,1\n" * 2000, {"text": "fine film", "label": "1"}),
        ('{"text": "x"}\n' * 2000, {"text": "x"}),
        ("A sentence.\n" * 2000, {"text": "A sentence."}),
    ],
)
def test_standard_input_once(content, expected):
    code = (
        "import json; from unmask.data.readers import read_records; r = read_records('-'); rows = list(r)\n"
        "print(json.dumps([len(rows), rows[0].values, rows[-1].place]))\n"
        "try: list(r)\nexcept ValueError as error: print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], input=content, capture_output=True, text=True, check=True)
    first, second = ran.stdout.splitlines()
    lines = content.count("\n")
    assert json.loads(first) == [lines - content.startswith("text"), expected, f"-, line {lines}"]
    assert second == "Standard input can be read once only, but is needed again; write it to a file."


@pytest.mark.skipif(sys.platform == "win32", reason="standard input is /dev/stdin")
def test_parquet_from_standard_input():
    code = (
        "from unmask.data.readers import read_records, Reading\n"
        "print([record.values['label'] for record in read_records('-', Reading(kind='parquet'))])"
    )
    ran = subprocess.run([sys.executable, "-c", code], input=as_bytes("parquet", ROWS), capture_output=True, check=True)
    assert ran.stdout.decode().strip() == "['a', 'b', 'a']"


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("a.csv", "fine film,1\n"),
        ("a.tsv", '"fine" film\t1\n'),
        ("a.jsonl", '{"text": "x", "label": 1}\n'),
        ("a.json", '{"text": "x", "label": 1},\n'),
        ("a.conll", "EU B-ORG\nis O\n\n"),
        ("a.all", "0 what\n1 who\n"),
        ("a.txt", "A sentence.\n"),
    ],
)
def test_files_are_streamed(tmp_path, monkeypatch, name, block):
    """Of a file of a terabyte no more is read than a little ahead of the record that is asked for."""
    (tmp_path / name).touch()
    taken = 0

    def endless(*_):
        nonlocal taken
        yield "[" if name == "a.json" else ""
        while taken < 1 << 40:
            taken += len(block * 100)
            yield block * 100

    monkeypatch.setattr(readers, "texts_of_file", endless)
    records = read_records(tmp_path / name)
    taken = 0
    assert len(list(islice(records, 20_000))) == 20_000
    assert taken < 3 << 20


COUNTS = {
    "sentiment/sst2/train.tsv.gz": 67_349,
    "sentiment/sst2/dev.tsv.gz": 872,
    "sentiment/imdb/train.jsonl.gz": 4_000,
    "sentiment/chnsenticorp/train.tsv.gz": 9_600,
    "sentiment/chnsenticorp/dev.tsv.gz": 1_200,
    "topic/trec6/TREC.train.all.gz": 5_452,
    "topic/trec6/TREC.test.all.gz": 500,
    "topic/tnews/train.tsv.gz": 53_360,
    "topic/tnews/dev.tsv.gz": 10_000,
    "pairs/rte/train.tsv.gz": 2_127,
    "pairs/rte/val.tsv.gz": 363,
    "pairs/rte/dev.tsv.gz": 277,
    "pairs/stsb/train.tsv.gz": 4_249,
    "pairs/stsb/dev.tsv.gz": 1_500,
    "pairs/afqmc/train.txt.gz": 34_334,
    "pairs/afqmc/dev.txt.gz": 4_316,
    "acceptability/cola/train.tsv.gz": 7_250,
    "acceptability/cola/val.tsv.gz": 1_301,
    "acceptability/cola/dev.tsv.gz": 1_043,
    "ner/wnut17/train.conll.gz": 3_394,
    "ner/wnut17/dev.conll.gz": 1_009,
    "ner/conll2003/train.txt.gz": 14_041,
    "ner/conll2003/valid.txt.gz": 3_250,
    "ner/weibo/train.conll.gz": 1_350,
    "ner/weibo/dev.conll.gz": 270,
    "ner/msra/train.txt.gz": 50_658,
    "reading/squad1/train_first12articles.json.gz": 4_373,
    "reading/squad1/dev_halfA_24articles.json.gz": 4_961,
    "reading/cmrc2018/cmrc2018_trial.json.gz": 1_002,
    "reading/drcd/DRCD_dev.json.gz": 3_524,
}
"""Examples as the table of the shared data counts them."""


@pytest.mark.parametrize("name", COUNTS)
def test_real_files(shared, name):
    assert sum(1 for _ in read_records(shared / "data" / name)) == COUNTS[name]


@pytest.mark.parametrize("line", [3, 20, 400])
def test_a_real_file_of_columns_with_a_broken_line(shared, tmp_path, line):
    with gzip.open(shared / "data/ner/conll2003/train.txt.gz", "rt", encoding="utf-8") as file:
        lines = list(islice(file, 2_000))
    lines[line - 1] = "said VBD\n"
    (tmp_path / "train.txt").write_text("".join(lines))
    with pytest.raises(UserError, match=f"train.txt, line {line} has 2 columns, but the file has 4: 'said VBD'"):
        values(tmp_path / "train.txt")


@pytest.mark.parametrize("name", [name for name in COUNTS if ".tsv" in name])
def test_real_tables_are_cut_at_their_tabs(shared, name):
    """None of them quotes, whatever its quotation marks look like."""
    with gzip.open(shared / "data" / name, "rt", encoding="utf-8", newline="\n") as file:
        expected = [line.split("\t") for line in file.read().split("\n") if line]
    found = [list(record.values.values()) for record in read_records(shared / "data" / name)]
    assert len(expected) - len(found) in (0, 1)  # a header
    assert found == expected[len(expected) - len(found) :]


def test_a_real_table_that_quotes(shared):
    """One field of 68,668 in AFQMC is quoted, at line 25,273, as programs do it."""
    said = []
    records = read_records(shared / "data/pairs/afqmc/train.txt.gz", say=said.append)
    assert next(islice(records, 25_272, None)).values["2"] == '在"管理"页点击"信用卡"和"花呗"，怎么回复不能开通'
    assert not any("quote" in sentence for sentence in said)
