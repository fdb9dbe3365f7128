"""Every kind of file gives its documents; a file that cannot be read is refused in one sentence."""

import csv
import gzip
import io
import json

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from unmask.corpus import documents as module
from unmask.corpus.documents import Reading, read_documents, read_source, texts_of
from unmask.data.decode import Seen
from unmask.data.where import find_sources
from unmask.errors import UserError

TEXTS = ["One.\nStill one.", 'Two, "quoted";\ttabbed', "三。\u2028仍然是三", "Four"]


def read(*paths, **how):
    return [document.text for document in read_documents(paths, Reading(**how))]


def as_bytes(kind, texts, column="text"):
    rows = [{"id": i, column: text} for i, text in enumerate(texts)]
    if kind == "txt":
        return "\n\n".join(texts).encode()
    if kind == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    if kind == "parquet":
        file = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file, row_group_size=2)
        return file.getvalue()
    file = io.StringIO()
    writer = csv.DictWriter(file, ["id", column], delimiter={"csv": ",", "tsv": "\t"}[kind])
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


@pytest.mark.parametrize("kind", ["txt", "jsonl", "csv", "tsv", "parquet"])
@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_every_kind_packed_and_not(tmp_path, kind, packing):
    path = tmp_path / f"a.{kind}{packing}"
    packed = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[packing]
    path.write_bytes(packed(as_bytes(kind, TEXTS)))
    assert read(path) == TEXTS


def test_places(tmp_path):
    (tmp_path / "a.txt").write_text("\n\nfirst\nof it\n\n \t\n\nsecond\n")
    (tmp_path / "b.csv").write_text('text\n"one\ntwo"\nthree\n')
    (tmp_path / "c.jsonl").write_text('{"text": "x"}\n\n{"text": "y"}\n')
    (tmp_path / "d.parquet").write_bytes(as_bytes("parquet", ["p", "q"]))
    found = [(d.source.rsplit("/", 1)[1], d.place) for d in read_documents([tmp_path])]
    assert found == [
        *(("a.txt", "line 3"), ("a.txt", "line 8")),
        *(("b.csv", "line 2"), ("b.csv", "line 4")),
        *(("c.jsonl", "line 1"), ("c.jsonl", "line 3")),
        *(("d.parquet", "row 1"), ("d.parquet", "row 2")),
    ]


@given(st.text(st.sampled_from("ab \n\r\t")), st.integers(1, 7))
def test_text_files_are_cut_at_blank_lines_wherever_blocks_end(text, size):
    import re

    blocks = (text[i : i + size] for i in range(0, len(text), size))
    translate = io.IncrementalNewlineDecoder(None, translate=True)
    lines = (translate.decode(block) for block in blocks)
    found = [document.strip() for document, _ in module._read_text(lines, None, None, None)]
    plain = re.sub("\r\n?", "\n", text)
    assert found == [part.strip() for part in re.split(r"\n[ \t]*(?=\n)", plain) if part.strip()]


