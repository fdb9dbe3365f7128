"""Text from bytes, wherever blocks end; what is broken is counted or refused."""

from hypothesis import given
from hypothesis import strategies as st

from unmask.data import decode
from unmask.data.decode import Seen, decoded, lines_of, texts_of_file, with_last
from unmask.data.where import Source

FILE = Source("a.txt", None, "text", "")


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), st.integers(1, 5))
def test_any_text_in_blocks_of_any_size(text, size):
    raw = text.encode()
    blocks = [raw[i : i + size] for i in range(0, len(raw), size)] or [b""]
    before, decode.blocks_of = decode.blocks_of, lambda *_: iter(blocks)
    try:
        found = "".join(texts_of_file(FILE, "utf-8", "refuse", Seen()))
    finally:
        decode.blocks_of = before
    assert found == text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


@given(st.lists(st.text(st.sampled_from("ab\n\u2028\x85"))))
def test_lines_end_at_line_feeds_only(blocks):
    whole = "".join(blocks)
    expected = whole.split("\n")
    assert list(lines_of(blocks)) == (expected if expected[-1] else expected[:-1])


def test_which_is_the_last():
    assert list(with_last(iter(["a", "b"]))) == [("a", False), ("b", True)]
    assert list(with_last(iter([]))) == []


def test_one_value():
    seen = Seen()
    assert decoded(None, "utf-8", "replace", seen, "row 1") == ""
    assert decoded(b"caf\xe9", "latin-1", "refuse", seen, "row 1") == "café"
    assert seen.invalid == 0
    assert decoded(b"caf\xe9", "utf-8", "replace", seen, "row 1") == "caf\ufffd"
    assert seen.invalid == 1
