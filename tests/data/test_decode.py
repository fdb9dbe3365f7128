"""Text from bytes, wherever blocks end; what is broken is counted or refused."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data import decode
from unmask.data.decode import (
    Seen,
    are_texts,
    check_encoding,
    decoded,
    equal_ends,
    lines_of,
    texts_of_file,
    whole_lines_of,
    with_last,
)
from unmask.data.source import Source
from unmask.errors import UserError

FILE = Source("a.txt", None, "text", "")


def texts_in_blocks(text, size):
    """What is read of a file whose bytes come in blocks of that size."""
    return bytes_in_blocks(text.encode(), size, "utf-8", "refuse")


def bytes_in_blocks(raw, size, encoding, errors):
    blocks = [raw[i : i + size] for i in range(0, len(raw), size)] or [b""]
    before, decode.blocks_of = decode.blocks_of, lambda *_: iter(blocks)
    try:
        return list(texts_of_file(FILE, encoding, errors, Seen()))
    finally:
        decode.blocks_of = before


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), st.integers(1, 5))
def test_any_text_in_blocks_of_any_size(text, size):
    text = text.removeprefix("\ufeff")
    blocks = texts_in_blocks(text, size)
    assert "".join(blocks) == text
    assert "".join(equal_ends(blocks)) == text.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize("size", range(1, 8))
@pytest.mark.parametrize("encoding", ["gb18030", "big5", "shift_jis", "euc_kr", "utf-8"])
def test_a_character_across_blocks_beside_a_bad_byte(encoding, size):
    raw = "一二三".encode(encoding) + b"\xff!" + "日中大".encode(encoding)
    expected = raw.decode(encoding, "replace")
    assert "日中大" in expected
    assert "".join(bytes_in_blocks(raw, size, encoding, "replace")) == expected


@pytest.mark.parametrize("size", [1, 99])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "utf-32-le", "gb18030"])
def test_a_byte_order_mark_is_no_text(encoding, size):
    raw = "\ufeffa\ufeffb".encode(encoding.removesuffix("-sig"))
    assert "".join(bytes_in_blocks(raw, size, encoding, "refuse")) == "a\ufeffb"


@given(st.text(st.sampled_from('a",\r\n\u2028\x85')), st.integers(1, 5))
def test_lines_keep_their_ends_wherever_blocks_end(text, size):
    assert list(whole_lines_of(texts_in_blocks(text, size))) == list(io.StringIO(text, newline=""))


@pytest.mark.parametrize("size", [1, 2, 99])
def test_lines_are_counted_at_ends_of_all_kinds(size):
    with pytest.raises(UserError, match=r"a.txt, line 5: there are NUL bytes"):
        texts_in_blocks("1\r\n2\r3\n\r5\0", size)


@given(st.lists(st.text(st.sampled_from("ab\n\u2028\x85"))))
def test_lines_end_at_line_feeds_only(blocks):
    whole = "".join(blocks)
    expected = whole.split("\n")
    assert list(lines_of(blocks)) == (expected if expected[-1] else expected[:-1])


def test_which_is_the_last():
    assert list(with_last(iter(["a", "b"]))) == [("a", False), ("b", True)]
    assert list(with_last(iter([]))) == []


@pytest.mark.parametrize(
    ("raws", "encoding", "are"),
    [
        (["房间".encode()], "utf-8", True),
        (["房间".encode("gb18030")], "gb18030", True),
        (["房间".encode("gb18030")], "utf-8", False),
        ([b"caf\xe9", b"fine film" * 9], "utf-8", True),
        (["\ufffd".encode()], "utf-8", True),
        ([b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"], "utf-8", False),
        ([b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"], "latin-1", False),
        ([], "utf-8", True),
    ],
)
def test_bytes_that_are_texts(raws, encoding, are):
    assert are_texts(raws, encoding) is are


def test_one_value():
    seen = Seen()
    assert decoded(b"caf\xe9", "latin-1", "refuse", seen, "row 1") == "café"
    assert seen.invalid == 0
    assert decoded(b"caf\xe9", "utf-8", "replace", seen, "row 1") == "caf\ufffd"
    assert seen.invalid == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_another_encoding_than_the_file_has(tmp_path, encoding):
    path = tmp_path / "a.txt"
    path.write_text("plain text, no mark")
    with pytest.raises(UserError, match=rf"a\.txt is not {encoding} \(.*\); give another --encoding\."):
        list(texts_of_file(Source("a.txt", path, "text", ""), encoding, "replace", Seen()))


@pytest.mark.parametrize("encoding", ["base64", "rot13", "utf-9"])
def test_encodings_that_are_not_of_texts(encoding):
    with pytest.raises(UserError, match=f"Python knows no encoding '{encoding}'"):
        check_encoding(encoding, "replace")