def test_line_ends_of_all_kinds_and_a_byte_order_mark(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\rthree\n\r\nfour")
    assert read(tmp_path / "a.txt") == ["one\ntwo", "three", "four"]
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbftext,n\r\n"a\r\nb",1\rc,2\nd,3')
    assert read(tmp_path / "a.csv") == ["a\nb", "c", "d"]


def test_a_document_longer_than_a_block_and_one_that_is_too_long(tmp_path, monkeypatch):
    book = "word " * 700_000
    (tmp_path / "a.txt").write_text(f"{book}\n\nshort")
    assert read(tmp_path / "a.txt") == [book.strip(), "short"]
    monkeypatch.setattr(module, "LARGEST_DOCUMENT", 1 << 20)
    parts = read(tmp_path / "a.txt")
    assert len(parts) > 2
    assert all(len(part) <= 2 << 20 for part in parts)  # the limit, and what was read at once
    assert " ".join(parts) == f"{book}short"  # cut between words


def test_guesses_are_said_aloud_once(tmp_path):
    (tmp_path / "a.csv").write_text("cat,label,Review\n书,1,好\n")
    (tmp_path / "b.csv").write_text("cat,label,Review\n书,1,坏\n")
    said = []
    assert [d.text for d in read_documents([tmp_path], say=said.append)] == ["好", "坏"]
    assert len(said) == 1
    assert "the text is taken from the column 'Review'" in said[0]


def test_semicolons_and_files_without_quotes(tmp_path):
    (tmp_path / "a.csv").write_text("text;n\nx, y;1\n")
    assert read(tmp_path / "a.csv") == ["x, y"]
    (tmp_path / "b.tsv").write_text('text\tn\n"Great" film\t1\n"open\t2\nlast\t3\n')
    assert read(tmp_path / "b.tsv", quotes=False) == ['"Great" film', '"open', "last"]
    with pytest.raises(UserError, match=r"b.tsv is not CSV as it should be .*--no-quotes"):
        read(tmp_path / "b.tsv")


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.tsv"])
@pytest.mark.parametrize("content", ["", "\ufeff", "\n\n"])
def test_an_empty_file_is_no_document(tmp_path, name, content):
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert read(tmp_path / name) == read(tmp_path / name, text="review") == []


def test_nothing_where_a_text_should_be_is_an_empty_document(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": null}\n{"text": ""}\n')
    (tmp_path / "b.parquet").write_bytes(as_bytes("parquet", [None, "x"]))
    assert read(tmp_path) == ["", "", "", "x"]


def test_broken_encodings_are_counted_and_replaced(tmp_path):
    (tmp_path / "a.txt").write_bytes("gut \ufffd ".encode() + b"caf\xe9 and \xff\xfe")
    seen = Seen()
    assert [d.text for d in read_documents([tmp_path / "a.txt"], seen=seen)] == [
        "gut \ufffd caf\ufffd and \ufffd\ufffd"
    ]
    assert seen.invalid == 3


def test_broken_encodings_are_refused_if_asked(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"fine\n" * 300_000 + b"caf\xe9 au lait")
    with pytest.raises(UserError, match=r"a.txt, line 300001: byte 0xe9 is not utf-8; give another --encoding"):
        read(tmp_path / "a.txt", encoding_errors="refuse")
    table = pyarrow.table({"text": pyarrow.array([b"ok", b"caf\xe9"])})
    pyarrow.parquet.write_table(table, tmp_path / "b.parquet")
    assert read(tmp_path / "b.parquet") == ["ok", "caf\ufffd"]
    with pytest.raises(UserError, match=r"b.parquet, row 2: byte 0xe9"):
        read(tmp_path / "b.parquet", encoding_errors="refuse")


def test_a_character_across_two_blocks(tmp_path):
    text = "x" * ((1 << 20) - 1) + "汉字"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    assert read(tmp_path / "a.txt", encoding_errors="refuse") == [text]


@pytest.mark.parametrize("encoding", ["gb18030", "big5", "utf-16", "latin-1"])
def test_other_encodings(tmp_path, encoding):
    text = "naïve café" if encoding == "latin-1" else "漢字和標點。"
    (tmp_path / "a.txt").write_bytes(f"{text}\r\n\r\nb".encode(encoding))
    assert read(tmp_path / "a.txt", encoding=encoding, encoding_errors="refuse") == [text, "b"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", b"text\nand\0bytes", r"a.txt, line 2: there are NUL bytes, so this is a binary file"),
        ("a.jsonl", b'{"text": "x"}\n{"text": \n', r"a.jsonl, line 2 is not valid JSON"),
        ("a.json", b'[\n{"text": "x"}]', r"a.json, line 1 is not valid JSON .*one object a line"),
        ("a.jsonl", b"[1]\n", r"a.jsonl, line 1 must hold a JSON object, but holds a list"),
        ("a.jsonl", b'{"text": "x"}\n{"other": 1}\n', r"a.jsonl, line 2: there is no field 'text', only other"),
        ("a.jsonl", b'{"text": 5}\n', r"a.jsonl, line 1: the field 'text' must hold a text, not a int"),
        ("a.jsonl", b'{"a": "x", "b": "y"}\n', r"which column holds the text\? Say --text with one of a, b"),
        ("a.csv", b"a,b\n1,2\n", r"which column holds the text\? Say --text with one of a, b"),
        ("a.csv", b"n,text\n1,x\n2\n", r"a.csv, line 3 has 1 column; the text is in column 2"),
        ("a.csv", b'text\n"never closed\n', r"a.csv is not CSV as it should be"),
        ("a.parquet", b"PAR1 no", r"a.parquet is not Parquet or damaged"),
        ("a.txt.gz", gzip.compress(b"x" * 99, mtime=0)[:-9], r"a.txt.gz is cut off or damaged gzip"),
    ],
)
def test_files_that_are_refused(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=said):
        read(tmp_path / name)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_a_column_that_is_not_there(tmp_path, kind):
    (tmp_path / f"a.{kind}").write_bytes(as_bytes(kind, ["x"]))
    with pytest.raises(UserError, match="has no column 'body', only id, text"):
        read(tmp_path / f"a.{kind}", text="body")
    if kind == "parquet":
        with pytest.raises(UserError, match="the column 'id' must hold texts, not int64"):
            read(tmp_path / f"a.{kind}", text="id")
    if kind == "csv":
        assert read(tmp_path / f"a.{kind}", text="id") == ["0"]


def test_reading_is_checked():
    with pytest.raises(UserError, match="Python knows no encoding 'utf-9'"):
        Reading(encoding="utf-9")
    with pytest.raises(UserError, match="replaced or refused, not 'ignore'"):
        Reading(encoding_errors="ignore")


def test_texts_for_the_training_of_a_tokenizer(tmp_path):
    (tmp_path / "a.txt").write_text("one  two\n\n\x07\n\ncafe\u0301")
    texts = texts_of([tmp_path])
    assert list(texts()) == list(texts()) == ["one two", "café"]
    with pytest.raises(UserError, match="There is no file"):
        texts_of([tmp_path / "missing.txt"])
    with pytest.raises(UserError, match="Standard input can be read once only"):
        texts_of(["-"])


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    ("content", "texts", "said"),
    [
        ('\n {"id": 1, "text": "one"}\n\n{"id": 2, "text": "two"}', ["one", "two"], 2),
        ('{"text": "one"}', ["one"], 2),
        ('{"text": "one"}\n{', None, 2),  # no longer taken for text
        ("{ a brace }\n\ntwo", ["{ a brace }", "two"], 0),
        ("[1]\n\ntwo", ["[1]", "two"], 0),
        ("one\n\n" + '{"text": "two"}', ["one", '{"text": "two"}'], 0),
        ("", [], 0),
    ],
)
def test_json_lines_from_standard_input(tmp_path, monkeypatch, size, content, texts, said):
    monkeypatch.setattr("unmask.data.unpack.BLOCK", size)
    (tmp_path / "stdin").write_text(content, encoding="utf-8")
    [source], told = find_sources(["-"], spool=tmp_path / "stdin"), []
    found = (document.text for document in read_source(source, Reading(), Seen(), told.append))
    if texts is None:
        with pytest.raises(UserError, match="-, line 2 is not valid JSON"):
            list(found)
    else:
        assert list(found) == texts
    assert len(told) == said
    assert not told or told[0].startswith("Standard input is read as JSON lines")


TABLE = 'id,text\n1,"one,\n\ntwo"\n2,three\n'


def read_from_standard_input(folder, content, **reading):
    (folder / "stdin").write_bytes(content)
    [source], told = find_sources(["-"], spool=folder / "stdin"), []
    return [document.text for document in read_source(source, Reading(**reading), Seen(), told.append)], told


def test_a_table_from_standard_input_is_one_if_that_is_said(tmp_path):
    texts, told = read_from_standard_input(tmp_path, TABLE.encode())
    assert texts == ['id,text\n1,"one,', 'two"\n2,three']
    assert told == ["Standard input is read as text; if 'text' is a column of a table, say --kind csv or --kind tsv."]
    texts, told = read_from_standard_input(tmp_path, TABLE.encode(), kind="csv")
    assert texts == ["one,\n\ntwo", "three"]
    assert len(told) == 1
    assert "the column 'text'" in told[0]
    assert read_from_standard_input(tmp_path, b'{"text": 1}\n', kind="text") == (['{"text": 1}'], [])


def test_prose_with_commas_is_no_table(tmp_path):
    assert read_from_standard_input(tmp_path, b"Ships, sailors and texts.\nAnd more.")[1] == []


@pytest.mark.parametrize("packed", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_packed_standard_input(tmp_path, packed):
    assert read_from_standard_input(tmp_path, packed(b"one\n\ntwo")) == (["one", "two"], [])
    assert read_from_standard_input(tmp_path, packed(TABLE.encode()), kind="csv")[0] == ["one,\n\ntwo", "three"]


def test_parquet_from_standard_input(tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"text": ["one", "two"]}), tmp_path / "table")
    assert read_from_standard_input(tmp_path, (tmp_path / "table").read_bytes())[0] == ["one", "two"]


def test_a_kind_that_no_file_is_of():
    with pytest.raises(UserError, match="of the kind text, jsonl, csv, tsv, parquet, not 'xls'"):
        Reading(kind="xls")


def test_a_kind_goes_before_the_ending_of_a_name(tmp_path):
    (tmp_path / "table.dat").write_text(TABLE)
    found = read_documents([tmp_path / "table.dat"], Reading(kind="csv"))
    assert [document.text for document in found] == ["one,\n\ntwo", "three"]


def test_a_long_line_that_only_begins_like_json(tmp_path, monkeypatch):
    monkeypatch.setattr("unmask.corpus.documents.LARGEST_DOCUMENT", 1000)
    monkeypatch.setattr("unmask.data.unpack.BLOCK", 100)
    text = '{"' + "word " * 1000
    (tmp_path / "stdin").write_text(text)
    [source] = find_sources(["-"], spool=tmp_path / "stdin")
    found = [document.text for document in read_source(source, Reading(), Seen())]
    assert " ".join(found) == text.strip()


def test_real_files(shared):
    """The figures were counted with zcat, and Python's csv module on the whole file at once."""
    reviews = list(read_documents([shared / "data/corpus/shopping_reviews_zh"]))
    with gzip.open(
        shared / "data/corpus/shopping_reviews_zh/online_shopping_10_cats.csv.gz", "rt", "utf-8", newline=""
    ) as f:
        assert [d.text for d in reviews] == [row["review"] for row in csv.DictReader(f)]
    assert len(reviews) == 62_774
